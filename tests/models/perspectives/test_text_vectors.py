"""Vectors of texts: each text is read once, by any question and run, and never for another number format."""

from pathlib import Path

import numpy as np
import pytest

from mpir.models.perspectives import Loading, ScoreCache, score_pairs
from mpir.models.perspectives.bi_encoder import BiEncoderPerspective
from mpir.models.perspectives.registration import build
from mpir.reranking.reranker import Reranker
from tests.models.query_scores import query_scores

TEXTS = ["yes aspirin does thin the blood .", "the heart", "is a gene in a cell " * 20]


def loaded(checkpoint: Path, precision: str = "fp32") -> BiEncoderPerspective:
    loading = Loading(folder=checkpoint.parent, device="cpu", precision=precision)
    result = build({"kind": "bi-encoder", "name": "dense", "checkpoint": checkpoint.name, "scale": "cosine"}, loading)
    assert isinstance(result, BiEncoderPerspective)
    return result


@pytest.fixture
def texts_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that encoders have read."""
    from mpir.models.encoder import Encoder

    texts, read = list[str](), Encoder.vectors

    def counted(self: Encoder, chosen: list[str], **options: object) -> object:
        texts.extend(chosen)
        return read(self, chosen, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Encoder, "vectors", counted)
    return texts


def test_another_question_reads_no_document_again(tiny_checkpoint: Path, tmp_path: Path, texts_read: list[str]) -> None:
    questions = ["does aspirin thin blood", "risk of heart attack"]
    cache, perspective = ScoreCache(tmp_path), loaded(tiny_checkpoint)
    for question in questions:
        score_pairs([perspective], [(question, text) for text in TEXTS], cache=cache)
    assert sorted(texts_read) == sorted([*questions, *TEXTS])
    texts_read.clear()
    pairs = [("a trial", text) for text in [*TEXTS, "placebo"]]
    repeated = score_pairs([loaded(tiny_checkpoint)], pairs, cache=ScoreCache(tmp_path))  # another run
    assert sorted(texts_read) == ["a trial", "placebo"]
    alone = score_pairs([loaded(tiny_checkpoint)], pairs)
    np.testing.assert_allclose(repeated.values, alone.values, atol=1e-6)
    assert repeated.in_passages.tolist() == alone.in_passages.tolist() == [False, False, True, False]


def test_forgotten_texts_are_read_again(tiny_checkpoint: Path, texts_read: list[str]) -> None:
    perspective, pairs = loaded(tiny_checkpoint), [("does aspirin thin blood", text) for text in TEXTS]
    for count in (4, 4):
        score_pairs([perspective], pairs)
        assert len(texts_read) == count
    Reranker(perspectives=[perspective]).forget_texts()
    score_pairs([perspective], pairs)
    assert len(texts_read) == 8


def test_vectors_of_one_number_format_are_not_read_by_another(
    tiny_checkpoint: Path, tmp_path: Path, texts_read: list[str]
) -> None:
    pairs = [("does aspirin thin blood", text) for text in TEXTS]
    for precision in ("fp32", "bf16"):
        texts_read.clear()
        score_pairs([loaded(tiny_checkpoint, precision)], pairs, cache=ScoreCache(tmp_path))
        assert len(texts_read) == 4


def test_without_a_cache_they_stay_in_memory_until_it_is_closed(tiny_checkpoint: Path, texts_read: list[str]) -> None:
    perspective = loaded(tiny_checkpoint)
    for _ in range(2):
        query_scores(perspective, "does aspirin thin blood", TEXTS)
    assert len(texts_read) == 4
    perspective.close()
    query_scores(perspective, "does aspirin thin blood", TEXTS)
    assert len(texts_read) == 8

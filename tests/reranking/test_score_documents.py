"""A bundle whose model reads documents as a whole: its columns, its cache, and documents that are not read."""

import json
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir import Reranker
from mpir.core.candidates import Candidates
from mpir.core.text.types import QueryDocument
from mpir.errors import InputError
from mpir.models.documents.document_encoder import DocumentEncoder
from mpir.models.encoder import Encoder
from mpir.models.perspectives.base import to_scale
from mpir.types import F32, Bool

QUERY = "does aspirin thin blood"
DOCUMENTS = [
    {
        "id": "1",
        "title": "Aspirin and blood.",
        "abstract": "Yes, aspirin does thin the blood. It is a risk of the heart.",
    },
    {"id": "2", "abstract": "A gene is in the cell."},
    {"id": "3", "title": "", "abstract": ""},
]


@pytest.fixture(scope="module")
def bundle(tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    entries: list[dict[str, Any]] = [
        {"name": "relevance", "output": 0, "scale": "probability"},
        {"name": "sts", "output": 1, "scale": "0-5"},
        {"name": "whole", "output": 2, "scale": "probability", "level": "document"},
    ]
    return write_bundle(tmp_path_factory.mktemp("reader"), tiny_checkpoint, entries)


def write_bundle(folder: Path, checkpoint: Path, entries: Sequence[dict[str, Any]]) -> Path:
    common = {"kind": "document-cross-encoder", "checkpoint": str(checkpoint)}
    manifest = {"format": 1, "name": "reader", "perspectives": [{**common, **entry} for entry in entries]}
    (folder / "bundle.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def score(reranker: Reranker, documents: Sequence[Any] = DOCUMENTS) -> Candidates:
    return reranker.score([QUERY], [documents])[0]


def test_columns_are_those_of_one_pass_over_each_document(bundle: Path, tiny_checkpoint: Path) -> None:
    columns = score(Reranker(bundle, device="cpu", precision="fp32")).columns
    encoder = DocumentEncoder(Encoder(tiny_checkpoint, device="cpu", precision="fp32"))
    sentences = [("Aspirin and blood.", "Yes, aspirin does thin the blood.", "It is a risk of the heart.")]
    sentences += [("A gene is in the cell.",), ("",)]
    values, _ = encoder.document_outputs([QueryDocument(QUERY, texts) for texts in sentences])
    np.testing.assert_allclose(
        columns.sentence("relevance"), to_scale(values[[1, 2, 3, 5], 0], "probability"), atol=1e-6
    )
    np.testing.assert_allclose(columns.sentence("sts"), to_scale(values[[1, 2, 3, 5], 1], "0-5"), atol=1e-5)
    np.testing.assert_allclose(columns.document("whole"), to_scale(values[[0, 4, 6], 2], "probability"), atol=1e-6)
    assert columns.layout.documents == ("bm25", "whole")


def test_each_document_is_read_once_for_all_columns_and_then_from_the_cache(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []
    original = DocumentEncoder.document_outputs

    def count(self: DocumentEncoder, documents: Sequence[QueryDocument], **options: Any) -> tuple[F32, Bool]:
        counts.append(len(documents))
        return original(self, documents, **options)

    monkeypatch.setattr(DocumentEncoder, "document_outputs", count)
    first = Reranker(bundle, device="cpu", cache=tmp_path).rerank(QUERY, [*DOCUMENTS, {**DOCUMENTS[0], "id": "again"}])
    assert counts == [3]
    second = Reranker(bundle, device="cpu", cache=tmp_path).rerank(QUERY, [*DOCUMENTS, {**DOCUMENTS[0], "id": "again"}])
    assert counts == [3]
    assert first.to_json() == second.to_json()
    changed = {**DOCUMENTS[0], "abstract": "Yes, aspirin does thin the blood. No."}
    Reranker(bundle, device="cpu", cache=tmp_path).rerank(QUERY, [changed, DOCUMENTS[1]])
    assert counts == [3, 1]  # a sentence is read with its document, so another document is another reading


def test_the_order_of_documents_does_not_matter(bundle: Path) -> None:
    forwards, backwards = (
        Reranker(bundle, device="cpu", precision="fp32").rerank(QUERY, DOCUMENTS[::step]) for step in (1, -1)
    )
    assert [d.id for d in forwards.documents] == [d.id for d in backwards.documents]
    np.testing.assert_allclose([d.score for d in forwards.documents], [d.score for d in backwards.documents], atol=1e-5)


def test_offsets_point_into_the_original_text(bundle: Path) -> None:
    document = {"id": "1", "title": "β-cells", "abstract": "  Aspirin\u200b does. <i>No</i> gene is in the heart.  "}
    candidates = score(Reranker(bundle, device="cpu"), [document])
    for sentence in candidates.sentences:
        assert document[sentence.section][sentence.begin : sentence.end] == sentence.text


def test_pairs_are_documents_of_one_sentence(bundle: Path) -> None:
    reranker = Reranker(bundle, device="cpu", precision="fp32")
    scores = reranker.score_pairs([(QUERY, "A gene is in the cell.")])
    columns = score(reranker).columns
    assert scores["relevance"][0] == pytest.approx(columns.sentence("relevance")[3], abs=1e-6)
    assert scores["whole"][0] == pytest.approx(columns.document("whole")[1], abs=1e-6)
    assert len(reranker.rerank(QUERY, ["Aspirin.", "The heart."]).documents) == 2


def test_long_documents_are_marked(bundle: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("WARNING")
    long = " ".join(["The gene is in the cell and the heart."] * 12)
    candidates = score(Reranker(bundle, device="cpu"), [long, "Yes."])
    assert candidates.documents_in_passages.tolist() == [True, False]
    assert not candidates.in_passages.any()  # none of its sentences is long
    assert "1 of 2 documents are longer" in caplog.text


def test_an_output_that_the_model_does_not_have_is_refused(tiny_checkpoint: Path, tmp_path: Path) -> None:
    folder = write_bundle(tmp_path, tiny_checkpoint, [{"name": "relevance", "output": 3}])
    with pytest.raises(InputError, match=r"'relevance': output 3 .*\b3 \(numbered"):
        Reranker(folder, device="cpu")


def test_columns_of_pairs_and_of_documents_stand_side_by_side(tiny_bundle: Path, bundle: Path) -> None:
    pairs = Reranker(tiny_bundle, device="cpu", precision="fp32")
    (relevance, *_), (_, _, whole) = pairs.perspectives, Reranker(bundle, device="cpu", precision="fp32").perspectives
    columns = score(Reranker(perspectives=[relevance, whole])).columns
    np.testing.assert_allclose(columns.sentence("relevance"), score(pairs).columns.sentence("relevance"), atol=1e-6)
    assert columns.layout.documents == ("bm25", "whole")


def test_memory_grows_with_the_length_of_a_text(bundle: Path, tmp_path: Path) -> None:
    reranker = Reranker(bundle, device="cpu", precision="fp32", cache=tmp_path)
    reranker.rerank(QUERY, DOCUMENTS)  # what is imported and prepared once

    def peak(sentences: int) -> int:
        text = " ".join(f"Aspirin does thin the blood in trial {number}." for number in range(sentences))
        tracemalloc.start()
        try:
            assert len(reranker.rerank(QUERY, [text])[0].sentences) == sentences
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(2_000) < 2.5 * peak(1_000)


def test_scores_of_a_bundles_own_columns_do_not_come_from_the_caller(caplog: pytest.LogCaptureFixture) -> None:
    reranker = Reranker("fast")
    texts = ["Aspirin inhibits platelets. It thins blood.", "Cats are nice animals."]
    expected = reranker.rerank("Is aspirin a blood thinner?", texts)
    scores = [{"document": -50.0, "topic": -9.0, "words": 0.0}, {"document": 50.0, "topic": 9.0, "words": 9.0}]
    docs = [{"text": text, "scores": given} for text, given in zip(texts, scores, strict=True)]
    ranking = reranker.rerank("Is aspirin a blood thinner?", docs)
    assert [document.probability for document in ranking] == [document.probability for document in expected]
    assert [dict(document.scores) for document in ranking] == [dict(document.scores) for document in expected]
    assert "document, topic, words" in caplog.text
    docs = [{"text": text, "scores": {"dense": 0.5, "bm25": 1.0}} for text in texts]
    assert all(document.scores["dense"] == 0.5 for document in reranker.rerank("Is aspirin a blood thinner?", docs))

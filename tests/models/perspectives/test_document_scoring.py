"""Scoring documents: which rows a perspective fills, what the cache keeps, and how memory grows."""

import tracemalloc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.core.columns import Level
from mpir.core.text.types import QueryDocument
from mpir.errors import InputError
from mpir.models.perspectives import Perspective, ScoreCache, score_pairs
from mpir.models.perspectives.scoring import score_documents
from mpir.types import F32, F64, Bool

DOCUMENTS = [
    QueryDocument("q", ("aspirin", "thins blood"), "aspirin\nthins blood"),
    QueryDocument("q", ("the heart",), "the heart"),
    QueryDocument("r", ("aspirin", "thins blood"), "aspirin\nthins blood"),
]


class Lengths:
    """A model of documents: the number of characters and of sentences; it notes what it reads."""

    def __init__(self) -> None:
        self.read: list[QueryDocument] = []

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"model": "lengths"}

    def document_outputs(self, documents: Sequence[QueryDocument], *, progress: bool = False) -> tuple[F32, Bool]:
        self.read += documents
        rows = [
            [len(text), len(document.sentences)]
            for document in documents
            for text in ("".join(document.sentences), *document.sentences)
        ]
        return np.array(rows, np.float32), np.array([len(document.sentences) > 1 for document in documents], bool)


class Output(Perspective):
    """One output of the model, at a level."""

    def __init__(self, model: Lengths, output: int, level: Level) -> None:
        self.model, self.output, self.level, self.name = model, output, level, f"{level} {output}"

    @property
    def documents_model(self) -> Lengths:
        return self.model

    def read(self, outputs: F32) -> F64:
        return outputs[:, self.output].astype(np.float64)


class Words(Perspective):
    """The number of words of each text: a model of pairs."""

    def __init__(self, level: Level) -> None:
        self.level, self.name = level, f"words of a {level}"

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> F64:
        return np.array([float(len(text.split())) for _, text in pairs])


def test_models_of_documents_and_of_pairs_fill_the_rows_of_their_level() -> None:
    model = Lengths()
    perspectives = [Output(model, 0, "sentence"), Words("document"), Output(model, 1, "document"), Words("sentence")]
    scores = score_documents(perspectives, DOCUMENTS)
    assert scores.starts.tolist() == [0, 3, 5]
    nan = np.nan
    expected = [[nan, 3, 2, nan], [7, nan, nan, 1], [11, nan, nan, 2], [nan, 2, 1, nan], [9, nan, nan, 2]]
    np.testing.assert_array_equal(scores.values, [*expected, *expected[:3]])
    assert scores.in_passages[scores.starts].tolist() == [True, False, True]
    assert len(model.read) == 3


def test_a_document_is_read_once_for_all_outputs_and_then_from_the_cache(tmp_path: Path) -> None:
    model = Lengths()
    perspectives = [Output(model, 0, "sentence"), Output(model, 1, "document")]
    first = score_documents(perspectives, [*DOCUMENTS, DOCUMENTS[0]], cache=ScoreCache(tmp_path))
    assert sorted(model.read) == sorted({QueryDocument(query, sentences) for query, sentences, _ in DOCUMENTS})
    cache = ScoreCache(tmp_path)
    again = score_documents(perspectives[::-1], [*DOCUMENTS, DOCUMENTS[0]], cache=cache)
    assert (len(model.read), cache.hits, cache.misses) == (3, 3, 0)
    np.testing.assert_array_equal(again.values, first.values[:, ::-1])
    assert again.in_passages.tolist() == first.in_passages.tolist()
    joined = QueryDocument("q", ("aspirin thins blood",))
    score_documents(perspectives, [joined, QueryDocument("qa", ("spirin", "thins blood"))], cache=cache)
    assert len(model.read) == 5  # other borders of sentences, or of query and text, are other documents


def test_a_pair_is_a_document_of_one_sentence() -> None:
    model = Lengths()
    scores = score_pairs(
        [Output(model, 0, "sentence"), Output(model, 1, "document"), Words("sentence")], [("q", "a b")]
    )
    assert scores.values.tolist() == [[3.0, 1.0, 2.0]]
    assert score_pairs([Words("document")], []).values.shape == (0, 1)


def test_a_score_that_is_not_finite_names_query_and_document() -> None:
    class Broken(Output):
        def read(self, outputs: F32) -> F64:
            return np.where(outputs[:, 0] == 9, np.nan, 0.0)

    with pytest.raises(InputError, match=r"'sentence 0' .*nan .*document 'the heart' .*'q'"):
        score_documents([Broken(Lengths(), 0, "sentence")], DOCUMENTS)


@pytest.mark.parametrize("with_cache", [False, True])
def test_memory_grows_with_the_length_of_a_document_and_not_with_its_square(with_cache: bool, tmp_path: Path) -> None:
    def peak(sentences: int) -> int:
        document = QueryDocument("q", tuple(f"sentence number {number} of a long text" for number in range(sentences)))
        cache = ScoreCache(tmp_path / str(sentences)) if with_cache else None
        perspectives = [Output(Lengths(), 0, "sentence"), Output(Lengths(), 1, "document")]
        score_documents(perspectives, [document], cache=cache)  # what is imported and prepared once
        tracemalloc.start()
        try:
            score_documents(perspectives, [document._replace(query="r")], cache=cache)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(4_000) < 2.5 * peak(2_000)

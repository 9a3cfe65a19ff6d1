"""Scored questions on disk: the same back, mapped from disk, checked, cut into parts, and joined column by column."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mpir.errors import ArtefactError, InputError, OutputError
from mpir.rank.blend import Columns, blend
from mpir.rank.candidates import Candidates
from mpir.rank.weights import Weights
from mpir.text import Document, Question, Sentence, Snippet
from mpir.tune.dataset import PLACES, Dataset

GOLD = Snippet("2", "abstract", "abstract", 0, 9, "Two here.")


def question(name: str, ids: list[str]) -> tuple[Question, Candidates]:
    documents = tuple(Document(id, "", "Two here. And there.", float(n)) for n, id in enumerate(ids))
    sentences = tuple(
        Sentence(d.id, "abstract", begin, end, d.abstract[begin:end])
        for d in documents
        for begin, end in [(0, 9), (10, 20)]
    )
    count = len(sentences)
    columns = Columns(
        np.array([d.score for d in documents], float),
        np.zeros(len(documents), np.int64),
        np.repeat(np.arange(len(documents)), 2),
        np.arange(2 * count, dtype=float).reshape(count, 2),
        ("a", "b"),
    )
    scored = Candidates(name, documents, sentences, columns, np.zeros(count), np.zeros(count, bool))
    return Question(name, f"What is {name}?", "list", ("2",), (GOLD,)), scored


PAIRS = [question("x", ["1", "2"]), question("empty", []), question("y", ["2", "3", "4"])]


@pytest.fixture
def scored_set() -> Dataset:
    return Dataset.collect(PAIRS, {"perspectives": {"a": "f1", "b": "f2"}})


def assert_same(one: Dataset, other: Dataset) -> None:
    assert one.questions == other.questions
    for name in PLACES:
        assert np.array_equal(getattr(one, name), getattr(other, name))
    for name in ("bm25", "question_of", "document_of", "scores"):
        assert np.array_equal(getattr(one.columns, name), getattr(other.columns, name))


def test_saved_and_loaded_it_is_the_same_and_mapped(scored_set: Dataset, tmp_path: Path) -> None:
    loaded = scored_set.save(tmp_path / "scored")
    assert_same(scored_set, loaded)
    assert isinstance(loaded.columns.scores, np.memmap)
    assert loaded.made_by == scored_set.made_by
    assert loaded.data == Dataset.load(tmp_path / "scored").data != ""
    assert loaded.columns.question_of.tolist() == [0, 0, 2, 2, 2]


def test_a_set_of_format_1_is_read(scored_set: Dataset, tmp_path: Path) -> None:
    folder = tmp_path / "scored"
    scored_set.save(folder)
    (folder / "in_passages.npy").rename(folder / "cut.npy")
    manifest = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(manifest.replace('"format": 2', '"format": 1').replace("in_passages", "cut"))
    assert_same(scored_set, Dataset.load(folder))


def test_a_changed_or_missing_file_is_refused(scored_set: Dataset, tmp_path: Path) -> None:
    folder = tmp_path / "scored"
    with pytest.raises(ArtefactError, match="holds no scored questions"):
        Dataset.load(folder)
    scored_set.save(folder)
    np.save(folder / "bm25.npy", np.zeros(5))
    with pytest.raises(ArtefactError, match=r"bm25\.npy: is missing or has changed"):
        Dataset.load(folder)


def test_a_subset_is_what_scoring_those_questions_gives(scored_set: Dataset) -> None:
    assert_same(scored_set.subset([2, 0]), Dataset.collect([PAIRS[0], PAIRS[2]]))
    assert_same(scored_set.subset([1, 2]), Dataset.collect(PAIRS[1:]))


def test_columns_scored_apart_are_put_side_by_side(scored_set: Dataset) -> None:
    parts = []
    for number, name in enumerate(("a", "b")):
        columns = replace(scored_set.columns, scores=scored_set.columns.scores[:, [number]], perspectives=(name,))
        parts.append(replace(scored_set, columns=columns, made_by={"perspectives": {name: f"f{number + 1}"}}))
    joined = parts[0].beside(parts[1])
    weights = Weights({"a": 0.3, "b": 0.7})
    assert np.array_equal(blend(joined.columns, weights).documents, blend(scored_set.columns, weights).documents)
    assert joined.made_by == scored_set.made_by
    with pytest.raises(InputError, match=r"different question sets \('empty' is in one of them only\)"):
        parts[0].beside(parts[1].subset([0, 2]))
    with pytest.raises(InputError, match="different candidates or sentences"):
        parts[0].beside(replace(parts[1], begin=parts[1].begin + 1))
    with pytest.raises(InputError, match="both sets have the perspective 'a'"):
        parts[0].beside(parts[0])


def test_no_questions_and_repeated_candidates_are_refused() -> None:
    with pytest.raises(InputError, match="there is not one question"):
        Dataset.collect([])
    with pytest.raises(InputError, match="question z: the document '1' is twice"):
        Dataset.collect([question("z", ["1", "2", "1"])])


def test_only_scored_questions_are_replaced(scored_set: Dataset, tmp_path: Path) -> None:
    scored_set.save(tmp_path / "scored")
    assert_same(scored_set.save(tmp_path / "scored"), scored_set)
    (tmp_path / "manifest.json").write_text("of an index, say")
    with pytest.raises(OutputError, match=r"holds no document_of.npy"):
        scored_set.save(tmp_path)
    assert (tmp_path / "manifest.json").read_text() == "of an index, say"

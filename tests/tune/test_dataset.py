"""Scored questions on disk: the same back, mapped from disk, checked, cut into parts, and joined column by column."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.core.blend import blend
from mpir.core.candidates import Candidates
from mpir.core.columns import Column, Columns, Layout
from mpir.core.text import Document, Question, Sentence, Snippet
from mpir.core.weights import Weights
from mpir.errors import ArtefactError, InputError, OutputError
from mpir.files.checksum import read_json_with_checksum, write_json_with_checksum
from mpir.reranking.prepare import unscored_candidates
from mpir.tune.dataset import CANDIDATE_ARRAYS, NOT_FITTED, Dataset
from mpir.tune.objective import Objective
from tests.damage import FLIPS, check_flips

GOLD = Snippet(document="2", begin_section="abstract", end_section="abstract", begin=0, end=9, text="Two here.")


def question(name: str, ids: list[str]) -> tuple[Question, Candidates]:
    documents = tuple(Document(id, "", "Two here. And there.", score=float(n)) for n, id in enumerate(ids))
    sentences = tuple(
        Sentence(document=d.id, section="abstract", begin=begin, end=end, text=d.abstract[begin:end])
        for d in documents
        for begin, end in [(0, 9), (10, 20)]
    )
    count = len(sentences)
    columns = Columns(
        layout=Layout.of(("bm25",), ("a", "b")),
        documents=np.array([d.score for d in documents], float)[:, None],
        sentences=np.arange(2 * count, dtype=float).reshape(count, 2),
        query_of=np.zeros(len(documents), np.int64),
        document_of=np.repeat(np.arange(len(documents)), 2),
    )
    scored = unscored_candidates(name, documents, sentences=sentences, columns=columns, lexical=np.zeros(count))
    return Question(name, f"What is {name}?", type="list", documents=("2",), snippets=(GOLD,)), scored


PAIRS = [question("x", ["1", "2"]), question("empty", []), question("y", ["2", "3", "4"])]


@pytest.fixture
def scored_set() -> Dataset:
    return Dataset.collect(PAIRS, {"perspectives": {"a": "f1", "b": "f2"}})


def assert_same(one: Dataset, other: Dataset) -> None:
    assert one.questions == other.questions
    for name in CANDIDATE_ARRAYS:
        assert np.array_equal(getattr(one, name), getattr(other, name))
    for name in ("documents", "sentences", "query_of", "document_of"):
        assert np.array_equal(getattr(one.columns, name), getattr(other.columns, name))


def test_saved_and_loaded_it_is_the_same_and_mapped(scored_set: Dataset, tmp_path: Path) -> None:
    loaded = scored_set.save(tmp_path / "scored")
    assert_same(scored_set, loaded)
    assert isinstance(loaded.columns.sentences, np.memmap)
    assert loaded.made_by == scored_set.made_by
    assert loaded.data == Dataset.load(tmp_path / "scored").data != ""
    assert loaded.columns.query_of.tolist() == [0, 0, 2, 2, 2]


def test_a_set_of_an_earlier_format_is_refused_with_the_remedy(scored_set: Dataset, tmp_path: Path) -> None:
    scored_set.save(tmp_path / "scored")
    manifest = json.loads((tmp_path / "scored/manifest.json").read_text())
    (tmp_path / "scored/manifest.json").write_text(json.dumps({"files": manifest["files"], "made_by": {}, "format": 2}))
    with pytest.raises(ArtefactError, match=r"format is 2, .*\b3;"):
        Dataset.load(tmp_path / "scored")


def test_ids_come_back_as_they_were(tmp_path: Path) -> None:
    names = ["10.1/x", "with spaces", "7"]
    pair, scored = question("x y", names)
    gold = replace(pair, documents=tuple(names), snippets=(replace(GOLD, document="10.1/x"),))
    loaded = Dataset.collect([(gold, scored)]).save(tmp_path / "scored")
    assert loaded.questions == (gold,)
    assert loaded.documents.tolist() == names


def test_a_changed_or_missing_file_is_refused(scored_set: Dataset, tmp_path: Path) -> None:
    folder = tmp_path / "scored"
    with pytest.raises(ArtefactError, match=r"scored questions \(manifest\.json is missing"):
        Dataset.load(folder)
    scored_set.save(folder)
    np.save(folder / "sentence_scores.npy", np.zeros(5))
    with pytest.raises(ArtefactError, match=r"sentence_scores\.npy: .*changed"):
        Dataset.load(folder)


def test_every_changed_byte_is_refused_or_changes_nothing(scored_set: Dataset, tmp_path: Path) -> None:
    scored_set.save(tmp_path / "scored")

    def read() -> Any:
        loaded = Dataset.load(tmp_path / "scored")
        assert_same(scored_set, loaded)
        return loaded.columns.layout, loaded.made_by, loaded.data, loaded.questions

    assert check_flips([tmp_path / "scored/manifest.json"], read) > 80
    alternatives = [path for path in sorted((tmp_path / "scored").iterdir()) if path.name != "manifest.json"]
    assert check_flips(alternatives, read) == FLIPS


def test_a_subset_is_what_scoring_those_questions_gives(scored_set: Dataset) -> None:
    assert_same(scored_set.subset([2, 0]), Dataset.collect([PAIRS[0], PAIRS[2]]))
    assert_same(scored_set.subset([1, 2]), Dataset.collect(PAIRS[1:]))


def test_columns_scored_apart_are_put_side_by_side(scored_set: Dataset) -> None:
    sections = []
    for number, name in enumerate(("a", "b")):
        both = scored_set.columns
        columns = replace(both, layout=Layout.of(("bm25",), (name,)), sentences=both.sentences[:, [number]])
        sections.append(replace(scored_set, columns=columns, made_by={"perspectives": {name: f"f{number + 1}"}}))
    joined = sections[0].join_columns(sections[1])
    weights = Weights({"a": 0.3, "b": 0.7})
    assert np.array_equal(blend(joined.columns, weights).documents, blend(scored_set.columns, weights).documents)
    assert joined.made_by["perspectives"] == scored_set.made_by["perspectives"]
    with pytest.raises(InputError, match=r"sets \('empty'"):
        sections[0].join_columns(sections[1].subset([0, 2]))
    with pytest.raises(InputError, match="candidates or sentences"):
        sections[0].join_columns(replace(sections[1], begin=sections[1].begin + 1))
    with pytest.raises(InputError, match="perspective 'a'"):
        sections[0].join_columns(sections[0])


def test_a_document_column_of_both_sets_is_one_column_or_refused(scored_set: Dataset) -> None:
    """Of two models' columns under one name, neither may pass for the other."""
    dense = np.arange(5.0)
    columns = scored_set.columns.with_columns({Column("dense", "document"): dense})
    mine = replace(scored_set, columns=columns, made_by={"perspectives": {"a": "f", "dense": "1"}})
    bare = replace(
        scored_set.columns, layout=Layout.of(("bm25",), ("c", "d")), documents=9 - scored_set.columns.documents
    )

    def theirs(values: np.ndarray[Any, Any], model: str) -> Dataset:
        made_by = {"perspectives": {"c": "f", "dense": model}}
        return replace(scored_set, columns=bare.with_columns({Column("dense", "document"): values}), made_by=made_by)

    joined = mine.join_columns(theirs(dense + 1e-7, "1"))  # rounded in batches of another size
    assert joined.columns.layout.documents == ("bm25", "dense")
    assert joined.columns.document("dense").tolist() == dense.tolist()
    assert (
        joined.columns.first_stage.tolist() == scored_set.columns.first_stage.tolist()
    )  # other first stages may find the same
    assert joined.made_by["perspectives"] == {"a": "f", "dense": "1", "c": "f"}
    for second in (theirs(dense, "2"), theirs(dense + 1, "1")):
        with pytest.raises(InputError, match="document column 'dense'"):
            mine.join_columns(second)


def test_what_made_columns_that_are_not_there_is_left_out(scored_set: Dataset) -> None:
    columns = replace(scored_set.columns, layout=Layout.of(("bm25",), ("c", "d")))
    second = replace(scored_set, columns=columns, made_by={"perspectives": {"c": "f3", "d": "f4", "a": "f5"}})
    joined = scored_set.join_columns(second)
    assert joined.made_by["perspectives"] == {"a": "f1", "b": "f2", "c": "f3", "d": "f4"}


def test_what_either_set_read_in_passages_is_so_in_both(scored_set: Dataset) -> None:
    columns = replace(scored_set.columns, layout=Layout.of(("bm25",), ("c", "d")))
    first, second = (np.arange(10) == row for row in (2, 7))
    of_documents = [np.arange(5) == row for row in (0, 4)]
    mine = replace(scored_set, in_passages=first, documents_in_passages=of_documents[0])
    alternative = replace(scored_set, columns=columns, in_passages=second, documents_in_passages=of_documents[1])
    joined = mine.join_columns(alternative)
    assert np.flatnonzero(joined.in_passages).tolist() == [2, 7]
    assert np.flatnonzero(joined.documents_in_passages).tolist() == [0, 4]


def test_sets_below_one_another_are_measured_question_by_question(make_pairs: Callable[..., Any]) -> None:
    first, second = (Dataset.collect(make_pairs(seed), {"perspectives": {"a": "1", "b": "2"}}) for seed in (1, 2))
    both, weights = Dataset.concat([first, second]), Weights({"a": 0.3, "b": 0.7})
    separated = [Objective(item, "document-sentence-map").per_question(weights) for item in (first, second)]
    assert np.array_equal(
        Objective(both, "document-sentence-map").per_question(weights), np.concatenate(separated), equal_nan=True
    )
    assert Dataset.concat([first]) is first
    assert both.data not in {first.data, second.data}
    with pytest.raises(InputError, match="by different models"):
        Dataset.concat([first, replace(second, made_by={"perspectives": {"a": "1", "b": "3"}})])


def test_no_questions_and_repeated_candidates_are_refused() -> None:
    with pytest.raises(InputError, match="no questions"):
        Dataset.collect([])
    with pytest.raises(InputError, match=r"question z: .*'1' is twice"):
        Dataset.collect([question("z", ["1", "2", "1"])])


def test_only_scored_questions_are_replaced(scored_set: Dataset, tmp_path: Path) -> None:
    scored_set.save(tmp_path / "scored")
    assert_same(scored_set.save(tmp_path / "scored"), scored_set)
    (tmp_path / "manifest.json").write_text("of an index, say")
    with pytest.raises(OutputError, match=r"holds no document_of.npy"):
        scored_set.save(tmp_path)
    assert (tmp_path / "manifest.json").read_text() == "of an index, say"
    for name in ("notes.txt", "more.npy"):
        (tmp_path / "scored" / name).write_text("a week of work")
    with pytest.raises(OutputError, match=r"also contains more\.npy, notes\.txt"):
        scored_set.save(tmp_path / "scored")
    assert (tmp_path / "scored/notes.txt").read_text() == "a week of work"


def flagged(scored: Dataset, flag: str, *rows: int) -> Dataset:
    """The set, with documents that some model did not read, or not to its end."""
    flags: dict[str, Any] = {flag: np.isin(np.arange(len(scored.documents)), rows)}
    return replace(scored, **flags)


@pytest.mark.parametrize("flag", NOT_FITTED)
def test_documents_that_a_model_did_not_read_to_its_end_are_known_afterwards(tmp_path: Path, flag: str) -> None:
    pairs = [(item, replace(scored, **{flag: scored.columns.first_stage == 1})) for item, scored in PAIRS]
    saved = Dataset.collect(pairs).save(tmp_path / "scored")
    assert getattr(saved, flag).tolist() == [False, True, False, True, False]
    assert getattr(saved.subset([2]), flag).tolist() == [False, True, False]
    assert getattr(Dataset.concat([saved, saved]), flag).tolist() == 2 * getattr(saved, flag).tolist()
    columns = replace(saved.columns, layout=Layout.of(("bm25",), ("c", "d")))
    joined = saved.join_columns(replace(flagged(saved, flag, 4), columns=columns))
    assert np.flatnonzero(getattr(joined, flag)).tolist() == [1, 3, 4]


@pytest.mark.parametrize("flag", NOT_FITTED)
def test_nothing_is_fitted_on_them(scored_set: Dataset, caplog: pytest.LogCaptureFixture, flag: str) -> None:
    assert scored_set.fully_read() is scored_set
    fitted = flagged(scored_set, flag, 1, 2).fully_read()
    assert fitted.documents.tolist() == ["1", "3", "4"]
    assert fitted.columns.query_of.tolist() == [0, 2, 2]
    assert fitted.columns.document_of.tolist() == [0, 0, 1, 1, 2, 2]
    kept = np.isin(scored_set.columns.document_of, [0, 3, 4])
    assert np.array_equal(fitted.columns.sentences, scored_set.columns.sentences[kept])
    assert np.array_equal(fitted.begin, scored_set.begin[kept])
    left_out, in_part = (2, 0) if flag == "documents_left_out" else (0, 2)
    assert f"{left_out} of 5 documents" in caplog.text and f"{in_part} to a model's first exit" in caplog.text
    weights, without = Weights({"a": 0.3, "b": 0.7}), [question("x", ["1"]), PAIRS[1]]
    objective = Objective(flagged(scored_set, flag, 1), "document-map")
    assert objective.per_question(weights)[:2].tolist() == (
        Objective(Dataset.collect([*without, PAIRS[2]]), "document-map").per_question(weights)[:2].tolist()
    )


@pytest.mark.parametrize("flag", NOT_FITTED)
def test_a_set_without_the_flag_is_scored_again_if_it_may_need_one(tmp_path: Path, flag: str) -> None:
    for cascade in (None, "auto"):
        folder = tmp_path / f"{cascade}"
        Dataset.collect(PAIRS, {"cascade": cascade}).save(folder)
        manifest = read_json_with_checksum(folder / "manifest.json", "")
        (folder / f"{flag}.npy").unlink()
        del manifest["files"][f"{flag}.npy"]
        write_json_with_checksum(folder / "manifest.json", manifest)
    assert not getattr(Dataset.load(tmp_path / "None"), flag).any()
    with pytest.raises(ArtefactError, match=r"/auto: .*left out"):
        Dataset.load(tmp_path / "auto")

"""Expanded queries and queries without question words: what is found, with which scores, on whatever path."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mpir.core.text.query import without_question_words
from mpir.core.text.types import Document
from mpir.errors import InputError
from mpir.search import LuceneIndex, build_index
from mpir.search.memory import Rm3

DOCUMENTS = [
    Document("a", "", "Aspirin thins blood by platelets."),
    Document("b", "", "Aspirin acts on platelets, so platelets count."),
    Document("c", "", "Clopidogrel inhibits platelets."),
    Document("d", "", "A gene is in a cell. Which list?"),
    *(Document(f"x{number}", "", f"Subject {number}.") for number in range(40)),
]
"""Anserini takes no word that a tenth of all documents have."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("feedback") / "index"
    build_index(DOCUMENTS, folder)
    return folder


@pytest.fixture(scope="module")
def expanding(folder: Path) -> Iterator[LuceneIndex]:
    with LuceneIndex(folder, rm3=Rm3(documents=2, terms=5, weight=0.5)) as index:
        yield index


def test_words_of_the_best_documents_find_others(folder: Path, expanding: LuceneIndex) -> None:
    with LuceneIndex(folder) as index:
        assert [document.id for document in index.search("aspirin")] == ["a", "b"]
        assert index.identity.keys().isdisjoint({"rm3", "question_words"})
    assert {document.id for document in expanding.search("aspirin")} == {"a", "b", "c"}
    assert expanding.identity["rm3"] == {"documents": 2, "terms": 5, "weight": 0.5}


def test_every_path_gives_the_scores_of_the_expanded_query(expanding: LuceneIndex) -> None:
    documents = expanding.search("aspirin")
    assert expanding.search_batch(["aspirin", "zzz", "gene"])[0] == documents
    scores = [document.score or 0.0 for document in documents]
    result = expanding.scores_of("aspirin", [document.id for document in documents] + ["d", "nowhere"])
    np.testing.assert_allclose(result, [*scores, 0.0, 0.0], atol=1e-4)


@pytest.mark.parametrize("query", ["", "zzz", "the of", "¿?"])
def test_a_query_that_finds_nothing_is_not_expanded(expanding: LuceneIndex, query: str) -> None:
    assert expanding.search(query) == []
    assert expanding.scores_of(query, ["a"]).tolist() == [0.0]


def test_question_words_are_left_out(folder: Path) -> None:
    with LuceneIndex(folder, question_words=False) as index:
        assert [document.id for document in index.search("Which list of aspirin?")] == ["a", "b"]
        assert [document.id for document in index.search("Which list?")] == ["d"]  # nothing else is there
        assert index.scores_of("Which list of aspirin?", ["d"]).tolist() == [0.0]
        assert index.identity["question_words"] is False


def test_a_query_keeps_its_other_words() -> None:
    assert without_question_words("Which genes (e.g. p53) does HER2 list?") == "genes (e.g. p53) HER2 ?"
    assert without_question_words("What is it?") == "What is it?"


@pytest.mark.parametrize(
    ("options", "message"),
    [({"documents": 0}, "rm3: documents is 0"), ({"terms": 1.5}, "rm3: terms is 1.5"), ({"weight": 2}, "rm3: weight")],
)
def test_what_is_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Rm3(**options)  # type: ignore[arg-type]


def test_names_in_capitals_are_no_question_words() -> None:
    assert without_question_words("Which drugs does the WHO list for IT?") == "drugs the WHO for IT?"
    assert without_question_words("WHO HAS GOUT?") == "GOUT?"

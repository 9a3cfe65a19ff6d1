"""The embedded sample is what its README says, and its gold can be trusted."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import mpir
from mpir.files.read import read_json, read_json_lines

FOLDER = Path(mpir.__file__).parent / "sample"
PUBMED = "http://www.ncbi.nlm.nih.gov/pubmed/"
QUESTIONS: list[dict[str, Any]] = read_json(FOLDER / "questions.json")["questions"]
DOCUMENTS: list[dict[str, Any]] = [record for _, record in read_json_lines(FOLDER / "documents.jsonl")]
BY_URL = {PUBMED + document["id"]: document for document in DOCUMENTS}

each_question = pytest.mark.parametrize("question", QUESTIONS, ids=[question["id"] for question in QUESTIONS])


def _sentences(document: dict[str, Any]) -> set[str]:
    """The sentences of a document, without a leading section label, so that a copy under another label is found."""
    pieces = [document["title"], *re.split(r"(?<=[.?!])\s+(?=[A-Z\[])", document["abstract"])]
    return {re.sub(r"^[A-Z ]+: ", "", piece).strip().casefold() for piece in pieces if piece}


def test_there_are_questions_of_every_type_and_enough_documents() -> None:
    types = Counter(question["type"] for question in QUESTIONS)
    assert types == {"yesno": 6, "factoid": 6, "list": 6, "summary": 6}
    assert len(DOCUMENTS) == 168


def test_ids_are_unique_and_cannot_be_taken_for_pmids() -> None:
    ids = [document["id"] for document in DOCUMENTS]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"SAMPLE\d{4}", id_) for id_ in ids)
    assert len({question["id"] for question in QUESTIONS}) == len(QUESTIONS)


def test_exactly_one_title_and_one_abstract_are_empty() -> None:
    assert [sum(not document[section] for document in DOCUMENTS) for section in ("title", "abstract")] == [1, 1]
    assert all(document["title"] or document["abstract"] for document in DOCUMENTS)


def test_no_two_documents_share_a_sentence() -> None:
    counts = Counter(sentence for document in DOCUMENTS for sentence in _sentences(document))
    assert [sentence for sentence, count in counts.items() if count > 1] == []


def test_no_document_answers_two_questions() -> None:
    counts = Counter(url for question in QUESTIONS for url in question["documents"])
    assert max(counts.values()) == 1


@each_question
def test_gold_documents_exist_and_each_has_a_snippet(question: dict[str, Any]) -> None:
    documents = question["documents"]
    assert 2 <= len(set(documents)) == len(documents) <= 3
    assert set(documents) <= BY_URL.keys()
    assert {snippet["document"] for snippet in question["snippets"]} == set(documents)
    assert 2 <= len(question["snippets"]) <= 5


@each_question
def test_offsets_reproduce_whole_sentences(question: dict[str, Any]) -> None:
    for snippet in question["snippets"]:
        section = BY_URL[snippet["document"]][snippet["beginSection"]]
        begin, end = snippet["offsetInBeginSection"], snippet["offsetInEndSection"]
        assert snippet["beginSection"] == snippet["endSection"]
        assert section[begin:end] == snippet["text"]
        assert begin == 0 or section[begin - 1] == " "
        assert end == len(section) or section[end - 1 : end + 1] == ". "


@each_question
def test_answers_have_the_form_of_their_type(question: dict[str, Any]) -> None:
    exact, ideal = question.get("exact_answer"), question["ideal_answer"]
    assert len(ideal) == 1
    assert ideal[0].endswith(".")
    match question["type"]:
        case "yesno":
            assert exact in {"yes", "no"}
        case "factoid":
            assert exact
            assert all(isinstance(name, str) and name for name in exact)
        case "list":
            assert len(exact) >= 3
            assert all(isinstance(name, str) and name for names in exact for name in names)
        case "summary":
            assert exact is None

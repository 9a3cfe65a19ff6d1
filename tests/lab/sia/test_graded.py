"""What BioASQ's own annotation says about the scale."""

import json
from pathlib import Path

import pytest

from mpir.core.text import Document, Question, Snippet
from mpir.errors import InputError
from mpir.lab.sia.answers import can_be_counted, coverage, distinct, may_hold_more, read_answers
from mpir.lab.sia.graded import (
    Evidence,
    best_sentences,
    coverage_rows,
    fragments,
    gold_sentences,
    grade,
    graded_rows,
    opening,
)

GOLD = "Mutations of the CFTR gene on chromosome seven are what causes cystic fibrosis in nearly all patients."
GOLD_DOCUMENT = Document("1", "A title", f"Cystic fibrosis shortens the lives of many children. {GOLD} We saw 40 mice.")
WRONG = Document("2", "", "Cystic kidneys have many causes in adults and children. We saw no mice in this whole study.")


def question(kind: str, *texts: str) -> Question:
    snippets = tuple(
        Snippet(document="1", begin_section="abstract", end_section="abstract", begin=None, end=None, text=text)
        for text in texts
    )
    return Question("q", "What causes cystic fibrosis?", type=kind, documents=("1",), snippets=snippets)


def graded(kind: str, answer: tuple[tuple[str, ...], ...] = ()) -> set[tuple[int, str, str]]:
    rows = graded_rows(
        Evidence(question=question(kind, GOLD), gold=[GOLD_DOCUMENT], wrong=[WRONG], answer=answer), seed=1
    )
    return {(row.sia_score, row.method, row.sentence) for row in rows}


BESIDE = (1, "beside", "Cystic fibrosis shortens the lives of many children.")
ZERO = (0, "wrong", "Cystic kidneys have many causes in adults and children.")


def test_a_summary_question_by_hand() -> None:
    assert graded("summary") == {(4, "golden", GOLD), BESIDE, ZERO}  # its subject comes too late for an opening
    message_text = "Cystic fibrosis is a disease of the lungs, the gut and the skin that mutations of one gene cause."
    query_text = Question(
        "q",
        "What is cystic fibrosis?",
        type="summary",
        documents=("1",),
        snippets=question("summary", message_text).snippets,
    )
    rows = graded_rows(Evidence(question=query_text, gold=[], wrong=[]), seed=1)
    section = "Cystic fibrosis is a disease of the lungs, the gut and the skin"
    assert {(row.sia_score, row.sentence) for row in rows} == {(4, message_text), (2, section)}


@pytest.mark.parametrize(
    "sentence",
    [
        "In the lungs and gut of children mutations of one gene cause cystic fibrosis with its many signs.",
        "The fibrosis of a scarred lung is a disease with many causes in adults and in children.",
        "Cystic fibrosis is a disease.",
        "Cystic fibrosis is " + " ".join(f"sign{n}" for n in range(30)),
    ],
)
def test_some_sentences_have_no_opening(sentence: str) -> None:
    assert opening(sentence, "What is cystic fibrosis?") == ""


def test_half_a_sentence_without_the_factoid_answer_holds_very_little() -> None:
    half = "what causes cystic fibrosis in nearly all patients."
    assert graded("factoid", (("CFTR",),)) == {(4, "golden", GOLD), (1, "cut", half), BESIDE, ZERO}


def test_gold_sentences_that_lack_the_answer_and_list_questions_give_none() -> None:
    assert not any(method in ("golden", "cut") for _, method, _ in graded("factoid", (("BRCA1",),)))
    assert graded("list", (("CFTR",),)) == set()


def test_halves_have_half_of_the_terms() -> None:
    assert fragments(GOLD, "The gene?") == ["Mutations of the CFTR gene on chromosome seven"]
    assert fragments("It causes this in few words.", "What causes it?") == []


def test_only_snippets_of_one_sentence_count() -> None:
    assert gold_sentences(question("summary", GOLD, GOLD, f"{GOLD} It is so.", "Short.")) == [GOLD]


def test_the_most_relevant_gold_sentences_come_first() -> None:
    second = "This one shares no term at all with that."
    query_text = question("summary", second, GOLD)
    assert best_sentences(Evidence(question=query_text, gold=[], wrong=[])) == [GOLD, second]
    assert best_sentences(
        Evidence(question=query_text, gold=[], wrong=[], answer=(), relevance={second: 0.9, GOLD: 0.1})
    ) == [second, GOLD]


def test_coverage_is_the_share_of_the_items() -> None:
    answer = (("ibrutinib", "Imbruvica"), ("acalabrutinib",), ("zanubrutinib",), ("pirtobrutinib",))
    assert coverage("Imbruvica was compared with acalabrutinib.", answer) == 0.5
    assert coverage("Nothing was named.", answer) == 0
    assert [grade(share) for share in (0.05, 0.25, 0.5, 0.75, 0.95, 1.0)] == [1, 1, 2, 3, 3, 4]


@pytest.mark.parametrize(
    ("sentence", "item"),
    [
        ("Oct4 and cMyc.", "c-Myc"),
        ("It is the Chediak-Higashi syndrome.", "Chédiak-Higashi syndrome"),
        ("Courses of epirubicine.", "epirubicin"),
        ("The genotyping of HLA-B*5701.", "HLA B*5701 genotyping"),
        ("The isoform p38α.", "p38alpha"),
    ],
)
def test_items_are_found_in_other_spellings(sentence: str, item: str) -> None:
    assert coverage(sentence, ((item,),)) == 1


def test_names_with_digits_are_not_nearly_the_same() -> None:
    assert coverage("The mark H3K9me3 was found.", (("H3K9me2",),)) == 0


def test_coverage_rows_by_hand() -> None:
    item, both = "Ibrutinib was the first of the drugs for it.", "Ibrutinib and acalabrutinib are the drugs for it."
    maybe = "Ibrutinib, and a second drug with another name, treat it."
    query_text = Question(
        "q",
        "Which drugs treat it?",
        type="list",
        documents=("1",),
        snippets=question("list", item, both, maybe).snippets,
    )
    answer = (("ibrutinib",), ("acalabrutinib",))
    wrong = Document("2", "", "Many other drugs were tried in other diseases.")
    rows = coverage_rows(Evidence(question=query_text, gold=[], wrong=[wrong], answer=answer), seed=1)
    expected = {(4, both), (2, item), (0, wrong.abstract)}
    assert {(row.sia_score, row.sentence) for row in rows} == expected
    assert may_hold_more(maybe, answer) and not may_hold_more(item, answer)
    assert coverage_rows(Evidence(question=query_text, gold=[], wrong=[wrong]), seed=1) == []


def test_a_word_of_a_missing_item_may_be_that_item() -> None:
    answer = (("bile duct",), ("duodenum",), ("pancreas",))
    assert may_hold_more("The pancreatic and the bile duct meet there.", answer)
    assert not may_hold_more("The bile duct ends there.", answer)


def test_names_of_one_thing_are_one_item() -> None:
    flat = (("p38α",), ("p38alpha",), ("calsequestrin",), ("CSQ",), ("zinc finger nuclease",), ("ZFN",), ("Myc",))
    (calsequestrin,) = (item for item in distinct(flat, ["Calsequestrin (CSQ) binds."]) if "CSQ" in item)
    assert calsequestrin == ("calsequestrin", "CSQ")
    expected = [("p38α", "p38alpha"), ("calsequestrin",), ("CSQ",), ("zinc finger nuclease", "ZFN"), ("Myc", "c-Myc")]
    assert {frozenset(item) for item in distinct((*flat, ("c-Myc",)))} == {frozenset(item) for item in expected}


@pytest.mark.parametrize(
    ("asked", "items", "expected"),
    [
        ("List drugs for it.", ["ibrutinib", "zanubrutinib"], True),
        ("List two drugs for it.", ["ibrutinib", "zanubrutinib"], True),
        ("List 2 drugs for it.", ["ibrutinib", "zanubrutinib", "acalabrutinib"], False),
        ("Which chromosomes?", ["15", "22"], False),
    ],
)
def test_some_answers_cannot_be_counted(asked: str, items: list[str], expected: bool) -> None:
    assert can_be_counted(asked, tuple((item,) for item in items)) is expected


def test_answers_of_official_and_of_flattened_files(tmp_path: Path) -> None:
    records = [
        {"id": "1", "type": "list", "exact_answer": [["ibrutinib", "Imbruvica"], ["acalabrutinib"]]},
        {"id": "2", "type": "list", "exact_answer": "ibrutinib, acalabrutinib"},
        {"id": "3", "type": "factoid", "exact_answer": [["Janus kinase 3 (JAK3)"]]},
        {"id": "4", "type": "factoid", "exact_answer": ["three", "3 genera"]},
        {"id": "5", "type": "yesno", "exact_answer": "yes"},
        {"id": "6", "type": "factoid", "exact_answer": None},
    ]
    path = tmp_path / "questions.json"
    path.write_text(json.dumps({"questions": [{"body": "Which?", **record} for record in records]}))
    assert read_answers(path) == {
        "1": (("ibrutinib", "Imbruvica"), ("acalabrutinib",)),
        "2": (("ibrutinib",), ("acalabrutinib",)),
        "3": (("Janus kinase 3 (JAK3)", "Janus kinase 3", "JAK3"),),
        "4": (("three", "3 genera"),),
    }


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"id": "", "type": "list"}, r"q\.json: question 1 .*no id"),
        (5, r"q\.json: question 1 is 5"),
        ({"type": "factoid", "exact_answer": 5}, r"q\.json: question 'q': exact_answer is 5"),
        ({"type": "list", "exact_answer": [5, ["a"]]}, r"question 'q': exact_answer is \[5, \['a'\]\]"),
        ({"type": "list", "exact_answer": [["a", None]]}, r"question 'q': exact_answer is \[\['a', None\]\]"),
        ({"type": "list", "exact_answer": [[["a"]]]}, r"question 'q': exact_answer is \[\[\['a'\]\]\]"),
    ],
)
def test_answers_of_another_form_are_named(tmp_path: Path, record: object, message: str) -> None:
    complete = {"id": "q", "body": "Which?", **record} if isinstance(record, dict) else record
    (tmp_path / "q.json").write_text(json.dumps({"questions": [complete]}))
    with pytest.raises(InputError, match=message):
        read_answers(tmp_path / "q.json")


def test_every_official_file_has_answers(shared_data: Path) -> None:
    paths = [path for path in sorted((shared_data / "bioasq").glob("*.json")) if path.name != "splits.json"]
    assert len(paths) > 30
    assert all(read_answers(path) for path in paths)

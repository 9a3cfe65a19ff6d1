"""What BioASQ's own annotation says about the scale."""

from pathlib import Path

import pytest

from mpir.sia.answers import coverage, may_be_whole, read_answers
from mpir.sia.graded import Evidence, best_sentences, coverage_rows, fragments, golden_sentences, grade, graded_rows
from mpir.text import Document, Question, Snippet

GOLDEN = "Mutations of the CFTR gene on chromosome seven are what causes cystic fibrosis in nearly all patients."
GOLD_DOCUMENT = Document(
    "1", "A title", f"Cystic fibrosis shortens the lives of many children. {GOLDEN} We saw 40 mice."
)
WRONG = Document("2", "", "Cystic kidneys have many causes in adults and children. We saw no mice in this whole study.")


def question(kind: str, *texts: str) -> Question:
    snippets = tuple(Snippet("1", "abstract", "abstract", None, None, text) for text in texts)
    return Question("q", "What causes cystic fibrosis?", kind, ("1",), snippets)


def graded(kind: str, answer: tuple[tuple[str, ...], ...] = ()) -> set[tuple[int, str, str]]:
    rows = graded_rows(Evidence(question(kind, GOLDEN), [GOLD_DOCUMENT], [WRONG], answer), seed=1)
    return {(row.sia_score, row.method, row.sentence) for row in rows}


BESIDE = (1, "beside", "Cystic fibrosis shortens the lives of many children.")
ZERO = (0, "wrong", "Cystic kidneys have many causes in adults and children.")


def test_a_summary_question_by_hand() -> None:
    last = "seven are what causes cystic fibrosis in nearly all patients."
    assert graded("summary") == {(4, "golden", GOLDEN), (2, "fragment", last), BESIDE, ZERO}
    assert fragments(GOLDEN, "The gene?", 0.5) == ["Mutations of the CFTR gene on chromosome seven"]
    assert fragments("It causes this in few words.", "What causes it?", 0.5) == []


def test_half_a_sentence_without_the_factoid_answer_holds_very_little() -> None:
    half = "what causes cystic fibrosis in nearly all patients."
    assert graded("factoid", (("CFTR",),)) == {(4, "golden", GOLDEN), (1, "cut", half), BESIDE, ZERO}


def test_golden_sentences_that_lack_the_answer_and_list_questions_give_none() -> None:
    assert not any(method in ("golden", "cut") for _, method, _ in graded("factoid", (("BRCA1",),)))
    assert graded("list", (("CFTR",),)) == set()


def test_only_snippets_of_one_sentence_count() -> None:
    assert golden_sentences(question("summary", GOLDEN, GOLDEN, f"{GOLDEN} It is so.", "Short.")) == [GOLDEN]


def test_the_most_relevant_golden_sentences_come_first() -> None:
    other = "This one shares no term at all with that."
    asked = question("summary", other, GOLDEN)
    assert best_sentences(Evidence(asked, [], [])) == [GOLDEN, other]
    assert best_sentences(Evidence(asked, [], [], (), {other: 0.9, GOLDEN: 0.1})) == [other, GOLDEN]


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
    ],
)
def test_items_are_found_in_other_spellings(sentence: str, item: str) -> None:
    assert coverage(sentence, ((item,),)) == 1


def test_coverage_rows_by_hand() -> None:
    one, both = "Ibrutinib was the first of the drugs for it.", "Ibrutinib and acalabrutinib are the drugs for it."
    maybe = "Ibrutinib, and a second drug with another name, treat it."
    asked = Question("q", "Which drugs treat it?", "list", ("1",), question("list", one, both, maybe).snippets)
    answer = (("ibrutinib",), ("acalabrutinib",))
    wrong = Document("2", "", "Many other drugs were tried in other diseases.")
    rows = coverage_rows(Evidence(asked, [], [wrong], answer), seed=1)
    expected = {(4, both), (2, one), (0, wrong.abstract)}
    assert {(row.sia_score, row.sentence) for row in rows} == expected
    assert may_be_whole(maybe, answer) and not may_be_whole(one, answer)
    assert coverage_rows(Evidence(asked, [], [wrong]), seed=1) == []


def test_answers_of_official_and_of_flattened_files(tmp_path: Path) -> None:
    import json

    records = [
        {"id": "1", "type": "list", "exact_answer": [["ibrutinib", "Imbruvica"], ["acalabrutinib"]]},
        {"id": "2", "type": "list", "exact_answer": "ibrutinib, acalabrutinib"},
        {"id": "3", "type": "factoid", "exact_answer": [["Janus kinase 3 (JAK3)"]]},
        {"id": "4", "type": "factoid", "exact_answer": ["three", "3 genera"]},
        {"id": "5", "type": "yesno", "exact_answer": "yes"},
        {"id": "6", "type": "factoid", "exact_answer": None},
    ]
    path = tmp_path / "questions.json"
    path.write_text(json.dumps({"questions": records}))
    assert read_answers(path) == {
        "1": (("ibrutinib", "Imbruvica"), ("acalabrutinib",)),
        "2": (("ibrutinib",), ("acalabrutinib",)),
        "3": (("Janus kinase 3 (JAK3)", "Janus kinase 3", "JAK3"),),
        "4": (("three", "3 genera"),),
    }

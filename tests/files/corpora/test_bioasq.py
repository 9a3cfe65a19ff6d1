import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mpir.bioasq.submission_rules import validate_submission
from mpir.core.text.types import Question, Snippet
from mpir.errors import InputError, OutputError
from mpir.files.corpora.bioasq import read_questions, write_submission

URL = "http://www.ncbi.nlm.nih.gov/pubmed/"
SECTIONS = {"11": {"title": "Iron and ageing.", "abstract": "Iron falls. Zinc rises."}}
SNIPPET = Snippet(document="11", begin_section="abstract", end_section="abstract", begin=12, end=23, text="Zinc rises.")
ANSWERED = Question("q1", "Does zinc rise?", type="yesno", documents=("11", "12"), snippets=(SNIPPET,))


def write(folder: Path, questions: Any) -> Path:
    path = folder / "questions.json"
    path.write_text(json.dumps({"questions": questions}))
    return path


def snippet(**changes: Any) -> dict[str, Any]:
    record = {
        "document": URL + "11",
        "beginSection": "abstract",
        "endSection": "abstract",
        "offsetInBeginSection": 12,
        "offsetInEndSection": 23,
        "text": "Zinc rises.",
    }
    return {key: value for key, value in {**record, **changes}.items() if value != "absent"}


def test_reads_a_test_file_without_gold(tmp_path: Path) -> None:
    path = write(tmp_path, [{"id": "q1", "body": "Why?", "type": "summary"}, {"id": "q2", "body": "Who?"}])
    assert read_questions(path) == [Question("q1", "Why?", type="summary"), Question("q2", "Who?")]


def test_a_submission_needs_no_body_and_no_texts(tmp_path: Path) -> None:
    path = write(tmp_path, [{"id": "q1", "documents": [URL + "11"], "snippets": [snippet(text="absent")]}])
    (result,) = read_questions(path, submission=True)
    assert result == replace(ANSWERED, body="", type="", documents=("11",), snippets=(replace(SNIPPET, text=""),))
    with pytest.raises(InputError, match=r"question 1 .*no body"):
        read_questions(path)


def test_reads_gold_with_either_scheme_and_old_names(tmp_path: Path) -> None:
    urls = [URL + "11", "https://pubmed.ncbi.nlm.nih.gov/12/"]
    old = snippet(
        beginSection="sections.0", endSection="sections.0", offsetInBeginSection="absent", offsetInEndSection="absent"
    )
    record = {"id": "q1", "body": "Does zinc rise?", "type": "yesno", "documents": urls, "snippets": [snippet(), old]}
    unplaced = replace(SNIPPET, begin=None, end=None)
    assert read_questions(write(tmp_path, [record])) == [replace(ANSWERED, snippets=(SNIPPET, unplaced))]


@pytest.mark.parametrize("offsets", [(-1, -1), (30, 3), (-(2**31) + 1, 2**31 - 1)])
def test_odd_offsets_are_kept_as_the_file_has_them(tmp_path: Path, offsets: tuple[int, int]) -> None:
    odd = snippet(offsetInBeginSection=offsets[0], offsetInEndSection=offsets[1])
    (question,) = read_questions(write(tmp_path, [{"id": "q1", "body": "Why?", "snippets": [odd]}]))
    assert [(item.begin, item.end) for item in question.snippets or ()] == [offsets]


def test_keeps_empty_gold_apart_from_no_gold(tmp_path: Path) -> None:
    (question,) = read_questions(write(tmp_path, [{"id": "q1", "body": "Why?", "documents": [], "snippets": []}]))
    assert (question.documents, question.snippets) == ((), ())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"not json", r"JSON .*line 1, column 1\b"),
        (b"[]", "JSON object, .*list"),
        (b"{}", r'questions\.json: .*no "questions"'),
        (b'{"questions": {}}', r'questions\.json: .*no "questions"'),
        (b'{"questions": ["\xff"]}', "byte 0xff"),
    ],
)
def test_refuses_other_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "questions.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_questions(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": None}, "question 2 .*no id"),
        ({"id": [7]}, r"question 2: id is \[7\]"),
        ({"body": "  "}, r"question 2 \(q2\) .*no body"),
        ({"body": ["Why?"]}, r"question 2 \(q2\): body is \['Why\?'\]"),
        ({"id": "q1"}, "question 2 .*'q1'"),
        ({"type": 3}, r"\(q2\): type is 3"),
        ({"documents": URL}, r"\(q2\): documents is 'http"),
        ({"documents": [URL + "1", True]}, r"\(q2\): a document is True"),
        ({"documents": [URL]}, r"\(q2\): a document is 'http.*pubmed/'"),
        ({"documents": [URL[:-1]]}, r"\(q2\): a document is 'http.*pubmed'"),
        ({"documents": ["12 345"]}, r"\(q2\): a document is '12 345'"),
        ({"snippets": {}}, r"\(q2\): snippets is \{"),
        ({"snippets": [snippet(), "x"]}, r"\(q2\), snippet 2 is 'x'"),
        ({"snippets": [snippet(document="absent")]}, r"\(q2\), snippet 1: .*document is missing"),
        ({"snippets": [snippet(text="absent")]}, r"\(q2\), snippet 1 .*no text"),
        ({"snippets": [snippet(offsetInEndSection="12")]}, "offsetInEndSection is '12'"),
        ({"snippets": [snippet(offsetInBeginSection=True)]}, "offsetInBeginSection is True"),
        (
            {"snippets": [snippet(), snippet(offsetInEndSection=10**20)]},
            r"\(q2\), snippet 2: offsetInEndSection is 10{20};",
        ),
        ({"snippets": [snippet(offsetInBeginSection=-(2**31))]}, "offsetInBeginSection is -2147483648"),
    ],
)
def test_refuses_a_bad_question(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = write(tmp_path, [{"id": "q1", "body": "Why?"}, {"id": "q2", "body": "Who?", **changes}])
    with pytest.raises(InputError, match=message) as caught:
        read_questions(path)
    assert str(caught.value).startswith(str(path))


def test_refuses_a_question_that_is_no_object(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="question 1 is 'q1'"):
        read_questions(write(tmp_path, ["q1"]))


def test_a_submission_reads_back(tmp_path: Path) -> None:
    questions = [ANSWERED, Question("q2", "Ünknown?", type="summary", documents=(), snippets=())]
    path = tmp_path / "submission.json"
    validate_submission(questions, SECTIONS.__getitem__)
    write_submission(path, questions)
    assert read_questions(path) == questions
    assert json.loads(path.read_text())["questions"][0] == {
        "id": "q1",
        "body": "Does zinc rise?",
        "type": "yesno",
        "documents": [URL + "11", URL + "12"],
        "snippets": [snippet()],
    }


def test_a_submission_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        write_submission(tmp_path, [ANSWERED])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"begin_section": "body"},
            "first .*'body' .*last .*'abstract'",
        ),
        ({"begin_section": "title"}, "first .*'title' .*last .*'abstract'"),
        ({"begin": None}, "begin .*missing .*end is 23"),
        ({"begin": -1}, r"begin is -1 .*\b23\b"),
        ({"end": 12}, "begin is 12 .*end .*12;"),
        ({"end": 22}, r"reads 'Zinc rises' .*\b12 to 22\b"),
        ({"text": "Zinc falls."}, r"text is 'Zinc falls\.'"),
        ({"end": 24}, r"\b12 to 24, .*must reproduce"),
        ({"document": "a/b"}, "'a/b' .*URL"),
    ],
)
def test_refuses_a_bad_snippet(changes: dict[str, Any], message: str) -> None:
    question = replace(ANSWERED, snippets=(SNIPPET, replace(SNIPPET, **changes)))
    with pytest.raises(InputError, match=message) as caught:
        validate_submission([question], SECTIONS.__getitem__)
    assert "question q1" in str(caught.value)


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ([ANSWERED, ANSWERED], "duplicate .*'q1'"),
        ([replace(ANSWERED, documents=tuple(map(str, range(11))))], r"11 documents; .*\b10\b"),
        ([replace(ANSWERED, documents=("1", "2", "1"))], "duplicate document 1"),
        ([replace(ANSWERED, documents=("",))], "'' .*URL"),
        ([replace(ANSWERED, snippets=(SNIPPET,) * 11)], r"11 snippets; .*\b10\b"),
    ],
)
def test_refuses_a_bad_submission(questions: list[Question], message: str) -> None:
    with pytest.raises(InputError, match=message):
        validate_submission(questions, SECTIONS.__getitem__)


def test_lengths_are_checked_where_the_text_is_unknown() -> None:
    elsewhere = replace(SNIPPET, document="99")
    validate_submission([replace(ANSWERED, snippets=(elsewhere,))], SECTIONS.__getitem__)
    validate_submission([replace(ANSWERED, snippets=(elsewhere,))])
    with pytest.raises(InputError, match=r"snippet 1: 99's .*\b12 to 24, .*must"):
        validate_submission([replace(ANSWERED, snippets=(replace(elsewhere, end=24),))])


def test_reads_every_official_file() -> None:
    data = Path(os.environ.get("MPIR_DATA", Path(__file__).parents[4] / "shared/data")) / "bioasq"
    if not data.is_dir():
        pytest.skip(f"{data} is absent")
    questions = [q for path in sorted(data.glob("*_golden.json")) for q in read_questions(path)]
    assert sum(len(q.snippets or ()) for q in questions) == 32_982
    assert len(read_questions(data / "training.json")) == 5_049
    sections = {s.begin_section for q in questions for s in q.snippets or ()}
    assert sections == {"title", "abstract"}


def test_synergy_s_feedback_names_documents_by_pmid_and_says_which_are_relevant(tmp_path: Path) -> None:
    snippet = {"document": "34312178", "beginSection": "abstract", "endSection": "abstract", "text": "PCR tests"}
    offsets = {"offsetInBeginSection": 0, "offsetInEndSection": 9}
    feedback = {
        "id": 12,
        "body": "Which test is used?",
        "answerReady": True,
        "documents": [{"id": "34312178", "golden": True}, {"id": "26783383", "golden": False}, 7, "8"],
        "snippets": [{**snippet, **offsets, "golden": gold} for gold in (True, False)],
    }
    path = tmp_path / "feedback_accompanying_round_1.json"
    path.write_text(json.dumps({"questions": [feedback]}))
    (question,) = read_questions(path)
    assert (question.id, question.documents) == ("12", ("34312178", "7", "8"))
    assert [snippet.document for snippet in question.snippets or ()] == ["34312178"]
    path.write_text(json.dumps({"questions": [{"id": "1", "body": "Which?"}]}))
    assert read_questions(path)[0].documents is None

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
    with pytest.raises(InputError, match=r"has no body; add"):
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
        (b"not json", "not valid JSON at line 1, column 1"),
        (b"[]", "expected a JSON object, found a list"),
        (b"{}", 'no "questions" list'),
        (b'{"questions": {}}', 'no "questions" list'),
        (b'{"questions": ["\xff"]}', "byte 0xff is not UTF-8"),
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
        ({"id": None}, "question 2 has no id"),
        ({"id": [7]}, r"question 2: id is \[7\]; expected a string"),
        ({"body": "  "}, r"question 2 \(q2\) has no body"),
        ({"body": ["Why?"]}, r"question 2 \(q2\): body is .*; expected a string"),
        ({"id": "q1"}, "question 2 repeats the id 'q1'"),
        ({"type": 3}, r"\(q2\): type is 3; expected a string"),
        ({"documents": URL}, r"\(q2\): documents is .*; expected a list"),
        ({"documents": [URL + "1", True]}, r"\(q2\): a document is True; expected its PMID, or its URL"),
        ({"documents": ["12 345"]}, r"\(q2\): a document is .12 345.; expected its PMID"),
        ({"snippets": {}}, r"\(q2\): snippets is .*; expected a list"),
        ({"snippets": [snippet(), "x"]}, r"\(q2\), snippet 2 is 'x'; expected an object"),
        ({"snippets": [snippet(document="absent")]}, r"\(q2\), snippet 1: a document is missing; expected its PMID"),
        ({"snippets": [snippet(text="absent")]}, r"\(q2\), snippet 1 has no text"),
        ({"snippets": [snippet(offsetInEndSection="12")]}, "offsetInEndSection is '12'; expected a whole number"),
        ({"snippets": [snippet(offsetInBeginSection=True)]}, "offsetInBeginSection is True; expected a whole number"),
        (
            {"snippets": [snippet(), snippet(offsetInEndSection=10**20)]},
            r"\(q2\), snippet 2: offsetInEndSection is 10{20}; expected a whole number below 2147483648",
        ),
        ({"snippets": [snippet(offsetInBeginSection=-(2**31))]}, "offsetInBeginSection is -2147483648; expected"),
    ],
)
def test_refuses_a_bad_question(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = write(tmp_path, [{"id": "q1", "body": "Why?"}, {"id": "q2", "body": "Who?", **changes}])
    with pytest.raises(InputError, match=message) as caught:
        read_questions(path)
    assert str(caught.value).startswith(str(path))


def test_refuses_a_question_that_is_no_object(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="question 1 is 'q1'; expected an object"):
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
            "its first section is 'body' and its last is 'abstract'; expected 'title' or",
        ),
        ({"begin_section": "title"}, "its first section is 'title' and its last is 'abstract'"),
        ({"begin": None}, "its begin is missing and its end is 23; expected"),
        ({"begin": -1}, "its begin is -1 and its end is 23"),
        ({"end": 12}, "its begin is 12 and its end is 12"),
        ({"end": 22}, "abstract reads 'Zinc rises' at 12 to 22"),
        ({"text": "Zinc falls."}, "the snippet's text is 'Zinc falls.'"),
        ({"end": 24}, "must reproduce the text"),
        ({"document": "a/b"}, "'a/b' cannot end a URL"),
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
        ([ANSWERED, ANSWERED], "duplicate question id 'q1'"),
        ([replace(ANSWERED, documents=tuple(map(str, range(11))))], "11 documents; Phase A takes at most 10"),
        ([replace(ANSWERED, documents=("1", "2", "1"))], "duplicate document 1"),
        ([replace(ANSWERED, documents=("",))], "'' cannot end a URL"),
        ([replace(ANSWERED, snippets=(SNIPPET,) * 11)], "11 snippets; Phase A takes at most 10"),
    ],
)
def test_refuses_a_bad_submission(questions: list[Question], message: str) -> None:
    with pytest.raises(InputError, match=message):
        validate_submission(questions, SECTIONS.__getitem__)


def test_lengths_are_checked_where_the_text_is_unknown() -> None:
    elsewhere = replace(SNIPPET, document="99")
    validate_submission([replace(ANSWERED, snippets=(elsewhere,))], SECTIONS.__getitem__)
    validate_submission([replace(ANSWERED, snippets=(elsewhere,))])
    with pytest.raises(InputError, match="must reproduce the text"):
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

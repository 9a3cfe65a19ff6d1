"""`mpir calibrate`: judgements in several forms, a bundle whose order is the old one, and mistakes in one sentence."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mpir import Document, Reranker
from mpir.app.cli import main
from mpir.app.cli.judgements import read_judged_lists
from mpir.app.explain.library import open_library

DRUGS = ("aspirin", "warfarin", "insulin", "morphine", "lithium", "digoxin", "heparin", "quinine")
TEXTS = [
    ("{0} was compared with placebo in adults, and {0} lowered the risk of death.", 1),
    ("A trial shows that {0} lowers the risk of death.", 1),
    ("{0} was given to rats, and their weight was noted.", 0),
    ("The price of {0} rose in several countries.", 0),
    ("Nurses were asked how they store {0}.", 0),
    ("Bones of the hand were studied in children.", 0),
]
ROWS = [
    {"question": f"Does {drug} lower the risk of death?", "document": text.format(drug), "grade": str(grade)}
    for drug in DRUGS
    for text, grade in TEXTS
]


TWICE = "".join(
    json.dumps({"query": "q", "documents": [{"id": "d", "abstract": "A text.", "grade": grade}]}) + "\n"
    for grade in (0, 2)
)


def table(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.slow
def test_a_table_makes_a_bundle_in_a_process_of_its_own(tmp_path: Path) -> None:
    path, output = table(tmp_path / "judged.csv", ROWS), tmp_path / "mine"
    finished = subprocess.run(
        [sys.executable, "-m", "mpir", "calibrate", str(path), "--output", str(output)],
        capture_output=True, text=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.startswith("48 judged documents of 8 questions, 16 of them relevant.\nAUC ")
    before, after = (line.split() for line in finished.stdout.splitlines() if line.startswith(("before", "after")))
    assert float(after[1]) < float(before[1]) and float(after[2]) < float(before[2])
    query, documents = ROWS[0]["question"], [Document(str(i), "", row["document"]) for i, row in enumerate(ROWS[:12])]
    rankings = [Reranker(bundle).rerank(query, documents) for bundle in ("default", str(output))]
    assert [document.id for document in rankings[0]] == [document.id for document in rankings[1]]
    assert [document.probability for document in rankings[0]] != [document.probability for document in rankings[1]]
    answers = [[s.answer_probability for s in ranking.sentences] for ranking in rankings]
    assert answers[0] == answers[1]
    threshold = (rankings[1][0].probability + rankings[1][1].probability) / 2
    assert len(rankings[1].above(threshold)) == 1  # a threshold is of the fitted number


def test_labels_by_chance_write_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row | {"grade": str(i % 2)} for i, row in enumerate(ROWS[1::2] + ROWS[::2])][:24]
    output = tmp_path / "mine"
    assert main(["calibrate", str(table(tmp_path / "judged.csv", rows)), "--output", str(output)]) == 1
    assert "do not separate the relevant documents from the others" in capsys.readouterr().out
    assert not output.exists()


def test_each_form_gives_the_same_judgements(tmp_path: Path) -> None:
    from_table = read_judged_lists(str(table(tmp_path / "a.csv", ROWS)))
    lists: dict[str, list[dict[str, object]]] = {}
    for i, row in enumerate(ROWS):
        entry = {"id": str(i), "abstract": row["document"], "grade": int(row["grade"])}
        lists.setdefault(row["question"], []).append(entry)
    for documents in lists.values():
        documents.append({"id": "ungraded", "abstract": "A text that nobody judged."})
    graded = tmp_path / "a.jsonl"
    lines = [json.dumps({"query": query, "documents": documents}) for query, documents in lists.items()]
    graded.write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "a.qrels").write_text(
        "".join(f"{list(lists).index(row['question'])} 0 {i} {row['grade']}\n" for i, row in enumerate(ROWS))
    )
    (tmp_path / "queries.tsv").write_text("".join(f"{number}\t{query}\n" for number, query in enumerate(lists)))
    docs = [json.dumps({"id": str(i), "abstract": row["document"]}) for i, row in enumerate(ROWS)]
    (tmp_path / "docs.jsonl").write_text("\n".join(docs), encoding="utf-8")
    qrels = read_judged_lists(str(tmp_path / "a.qrels"), str(tmp_path / "queries.tsv"), [str(tmp_path / "docs.jsonl")])
    for judged in (from_table, read_judged_lists(str(graded)), qrels):
        assert [item.query for item in judged] == list(lists)
        assert [label for item in judged for label in item.relevant] == [row["grade"] == "1" for row in ROWS]
        assert [document.text for item in judged for document in item.documents] == [row["document"] for row in ROWS]


def test_a_review_gives_the_decisions_on_its_questions(tmp_path: Path) -> None:
    path = tmp_path / "aspirin.jsonl"
    path.write_text("".join(json.dumps({"id": f"id{i}", "abstract": f"Text {i}."}) + "\n" for i in range(3)))
    library = open_library([str(path)], "ada")
    grades = [{"query": "Why?", "id": f"id{i}", "grade": g, "note": "", "time": i} for i, g in enumerate((2, 0, None))]
    library.add(grades)
    (judged,) = read_judged_lists(str(library.review.path))
    assert (judged.query, judged.relevant) == ("Why?", (True, False))
    assert [document.text for document in judged.documents] == ["Text 0.", "Text 1."]


def test_a_document_that_is_judged_twice_alike_counts_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [*ROWS, ROWS[0], ROWS[7], {**ROWS[3], "grade": ""}]
    judged = read_judged_lists(str(table(tmp_path / "a.csv", rows)))
    assert judged == read_judged_lists(str(table(tmp_path / "b.csv", ROWS)))
    assert "a.csv: 2 rows repeat others" in caplog.text


def test_the_bundle_is_named_as_options_take_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table(tmp_path / "judged.csv", ROWS)
    monkeypatch.chdir(tmp_path)
    assert main(["calibrate", "judged.csv", "--bundle", "fast", "--output", "mine"]) == 0
    advised = capsys.readouterr().out.rsplit("--bundle ", 1)[1].rstrip().rstrip(".")
    assert len(Reranker(advised).rerank("Why?", ["Aspirin."])) == 1


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "question,document\nq,d\n", "a.csv:1: no column grade (expected question, document and grade)"),
        ("a.csv", "question,document,grade\nq,d,yes\n", "a.csv:2: invalid grade 'yes' (expected a whole number from 0"),
        ("a.csv", "question,document,grade\n,d,1\n", "a.csv:2: a grade without a question or a document"),
        ("a.csv", "question,document,grade\nq,d,\n", "a.csv: has no judgements"),
        ("a.csv", "question,document,grade\nq,d,1\n", "too few judgements (got 1 relevant and 0 others"),
        ("a.csv", 'question,document,grade\nq,"d,1\nq,e,0\n', "a.csv:2: invalid table row (unexpected end of data)"),
        (
            "a.csv",
            "question,document,grade\nq,d,1\nq,e,0\nq,d,0\n",
            "a.csv:4: another grade for a document of the question 'q' (got 0, and 1",
        ),
        ("a.jsonl", TWICE, "a.jsonl:2: repeated query; keep one"),
        ("a.txt", "q 0 d 1\n", "a.txt: unknown judgements"),
    ],
)
def test_mistakes_are_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, message: str
) -> None:
    path, output = tmp_path / name, tmp_path / "mine"
    path.write_text(text)
    assert main(["calibrate", str(path), "--output", str(output)]) == 2
    assert message in capsys.readouterr().err
    assert not output.exists()


def test_a_bundle_without_probabilities_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tiny_bundle: Path
) -> None:
    words = ["calibrate", str(table(tmp_path / "judged.csv", ROWS)), "--output", str(tmp_path / "mine")]
    assert main([*words, "--bundle", str(tiny_bundle)]) == 2
    assert "has no probabilities to fit" in capsys.readouterr().err

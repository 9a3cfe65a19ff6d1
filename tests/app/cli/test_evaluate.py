"""``mpir evaluate``: one JSON object or a table, and errors that reach the caller as InputError."""

import json

import pytest

from mpir.app.cli import main, make_parser
from mpir.errors import InputError

URL = "http://www.ncbi.nlm.nih.gov/pubmed/"


def evaluate(*arguments):
    parsed = make_parser().parse_args(["evaluate", *map(str, arguments)])
    return parsed.run(parsed)


def questions_file(path, documents):
    questions = [
        {
            "id": name,
            "body": "Which?",
            "type": "list",
            "documents": [URL + number for number in numbers],
            "snippets": [
                {
                    "document": URL + number,
                    "text": "Ten marks.",
                    "beginSection": "abstract",
                    "endSection": "abstract",
                    "offsetInBeginSection": 0,
                    "offsetInEndSection": 10,
                }
                for number in numbers
            ],
        }
        for name, numbers in documents.items()
    ]
    path.write_text(json.dumps({"questions": questions}), "utf-8")
    return path


@pytest.fixture
def files(tmp_path):
    gold = questions_file(tmp_path / "gold.json", {"1": ["11", "12"], "2": ["21"]})
    return gold, questions_file(tmp_path / "submission.json", {"1": ["11", "99"]})


def test_a_submission_without_bodies_is_measured_as_one_with_them(files, capsys):
    gold, submission = files
    result = []
    for drop in ((), ("body", "type")):
        questions = json.loads(submission.read_text("utf-8"))["questions"]
        bare = [{key: value for key, value in question.items() if key not in drop} for question in questions]
        submission.write_text(json.dumps({"questions": bare}), "utf-8")
        assert evaluate("bioasq", "--gold", gold, "--submission", submission, "--format", "json") == 0
        result.append(capsys.readouterr().out)
    assert result[0] == result[1]


def test_bioasq_prints_one_object(files, capsys):
    gold, submission = files
    assert evaluate("bioasq", "--gold", gold, "--submission", submission, "--version", 8, "--format", "json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert list(figures) == ["documents", "snippets"]
    for measures in figures.values():
        assert list(measures) == ["mean_precision", "mean_recall", "mean_f1", "map", "gmap"]
        assert measures == pytest.approx(dict.fromkeys(measures, 0.5), abs=1e-4)


def test_bioasq_measures_as_its_rounds_from_9_on_do_unless_told_otherwise(files, capsys):
    gold, submission = files
    questions = json.loads(gold.read_text())["questions"]
    record = {"id": "bare", "body": "Which?"}
    gold.write_text(json.dumps({"questions": [*questions, record]}))
    submission.write_text(json.dumps({"questions": [*json.loads(submission.read_text())["questions"], record]}))
    result = []
    for version in ([], ["--version", 9], ["--version", 8]):
        assert evaluate("bioasq", "--gold", gold, "--submission", submission, *version, "--format", "json") == 0
        result.append(json.loads(capsys.readouterr().out)["documents"]["map"])
    assert result == pytest.approx([0.5, 0.5, 0.25], abs=1e-4)


def test_bioasq_prints_a_table_and_omitted_questions_can_count_zero(files, capsys):
    gold, submission = files
    evaluate("bioasq", "--gold", gold, "--submission", submission, "--omitted", "zero")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["measure", "documents", "snippets"]
    assert ["map", "0.2500", "0.2500"] in [line.split() for line in lines]


def test_bioasq_names_the_version_it_does_not_know(files):
    gold, submission = files
    with pytest.raises(InputError, match="the version of the BioASQ measures is 7; choose from"):
        evaluate("bioasq", "--gold", gold, "--submission", submission, "--version", 7)


def test_run_prints_the_measures_asked_for(tmp_path, capsys):
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n")
    (tmp_path / "run").write_text("1 Q0 x 1 2.0 t\n1 Q0 a 2 1.0 t\n")
    files = ["--qrels", tmp_path / "qrels", "--run", tmp_path / "run"]
    evaluate("run", *files, "--measures", "RR", "P@2", "--format", "json")
    assert json.loads(capsys.readouterr().out) == {"RR": 0.25, "P@2": 0.25}
    evaluate("run", *files)
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names[2:] == ["nDCG@10", "RR", "R@100", "P@10", "AP"]


def test_run_ranks_equal_scores_alike_for_every_measure(tmp_path, capsys):
    (tmp_path / "qrels").write_text("1 0 a 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 2.0 t\n1 Q0 b 2 2.0 t\n")
    evaluate(
        "run", "--qrels", tmp_path / "qrels", "--run", tmp_path / "run", "--measures", "RR", "RR@10", "--format", "json"
    )
    assert json.loads(capsys.readouterr().out) == {"RR": 0.5, "RR@10": 0.5}


@pytest.mark.parametrize("measure", ["Accuracy", "P(rel=0)@5", f"P@{10**20}", "P@True"])
def test_run_names_a_measure_that_cannot_be_computed(tmp_path, capsys, measure):
    (tmp_path / "qrels").write_text("1 0 a 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 2.0 t\n")
    files = ["--qrels", str(tmp_path / "qrels"), "--run", str(tmp_path / "run")]
    assert main(["evaluate", "run", *files, "--measures", measure]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert measure in line


def test_run_names_the_bad_line(tmp_path):
    (tmp_path / "qrels").write_text("1 0 a yes\n")
    with pytest.raises(InputError, match=r"qrels:1: the grade is 'yes'"):
        evaluate("run", "--qrels", tmp_path / "qrels", "--run", tmp_path / "qrels")


@pytest.mark.parametrize("command", ["bioasq", "run"])
def test_help_has_an_example(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        evaluate(command, "--help")
    assert stopped.value.code == 0
    assert f"mpir evaluate {command} --" in capsys.readouterr().out

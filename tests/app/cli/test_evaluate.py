"""``mpir evaluate``: one JSON object or a table, and errors that reach the caller as InputError."""

import json

import pytest

from mpir.app.cli import main, make_parser
from mpir.errors import InputError

MEANS = ("mean_precision", "mean_recall", "mean_f1", "map", "gmap")
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
    assert lines[0].split() == ["measure", "documents", *["95", "%"], "snippets", *["95", "%"]]
    assert ["map", "0.2500", "0.0000–0.5000", "0.2500", "0.0000–0.5000"] in [line.split() for line in lines]
    assert "Only 2 queries" in lines[-1]


def test_several_submissions_are_compared_over_the_questions_that_all_answer(files, tmp_path, capsys):
    gold, first = files
    second = questions_file(tmp_path / "second.json", {"1": ["11", "12"], "2": ["99"]})
    several = ["bioasq", "--gold", gold, "--submission", first, second]
    assert evaluate(*several, "--by", "type", "relevant") == 0
    text = capsys.readouterr().out
    assert "documents, 1 query\n" in text and "Left out: 1 query that" in text
    assert "| submission | second   | -0.5000" in text and "| list   | 1" in text
    assert evaluate(*several, "--format", "json", "--per-query", tmp_path / "values.csv") == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["systems"]["second"]["documents"]["map"] == pytest.approx(1.0)  # of question 1, as in the table
    assert figures["comparison"]["documents"]["pairs"][0]["losses"] == 1
    assert len((tmp_path / "values.csv").read_text().splitlines()) == 1 + 2 * 2 * 4


def test_every_figure_of_a_comparison_is_of_the_same_questions(files, tmp_path, capsys):
    gold, first = files
    second = questions_file(tmp_path / "second.json", {"1": ["11", "12"], "2": ["99"]})
    evaluate("bioasq", "--gold", gold, "--submission", first, second)
    (row,) = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("| second")][:1]
    assert (row[3], row[-2]) == ("1.0000", "1.0000")  # MAP and GMAP; with question 2 they would be 0.5 and 0.0032
    evaluate("bioasq", "--gold", gold, "--submission", first, second, "--format", "json")
    figures = json.loads(capsys.readouterr().out)
    assert figures["systems"]["second"]["documents"] == pytest.approx(dict.fromkeys(MEANS, 1.0), abs=1e-4)
    evaluate("bioasq", "--gold", gold, "--submission", first, second, "--format", "json", "--omitted", "zero")
    assert json.loads(capsys.readouterr().out)["systems"]["second"]["documents"]["map"] == 0.5


def test_a_breakdown_is_in_the_json_of_one_system_too(files, tmp_path, capsys):
    gold, submission = files
    evaluate("bioasq", "--gold", gold, "--submission", submission, "--by", "type", "--format", "json")
    printed = json.loads(capsys.readouterr().out)
    assert printed["comparison"]["documents"]["groups"]["type"]["list"]["queries"] == 1
    assert printed["systems"]["submission"]["documents"]["map"] == 0.5
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 2.0 t\n")
    files = ("--qrels", tmp_path / "qrels", "--run", tmp_path / "run", "--measures", "RR")
    evaluate("run", *files, "--by", "relevant", "--format", "json")
    printed = json.loads(capsys.readouterr().out)
    assert printed["systems"] == {"run": {"RR": 0.5}}
    assert printed["comparison"]["groups"]["relevant"]["1"]["queries"] == 2


def test_questions_that_do_not_count_are_said_once(files, tmp_path, capsys, caplog):
    gold, submission = files
    other = questions_file(tmp_path / "other.json", {"1": ["11"], "2": ["21"], "3": ["31"]})
    evaluate("bioasq", "--gold", gold, "--submission", submission)
    assert caplog.messages == ["submission: 1 of 2 gold questions are not in it and are skipped (--omitted zero: 0)"]
    caplog.clear()
    evaluate("bioasq", "--gold", gold, "--submission", submission, "--omitted", "zero")
    assert caplog.messages == []
    questions = json.loads(gold.read_text("utf-8"))
    for question in questions["questions"]:
        question["snippets"][0]["offsetInBeginSection"] = None
    gold.write_text(json.dumps(questions))
    evaluate("bioasq", "--gold", gold, "--submission", other)
    assert caplog.messages == [
        "2 of 3 gold snippets have no usable offsets and are left out",
        "other: 1 of 3 questions are not among the gold ones and are ignored",
    ]


def test_submissions_without_a_question_in_common_cannot_be_compared(files, tmp_path):
    gold, first = files
    second = questions_file(tmp_path / "second.json", {"2": ["21"]})
    with pytest.raises(InputError, match="question in common"):
        evaluate("bioasq", "--gold", gold, "--submission", first, second)


def test_several_runs_are_compared_and_drawn(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n")
    (tmp_path / "x.trec").write_text("1 Q0 a 1 2.0 t\n2 Q0 b 1 1.0 t\n")
    (tmp_path / "y.trec").write_text("1 Q0 c 1 2.0 t\n2 Q0 b 1 1.0 t\n")
    runs = ["--run", tmp_path / "x.trec", tmp_path / "y.trec", "--measures", "RR", "NumRel"]
    evaluate("run", "--qrels", tmp_path / "qrels", *runs, "--plots", tmp_path / "pictures")
    text = capsys.readouterr().out
    assert "| x        | 1.0000 (1.000–1.000) | 2.0000" in text
    assert "| 1/1/0" in text
    assert {path.name for path in (tmp_path / "pictures").iterdir()} == {
        *("forest.png", "forest.svg", "differences.png", "differences.svg")
    }
    with pytest.raises(InputError, match=r"x\.trec is given"):
        evaluate("run", "--qrels", tmp_path / "qrels", "--run", tmp_path / "x.trec", tmp_path / "x.trec")
    with pytest.raises(InputError, match="--plots draws"):
        evaluate("run", "--qrels", tmp_path / "qrels", "--run", tmp_path / "x.trec", "--plots", tmp_path / "pictures")


def test_bioasq_names_the_version_it_does_not_know(files):
    gold, submission = files
    with pytest.raises(InputError, match=r"measures is 7\b"):
        evaluate("bioasq", "--gold", gold, "--submission", submission, "--version", 7)


def test_run_prints_the_measures_asked_for(tmp_path, capsys):
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n")
    (tmp_path / "run").write_text("1 Q0 x 1 2.0 t\n1 Q0 a 2 1.0 t\n")
    files = ["--qrels", tmp_path / "qrels", "--run", tmp_path / "run"]
    evaluate("run", *files, "--measures", "RR", "P@2", "--format", "json")
    assert json.loads(capsys.readouterr().out) == {"RR": 0.25, "P@2": 0.25}
    evaluate("run", *files)
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line]
    assert names[2:7] == ["nDCG@10", "RR", "R@100", "P@10", "AP"]


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


def test_queries_of_a_run_that_do_not_count_are_said(tmp_path, caplog):
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n3 0 c 1\n")
    (tmp_path / "cut.trec").write_text("1 Q0 a 1 2.0 t\n9 Q0 a 1 2.0 t\n")
    (tmp_path / "whole.trec").write_text("".join(f"{query} Q0 a 1 2.0 t\n" for query in (1, 2, 3)))
    evaluate("run", "--qrels", tmp_path / "qrels", "--run", tmp_path / "cut.trec", tmp_path / "whole.trec")
    assert caplog.messages == [
        "cut: 2 of 3 judged queries are not in it and count as zero",
        "cut: 1 of 2 queries are not judged and are ignored",
    ]


def test_lengths_are_of_the_queries_that_are_judged(tmp_path, capsys):
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 2.0 t\n2 Q0 b 1 2.0 t\n")
    (tmp_path / "queries.tsv").write_text("1\twhy is salt salty\n")
    (tmp_path / "others.tsv").write_text("7\twhy is salt salty\n")
    files = ["run", "--qrels", tmp_path / "qrels", "--run", tmp_path / "run", "--by", "length", "--queries"]
    evaluate(*files, tmp_path / "queries.tsv")
    text = capsys.readouterr().out
    assert "| 4–7      | 1 " in text and "| unknown  | 1 " in text
    with pytest.raises(InputError, match="the 2 queries"):
        evaluate(*files, tmp_path / "others.tsv")


def test_run_names_the_bad_line(tmp_path):
    (tmp_path / "qrels").write_text("1 0 a yes\n")
    with pytest.raises(InputError, match=r"qrels:1: .*grade is 'yes'"):
        evaluate("run", "--qrels", tmp_path / "qrels", "--run", tmp_path / "qrels")


@pytest.mark.parametrize("command", ["bioasq", "run"])
def test_help_has_an_example(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        evaluate(command, "--help")
    assert stopped.value.code == 0
    assert f"mpir evaluate {command} --" in capsys.readouterr().out

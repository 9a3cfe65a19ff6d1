"""Scripts refuse an output that would replace something else's file before their work, like the commands."""

import ast
import re
from pathlib import Path

import pytest

from tests.experiments.conftest import ROOT, RunScript
from tests.experiments.test_script_paths import SCRIPTS
from tests.faults.report import count

OUTPUT = re.compile(r"--(output|json|plots?|keep)$")
CHECKS = {"check_outputs", "check_figures"}
FOLDER_OF_RUNS = {
    "data_scripts/chexpert_lexicon.py": "runs a command",
    "data_scripts/generate_sia.py": "runs a command",
    "data_scripts/train_word_vectors.py": "runs a command",
    "data_scripts/triples.py": "runs a command",
    "experiments/calibration/lists.py": "skips a scored set that exists",
    "experiments/dense/cost.py": "times readers and writes nothing of its own",
    "experiments/dense/grid_data.py": "options of `grids.py`, whose folder says what it was made with",
    "experiments/dense/msmarco.py": "a folder that says what it was made with",
    "experiments/dense/picture.py": "a folder that says what it was made with",
    "experiments/dense/smaller_encoder.py": "replaces checkpoints only, and checks them first",
    "experiments/radiology/__main__.py": "trains by a command",
    "experiments/tripclick/rerank.py": "a folder that says what it was made with",
}
"""Scripts that check their outputs in another way."""


def names(script: Path) -> tuple[bool, bool]:
    """Whether a script has an option of an output, and whether it calls a check."""
    calls = [node for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    options = [
        argument.value
        for call in calls
        if getattr(call.func, "attr", "") == "add_argument"
        for argument in call.args
        if isinstance(argument, ast.Constant)
    ]
    has_check = any(getattr(call.func, "id", "") in CHECKS for call in calls)
    return any(OUTPUT.match(str(option)) for option in options), has_check


def test_every_script_with_an_output_checks_it_by_the_one_function() -> None:
    scripts = {path.relative_to(ROOT).as_posix(): names(path) for path in SCRIPTS}
    assert sum(has_output for has_output, _ in scripts.values()) > 50
    unchecked = {name for name, (has_output, has_check) in scripts.items() if has_output and not has_check}
    assert unchecked - FOLDER_OF_RUNS.keys() == set()


WALK = [
    ("data_scripts/document_rows.py", "--data data --output mine", "documents.dev.jsonl.gz"),
    ("data_scripts/teacher_scores.py", "rows.jsonl --encoders none --output mine/rows.jsonl", "rows.jsonl"),
    ("data_scripts/teacher_scores.py", "rows.jsonl --encoders none --output new --keep mine/kept.npz", "kept.npz"),
    ("data_scripts/document_frequencies.py", "rows.jsonl --output mine/words.gz", "words.gz"),
    ("data_scripts/training_data.py", "--data data --output mine", "sts.dev.jsonl"),
    ("data_scripts/tiny_writer.py", "rows.jsonl --output mine", "notes.txt"),
    ("experiments/first_stage/bm25_grid.py", "--data data --output mine/grid.md", "grid.md"),
    ("experiments/calibration/report.py", "--lists scored --plot mine/plot.png", "plot.png"),
    ("experiments/stopping/asreview.py", "--data data --output mine/numbers.json", "numbers.json"),
    ("experiments/common/publish.py", "rows.jsonl --command mpir --output mine/published.json", "published.json"),
    ("experiments/tuning/compare.py", "--dev scored --free scored --output mine", "tables.md"),
    ("experiments/tuning/compare.py", "--dev scored --free scored --output mine", "results.json"),
    ("experiments/tuning/compare.py", "--dev scored --free scored --output mine", "parts.jsonl"),
    ("experiments/training/ablation.py", "--mixture m.json --checkpoint c --output mine", "ablation.json"),
    ("experiments/training/add_encoder.py", "default --encoder e --sentences x --output mine", "notes.txt"),
    ("experiments/perspectives/sia_sources.py", "--rows a=rows.jsonl --checkpoint c --output mine", "a-1/mixture.json"),
    ("experiments/perspectives/sia_sources.py", "--rows a=rows.jsonl --checkpoint c --output mine", "a-2/dev.jsonl"),
]


@pytest.mark.parametrize(("script", "options", "name"), WALK)
def test_no_output_of_a_script_replaces_a_users_file(
    run_script: RunScript,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    script: str,
    options: str,
    name: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text('{"id": "1", "question": "a?", "sentence": "a.", "label": 1}\n')
    path = tmp_path / "mine" / name
    path.parent.mkdir(parents=True)
    path.write_text("years of work")
    finished = run_script(script, *options.split())
    assert finished.returncode == 2
    error = finished.stderr.splitlines()[-1]
    assert re.search(r"mine.*: exists and (was not written by --|holds no )", error), finished.stderr
    assert path.read_text() == "years of work"
    assert sorted(file for file in tmp_path.rglob("*") if file.is_file()) == sorted([path, tmp_path / "rows.jsonl"])
    count("outputs that would replace a user's file")

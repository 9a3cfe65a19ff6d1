"""Scripts that read a folder of data: one sentence and exit status 2 where there is none."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.experiments.conftest import ROOT, RunScript

SCRIPTS = ["experiments/first_stage/bm25_grid.py", "experiments/splitting/compare.py",
           "experiments/ranking/sentences.py", "data_scripts/training_data.py"]  # fmt: skip


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_folder_that_is_not_there(run_script: RunScript, script: str, tmp_path: Path) -> None:
    options = ["--data", tmp_path / "nowhere", *(["--output", tmp_path] if "training" in script else [])]
    finished = run_script(script, *options)
    assert finished.returncode == 2
    (sentence,) = finished.stderr.splitlines()
    assert f": {tmp_path / 'nowhere'}" in sentence


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """The system's own error closes standard output, so this has a process of its own."""
    command = [sys.executable, "-m", "experiments.perspectives.sts", "--data", tmp_path / "nowhere"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert finished.returncode == 2
    (sentence,) = finished.stderr.splitlines()
    assert sentence.startswith(f"sts: {tmp_path / 'nowhere'}")


DATA, OUTPUT = ["--data", "nowhere"], ["--output", "out"]
MIXTURE = ["--mixture", "experiments/mixtures/sts.json", "--checkpoint", "x"]
TUNING = ["--dev", "nowhere", "--free", "nowhere", *OUTPUT]
GRIDS = [*DATA, "--encoder", "x", *OUTPUT]
IMPOSSIBLE = [
    ("training/ablation", [*MIXTURE, *OUTPUT, "--share", "0"], "--share is 0.0; expected a number above 0 and up to 1"),
    (
        "training/ablation",
        [*MIXTURE, *OUTPUT, "--seeds", "-1"],
        "--seeds: '-1' is given; expected a whole number",
    ),
    ("first_stage/background", [*DATA, "--depth", "5", "0"], "--depth: '0' is given"),
    ("bioasq", ["--k", "0", *OUTPUT], "--k: '0' is given"),
    ("dense/first_stages", [*DATA, "--limit", "0"], "--limit: '0' is given"),
    ("dense/first_stages", [*DATA, "--rerank", "-1"], "--rerank: '-1' is given"),
    ("dense/grids", [*GRIDS, "--questions", "0"], "--questions: '0' is given"),
    ("radiology/__main__", ["folds", *DATA, *OUTPUT, "--seeds", "0"], "--seeds: '0' is given"),
    ("radiology/__main__", ["folds", *DATA, *OUTPUT, "--sentences", "many"], "--sentences: 'many' is given"),
    ("splitting/compare", [*DATA, "--seconds", "0"], "--seconds is 0.0; expected a number above 0"),
    ("tripclick/rerank", [*OUTPUT, "--seed", "-1"], "seed is -1"),
    ("tripclick/rerank", [*OUTPUT, "--faster", "0"], "--faster is 0.0; expected a number above 0"),
    ("tuning/compare", [*TUNING, "--folds", "1"], "--folds: '1' is given"),
    ("ranking/evaluation", [*DATA, "--depth", "0"], "--depth: '0' is given"),
    ("ranking/evaluation", [*DATA, "--seed", "-1"], "--seed: '-1' is given"),
]


BUNDLES = ["--bundles", "nowhere", "elsewhere"]
UNWRITABLE = [
    ("first_stage/bm25_grid", DATA, "--output"),
    ("ranking/precision", [*DATA, *BUNDLES], "--json"),
    ("ranking/sentences", DATA, "--json"),
    ("perspectives/sia", ["--rows", "nowhere"], "--json"),
    ("splitting/compare", DATA, "--json"),
    ("ranking/evaluation", DATA, "--json"),
    ("ranking/headline", ["--data", "data", "--output", "work"], "--json"),
]


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(("script", "options", "said"), IMPOSSIBLE)
def test_a_number_that_cannot_be_is_refused_before_anything_is_done(
    run_script: RunScript, script: str, options: list[str], said: str
) -> None:
    texts = [str(ROOT / text) if text.startswith("experiments/") else text for text in options]
    finished = run_script(f"experiments/{script}.py", *texts)
    assert finished.returncode == 2
    assert said in finished.stderr.splitlines()[-1]
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(("script", "options", "option"), UNWRITABLE)
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_read(
    run_script: RunScript, script: str, options: list[str], option: str
) -> None:
    Path("thesis.tex").write_text("years of work")
    finished = run_script(f"experiments/{script}.py", *options, option, "thesis.tex/figures")
    assert finished.returncode == 2
    (sentence,) = finished.stderr.splitlines()
    assert "cannot be written, because" in sentence and "thesis.tex is not a folder" in sentence
    assert [path.name for path in Path.cwd().iterdir()] == ["thesis.tex"]


FIGURES = [(f"experiments/{script}.py", options) for script, options, option in UNWRITABLE if option == "--json"] + [
    *(
        (f"benchmarks/{name}.py", [])
        for name in ("end_to_end", "first_stage", "gpu", "late_interaction", "readers", "ray_efficiency", "runtimes")
    ),
    *(
        (f"benchmarks/{name}.py", [])
        for name in ("objective", "scale", "scoring", "serve", "soak", "startup", "training", "triples")
    ),
    ("benchmarks/bundles.py", ["nowhere"]),
    ("benchmarks/latency.py", []),
    ("benchmarks/baseline.py", []),
    ("benchmarks/search_threads.py", []),
    ("benchmarks/codes.py", ["--indexes", "nowhere", "--queries", "nowhere"]),
    ("experiments/stopping/simulate.py", ["--data", "data"]),
    ("experiments/stopping/reviews.py", ["--data", "data", "--scores", "scores"]),
    ("experiments/evidence/budget.py", ["--data", "data"]),
    ("experiments/evidence/best_sentence.py", ["--data", "data"]),
    ("experiments/calibration/blind_spots.py", ["--data", "data"]),
    ("experiments/wording/spread.py", ["--data", "data"]),
    ("experiments/dense/encoders.py", ["encoder", "--data", "data"]),
    ("experiments/splitting/marked_ends.py", []),
    ("experiments/pubmed/recall.py", ["--data", "data"]),
    ("benchmarks/encoding.py", ["--checkpoint", "nowhere"]),
    ("benchmarks/sia.py", ["--vectors", "nowhere"]),
    ("benchmarks/vector_growth.py", ["--indexes", "nowhere"]),
]


def test_every_script_with_figures_is_tested() -> None:
    scripts = [path for folder in ("experiments", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    writers = {str(path.relative_to(ROOT)) for path in scripts if '"--json"' in path.read_text(encoding="utf-8")}
    assert writers == {script for script, _ in FIGURES}


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(("script", "options"), FIGURES)
def test_figures_replace_no_file_of_another_format(run_script: RunScript, script: str, options: list[str]) -> None:
    Path("thesis.tex").write_text("years of work")
    finished = run_script(script, *options, "--json", "thesis.tex")
    assert finished.returncode == 2
    (sentence,) = finished.stderr.splitlines()
    assert "thesis.tex: exists and was not written by --json, so it is not replaced" in sentence
    assert Path("thesis.tex").read_text() == "years of work"


@pytest.mark.usefixtures("elsewhere")
def test_figures_replace_no_input(run_script: RunScript) -> None:
    Path("data/bioasq").mkdir(parents=True)
    Path("data/bioasq/splits.json").write_text("{}")
    finished = run_script("benchmarks/first_stage.py", "--data", "data", "--json", "data/bioasq/splits.json")
    assert (finished.returncode, Path("data/bioasq/splits.json").read_text()) == (2, "{}")
    assert "is also --data" in finished.stderr

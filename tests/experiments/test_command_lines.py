"""Scripts that read a folder of data: one sentence and exit status 2 where there is none."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.experiments.conftest import ROOT, RunScript

SCRIPTS = ["experiments/first_stage.py", "experiments/joining.py", "experiments/splitting.py",
           "experiments/sentence_ranking.py", "data_scripts/training_data.py"]  # fmt: skip


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_folder_that_is_not_there(run_script: RunScript, script: str, tmp_path: Path) -> None:
    options = ["--data", tmp_path / "nowhere", *(["--output", tmp_path] if "training" in script else [])]
    done = run_script(script, *options)
    assert done.returncode == 2
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith(f"{Path(script).stem}: {tmp_path / 'nowhere'}")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """The system's own error closes standard output, so this has a process of its own."""
    command = [sys.executable, ROOT / "experiments/sts.py", "--data", tmp_path / "nowhere"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith(f"sts: {tmp_path / 'nowhere'}")

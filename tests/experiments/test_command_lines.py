"""Scripts that read a folder of data: one sentence and exit status 2 where there is none."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = ["experiments/first_stage.py", "experiments/joining.py", "experiments/splitting.py", "experiments/sts.py",
           "experiments/sentence_ranking.py", "data_scripts/training_data.py"]  # fmt: skip


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_folder_that_is_not_there(script: str, tmp_path: Path) -> None:
    options = ["--data", tmp_path / "nowhere", *(["--output", tmp_path] if "training" in script else [])]
    done = subprocess.run([sys.executable, ROOT / script, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith(f"{Path(script).stem}: {tmp_path / 'nowhere'}")

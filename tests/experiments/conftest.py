"""Scripts run as a user runs them, but in the process of the tests, which has torch loaded already."""

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.tune.conftest import learnable as learnable

ROOT = Path(__file__).parents[2]
RunScript = Callable[..., "CompletedProcess[str]"]


@pytest.fixture
def run_script(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RunScript:
    """Run a script of the repository with these options: its exit status and what it printed."""

    def run(script: str, *options: object) -> "CompletedProcess[str]":
        command = [str(ROOT / script), *map(str, options)]
        monkeypatch.setattr(sys, "argv", command)
        monkeypatch.syspath_prepend((ROOT / script).parent)
        module = ".".join(Path(script).with_suffix("").parts)
        with pytest.raises(SystemExit) as ended:
            if module.startswith("experiments."):
                runpy.run_module(module, run_name="__main__")
            else:
                runpy.run_path(command[0], run_name="__main__")
        status = ended.value.code
        return CompletedProcess(command, status if isinstance(status, int) else 0, *capsys.readouterr())

    return run

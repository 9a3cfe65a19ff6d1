"""Commands that are killed at any moment: the same command again ends as if nothing had happened."""

import os
import random
import shlex
import shutil
import signal
import time
from pathlib import Path

import pytest

from tests.faults.commands import COMMANDS, ENVIRONMENT, content, succeed, undisturbed, with_output
from tests.faults.report import count
from tests.programs import Fork

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("MPIR_KILLS", "1"))
"""Of each command; `make faults` has more."""
IN_SUITE = ("index --update", "rerank", "merge of rankings")


@pytest.mark.parametrize("name", [name for name in COMMANDS if name[-1] != "2"] if KILLS > 1 else IN_SUITE)
def test_a_killed_command_ends_as_if_it_had_not_been(name: str, inputs: Path, tmp_path: Path) -> None:
    if name.endswith("--ray"):
        pytest.importorskip("ray", reason="needs the extra ray")
    expected, seconds = undisturbed(name, inputs, tmp_path / "expected")
    generator = random.Random(name)
    for _ in range(KILLS):
        command = with_output(name, tmp_path / "killed", inputs)
        process = Fork(shlex.split(command), log=tmp_path / "log", environment=ENVIRONMENT, folder=inputs)
        time.sleep(generator.uniform(0.1, 1.0) * seconds)  # a moment at random; before 0.1 nothing is written
        process.send_signal(signal.SIGKILL)
        process.wait()
        count("kills of " + name)
        if generator.random() < 0.5:  # some go on from what several kills have left
            succeed(command, inputs)
            assert content(tmp_path / "killed") == expected
            shutil.rmtree(tmp_path / "killed")
    succeed(with_output(name, tmp_path / "killed", inputs), inputs)
    assert content(tmp_path / "killed") == expected

"""What a fixture starts ends with the tests, however these end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEST = """
import subprocess, sys, time
from pathlib import Path
import pytest
from tests.programs import ENDING_WITH_TESTS

@pytest.fixture
def program():
    process = subprocess.Popen([*ENDING_WITH_TESTS, "sleep", "300"], start_new_session=True)
    yield process.pid
    process.kill()
    process.wait()
    Path("ended").touch()

def test_something_long(program):
    Path("pid.part").write_text(str(program))
    Path("pid.part").rename("pid")
    time.sleep(300)
"""


def is_running(process: int) -> bool:
    try:
        return "sleep" in Path(f"/proc/{process}/cmdline").read_text(encoding="utf-8")
    except OSError:
        return False


def within(seconds: float, file: Path) -> bool:
    deadline = time.monotonic() + seconds
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return file.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a program that its parent died")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_program_of_a_fixture_ends_with_killed_tests(tmp_path: Path, number: int) -> None:
    (tmp_path / "test_long.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.programs", "-p", "no:cacheprovider", "test_long.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    tests = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)
    assert within(60, tmp_path / "pid")
    program = int((tmp_path / "pid").read_text())
    assert is_running(program)
    tests.send_signal(number)
    tests.wait(timeout=60)
    assert (tmp_path / "ended").exists() == (number != signal.SIGKILL)
    deadline = time.monotonic() + 20
    while is_running(program) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(program)

"""The command as a whole: interrupts, closed streams, and what is refused before anything is loaded."""

import subprocess
import sys
from pathlib import Path

import pytest

import mpir

SAMPLE = Path(mpir.__file__).parent / "sample"


def shell(command: str) -> subprocess.CompletedProcess[str]:
    line = command.replace("mpir ", f"{sys.executable} -m mpir ", 1)
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("module", ["numpy", "mpir.cli.search", "tabulate"])
def test_an_interrupt_while_importing_is_one_word(module: str) -> None:
    code = f"""
import sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from mpir.cli import main
sys.exit(main(["evaluate", "bioasq", "--gold", {str(SAMPLE / "questions.json")!r}, "--submission",
               {str(SAMPLE / "questions.json")!r}]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "mpir: interrupted\n")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("mpir search --index nowhere aspirin >&-", "mpir: standard output is closed; send it to a file"),
        ("mpir rerank <&-", "mpir: standard input is closed; pipe something in."),
        ("mpir evaluate run --qrels - --run - <&-", "mpir: standard input is closed; pipe something in."),
    ],
)
def test_closed_streams_are_one_sentence(command: str, message: str) -> None:
    done = shell(command)
    assert done.returncode == 2
    assert done.stderr.startswith(message)
    assert len(done.stderr.splitlines()) == 1


def test_without_standard_error_nothing_ends_up_among_the_results() -> None:
    done = shell("mpir search --index nowhere aspirin 2>&-")
    assert (done.returncode, done.stdout) == (2, "")

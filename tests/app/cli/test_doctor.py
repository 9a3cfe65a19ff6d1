"""`mpir doctor` on one screen, and the completion of shells."""

import subprocess
from pathlib import Path

import pytest

from mpir.app.cli import main
from mpir.app.cli.doctor import EXTRAS
from mpir.version import __version__


def test_one_screen_says_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    report = capsys.readouterr().out
    lines = dict(line.split(":", 1) for line in report.splitlines())
    assert len(lines) == len(report.splitlines()) <= 24
    assert lines["mpir"].split()[0] == __version__
    assert "auto is" in lines["device"]
    assert "hashes that the manifest states" in lines["bundle default"]
    installed, _, missing = lines["extras"].partition("; not installed: ")
    assert all(name in installed or name in missing for name in EXTRAS)
    assert "tune" in installed


def test_a_cache_that_cannot_be_is_named_and_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.setenv("MPIR_CACHE", str(tmp_path / "loop"))
    assert main(["doctor"]) == 1
    assert "BROKEN: mpir's cache folder" in capsys.readouterr().out


@pytest.mark.parametrize("shell", ["fish", "powershell", "zsh"])
def test_other_shells_get_a_script_with_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab")
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(word in script for word in ("rerank", "--top-k", "calibrate"))


def test_bash_completes_commands(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("shtab")
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "mpir.bash"
    script.write_text(capsys.readouterr().out)
    words = 'COMP_WORDS=(mpir rer); COMP_CWORD=1; _shtab_mpir; echo "${COMPREPLY[*]}"'
    shell = subprocess.run(["bash", "-c", f"source {script}; {words}"], capture_output=True, text=True, check=True)
    assert shell.stdout.split() == ["rerank"]

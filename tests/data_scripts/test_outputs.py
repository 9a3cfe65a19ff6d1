"""What cannot be written at the end is refused before anything is read, which may be followed by hours of work."""

import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "data_scripts"


@pytest.mark.parametrize(
    ("script", "options"),
    [
        ("topic_negatives", ["--data", "nowhere", "--encoder", "none"]),
        ("answer_teacher", ["--data", "nowhere", "--encoder", "none"]),
        ("sts_teachers", ["--data", "nowhere", "--rows", "nowhere", "--encoder", "none"]),
        ("teacher_scores", ["rows.jsonl", "--keep", "kept.npz"]),
    ],
)
def test_a_place_for_nothing_is_refused_at_once(
    script: str,
    options: list[str],
    *,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "taken").touch()
    output = tmp_path / ("taken/a.jsonl" if script == "teacher_scores" else "taken")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [script, *options, "--output", str(output)])
    monkeypatch.syspath_prepend(str(FOLDER))
    assert runpy.run_path(str(FOLDER / f"{script}.py"))["main"]() == 2
    assert "taken: nothing can be written there, since" in capsys.readouterr().err

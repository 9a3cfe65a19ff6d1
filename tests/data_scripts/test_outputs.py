"""What cannot be written at the end is refused before anything is read, which may be followed by hours of work."""

import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "data_scripts"


@pytest.mark.parametrize(
    ("script", "options"),
    [
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
    assert "taken: cannot be written, because" in capsys.readouterr().err


ROW = '{"id": "q", "question": "Which?", "sentence": "This.", "label": 1}\n'
DATA = ["--data", "data", "--encoder", "none"]
INPUTS = [
    ("document_frequencies", ["rows.jsonl"], "rows.jsonl", "PATH"),
    ("chexpert_lexicon", ["data"], "data/mention/edema.txt", "PHRASES"),
    ("answer_teacher", [*DATA, "--rows", "data/a.answered.train.jsonl", "data/a.train.jsonl"], "data", "--rows"),
    ("teacher_scores", ["rows.jsonl", "--encoders", "none"], "rows.jsonl", "ROWS"),
]
FOREIGN = [
    ("document_frequencies", ["rows.jsonl"], "notes.txt", "notes.txt"),
    ("chexpert_lexicon", ["data"], "notes.txt", "notes.txt"),
    ("training_data", ["--data", "data"], "data", "data/sts.dev.jsonl"),
    ("sts_teachers", [*DATA, "--rows", "rows"], "data", "data/sts.questions.train.jsonl"),
    ("answer_teacher", [*DATA, "--rows", "data/a.train.jsonl"], "data", "data/a.answered.train.jsonl"),
]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files that some scripts read and others must not replace, as the working directory."""
    for name in ("rows.jsonl", "data/a.train.jsonl", "data/a.answered.train.jsonl", "data/pubmed/abstracts.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(ROW)
    (tmp_path / "data/mention").mkdir()
    (tmp_path / "data/mention/edema.txt").write_text("edema\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(FOLDER))
    return tmp_path


def outcome(script: str, options: list[str], monkeypatch: pytest.MonkeyPatch) -> object:
    """The exit status of a script, run as a user runs it."""
    monkeypatch.setattr(sys, "argv", [script, *options])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(FOLDER / f"{script}.py"), run_name="__main__")
    return ended.value.code


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("script", "options", "output", "option"), INPUTS)
def test_an_input_is_never_replaced(
    script: str,
    options: list[str],
    output: str,
    option: str,
    *,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert outcome(script, [*options, "--output", output], monkeypatch) == 2
    assert f"is also {option}" in capsys.readouterr().err


@pytest.mark.parametrize(("script", "options", "output", "file"), FOREIGN)
def test_a_file_of_another_format_is_never_replaced(
    script: str,
    options: list[str],
    output: str,
    file: str,
    *,
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (files / file).write_text("years of work")
    assert outcome(script, [*options, "--output", output], monkeypatch) == 2
    assert f"{file}: exists and was not written" in capsys.readouterr().err
    assert (files / file).read_text() == "years of work"

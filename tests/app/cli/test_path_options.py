"""Every option that is a path, of every command: checked and expanded alike, and refused in one sentence."""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mpir.app.cli import main, make_parser
from mpir.app.cli.value_options import file_path, output_path, text_path
from mpir.errors import InputError, OutputError
from mpir.files.paths import checked_path
from mpir.files.write import cache_folder
from mpir.models.perspectives.cache import ScoreCache

DOCUMENT = '{"id": "1", "title": "Aspirin", "abstract": "Aspirin thins blood."}\n'


def actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for subparser in action.choices.values():
                yield from actions(subparser)
        else:
            yield action


def test_every_option_that_names_a_file_or_folder_is_a_path() -> None:
    paths = 0
    for action in actions(make_parser()):
        names = str(action.metavar)
        if any(word in names for word in ("FILE", "DIR", "PATH", "SCORED")):
            assert action.type in (text_path, file_path, output_path), action
            paths += 1
    assert paths > 50


COMMANDS = [("rerank", "--docs"), ("index", ""), ("tune", "--output"), ("serve", "--index")]
"""All path options have one of two types; these commands have one of each, and a positional argument."""


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_path_that_cannot_be_is_one_sentence(
    command: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    bad = {
        "a\0b": r"the path 'a\x00b' contains a NUL character, which no file name can have; remove it.",
        "b\udce4.x": r"the path 'b\udce4.x' is not UTF-8; rename the file or folder.",
        "": "the path '' is empty; give one.",
        str(tmp_path / "loop"): "is a cycle of symbolic links; remove one of them.",
        str(tmp_path / "loop" / "file"): "is a cycle of symbolic links; remove one of them.",
    }
    for path, message in bad.items():
        with pytest.raises(SystemExit) as end:
            main([word for word in (*command, path) if word or word is path])
        assert end.value.code == 2
        assert capsys.readouterr().err.splitlines()[-1].endswith(message)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_home_folder_is_expanded(
    command: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(SystemExit):
        main([*filter(None, command), "~/loop"])
    assert "'~/loop' is a cycle" in capsys.readouterr().err


def test_a_page_goes_to_the_home_folder(tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text(DOCUMENT)
    command = ["rerank", "aspirin", "--docs", "~/a.jsonl", "--bundle", str(tiny_bundle)]
    assert (
        main([*command, "--output", "~/page.html", "--output", "~/new/table.csv", "--set", "cache.folder=~/cache"]) == 0
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "cache", "new", "page.html"]


def test_paths_from_python_and_of_unknown_homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for path in ("a\0b", tmp_path / "loop", "\udce4"):
        with pytest.raises(InputError, match="the path"):
            ScoreCache(path)
    assert checked_path("~nobody-of-that-name/x") == Path("~nobody-of-that-name/x")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", lambda _: {}["no entry"])
    assert str(cache_folder()) == os.environ["MPIR_CACHE"]
    monkeypatch.delenv("MPIR_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with pytest.raises(OutputError, match=r"home folder, .*\$HOME\."):
        cache_folder()
    monkeypatch.setenv("XDG_CACHE_HOME", "/tmp/cache")
    assert cache_folder() == Path("/tmp/cache/mpir")


UNKNOWN = """
import pwd, sys
pwd.getpwuid = lambda number: {}[number]  # as where the system has no entry of the user
from mpir.app.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_somebody_whom_the_system_does_not_know_ranks(tiny_bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(DOCUMENT)
    environment = {key: value for key, value in os.environ.items() if key not in ("HOME", "XDG_CACHE_HOME")}
    command = [sys.executable, "-c", UNKNOWN, "rerank", "aspirin", "--docs", str(tmp_path / "a.jsonl")]
    finished = subprocess.run(
        [*command, "--bundle", str(tiny_bundle), "--device", "cpu"],
        env={**environment, "MPIR_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (finished.returncode, finished.stderr) == (0, "")
    assert (tmp_path / "cache").is_dir()

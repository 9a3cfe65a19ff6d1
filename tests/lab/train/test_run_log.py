"""A run's log: lines are added, a cut one is dropped, and another's file is never written over."""

import json
from pathlib import Path

import pytest

from mpir.errors import OutputError
from mpir.lab.train.checkpointer import RunLog


def test_lines_are_added_and_a_cut_one_is_dropped(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "run")
    log.drop_incomplete_line()
    log.write(step=0, loss=1.5)
    log.drop_incomplete_line()
    (tmp_path / "run/log.jsonl").open("a").write('{"step": 1, "lo')
    log.drop_incomplete_line()
    log.write(step=1, loss=0.5)
    lines = [json.loads(line) for line in (tmp_path / "run/log.jsonl").read_text().splitlines()]
    assert [(line["step"], line["loss"]) for line in lines] == [(0, 1.5), (1, 0.5)]


@pytest.mark.parametrize("content", ["", '{"step": 0}\n', '{"step": 0}\n{"st'])
def test_a_runs_own_log_is_taken_up(tmp_path: Path, content: str) -> None:
    (tmp_path / "log.jsonl").write_text(content)
    RunLog(tmp_path).check_replaceable()


@pytest.mark.parametrize("content", [b'{"mine": 0}\n', b"my notes\n", b"[1]\n", b"5\n", b"\x89PNG\r\n"])
def test_anothers_log_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "log.jsonl").write_bytes(content)
    with pytest.raises(OutputError, match=r"log\.jsonl: .*not written"):
        RunLog(tmp_path).check_replaceable()


def test_a_picture_without_a_log_is_anothers(tmp_path: Path) -> None:
    (tmp_path / "curves.png").write_bytes(b"picture")
    with pytest.raises(OutputError, match=r"curves\.png: .*not written"):
        RunLog(tmp_path).check_replaceable()
    (tmp_path / "log.jsonl").write_text('{"step": 0}\n')
    RunLog(tmp_path).check_replaceable()


def test_a_saved_state_says_whose_the_folder_is(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("my notes\n")
    (tmp_path / "state.pt").write_bytes(b"")
    RunLog(tmp_path).check_replaceable()

"""What a hostile file may take: memory is bounded, devices and pipes are refused, and each refusal names its remedy."""

import gzip
import os
import stat
import threading
from pathlib import Path

import pytest

from mpir.errors import InputError
from mpir.files.limits import limit
from mpir.files.paths import path_inside
from mpir.files.read import open_bytes, read_bytes, read_json, read_lines

MEGABYTE = 10**6


@pytest.fixture(autouse=True)
def _one_megabyte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPIR_MAX_RECORD_MB", "1")
    monkeypatch.setenv("MPIR_MAX_FILE_MB", "2")


@pytest.mark.parametrize("old_ends", [False, True])
@pytest.mark.parametrize("name", ["long.txt", "long.txt.gz"])
def test_a_line_beyond_the_limit_is_refused_with_its_number(tmp_path: Path, name: str, old_ends: bool) -> None:
    content = b"first\n" + b"ab" * MEGABYTE + b"\nlast\n"
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(InputError, match=r"long\.txt.*:2: .*\b1 MB.*MPIR_MAX_RECORD_MB"):
        list(read_lines(path, old_ends=old_ends))


def test_lines_up_to_the_limit_and_files_of_many_are_read(tmp_path: Path) -> None:
    path = tmp_path / "many.txt"
    path.write_bytes(b"\n".join([b"x" * (MEGABYTE - 1)] * 4))
    for old_ends in (False, True):
        assert [len(line) for _, line in read_lines(path, old_ends=old_ends)] == [MEGABYTE - 1] * 4


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_each_kind_of_line_end_counts_once_wherever_blocks_end(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "ends.csv"
    for width in (2**20 - 2, 2**20 - 1, 2**20):  # the end of the first line lies before, on and behind a block's
        lines = [b"y" * (width // 2), b"y" * (width - width // 2 - len(end)), b"", b"last"]
        path.write_bytes(end.join(lines))
        assert [line.encode() for _, line in read_lines(path, old_ends=True)] == lines


def test_a_file_that_is_read_whole_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    path.write_bytes(b'{"a": "' + b"x" * (2 * MEGABYTE) + b'"}')
    with pytest.raises(InputError, match=r"\b2 MB.*MPIR_MAX_FILE_MB"):
        read_json(path)


def test_what_expands_beyond_proportion_is_refused_after_64_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "blank.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n" * (80 * MEGABYTE), 9))
    with (
        open_bytes(path) as stream,
        pytest.raises(InputError, match=r"\b200 times.*MPIR_MAX_EXPANSION"),
    ):
        while stream.read(2**20):
            pass


def test_a_larger_ratio_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "blank.gz"
    path.write_bytes(gzip.compress(b"\n" * (70 * MEGABYTE), 9))
    monkeypatch.setenv("MPIR_MAX_EXPANSION", "2000")
    with open_bytes(path) as stream:
        assert sum(map(len, iter(lambda: stream.read(2**20), b""))) == 70 * MEGABYTE


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/random"])
def test_devices_are_refused(path: str) -> None:
    with pytest.raises(InputError, match=f"^{path}: .*a device"):
        read_bytes(path)


def test_a_named_pipe_without_a_writer_is_refused_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mpir.files.limits.PIPE_SECONDS", 0.05)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"pipe in 0\.05 seconds"):
        read_bytes(tmp_path / "pipe")


def test_a_named_pipe_with_a_writer_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[b"one\ntwo\n" * 50_000])
    writer.start()
    assert len(list(read_lines(tmp_path / "pipe"))) == 100_000
    writer.join()


def test_what_a_shell_pipes_is_read() -> None:
    reader, writer = os.pipe()
    assert stat.S_ISFIFO(os.fstat(reader).st_mode)
    os.write(writer, b"one\ntwo\n")
    os.close(writer)
    assert [line for _, line in read_lines(f"/dev/fd/{reader}")] == ["one", "two"]
    os.close(reader)


@pytest.mark.parametrize("value", ["0", "-1", "many", "1e3", "99999999999"])
def test_a_limit_is_a_whole_number(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("MPIR_MAX_RECORD_MB", value)
    with pytest.raises(InputError, match=f"MPIR_MAX_RECORD_MB is '{value}'"):
        limit("MPIR_MAX_RECORD_MB")


def test_a_manifest_names_files_of_its_own_folder_only(tmp_path: Path) -> None:
    folder = tmp_path / "org" / "snapshots" / "bundle"
    blobs = tmp_path / "org" / "blobs"
    folder.mkdir(parents=True)
    blobs.mkdir()
    (blobs / "hash").write_text("card")
    (folder / "CARD.md").symlink_to(blobs / "hash")  # as in the hub's cache
    (folder / "stolen").symlink_to("/etc/hostname")
    assert path_inside(folder, "CARD.md").read_text() == "card"
    os.mkfifo(folder / "pipe")
    with pytest.raises(InputError, match="/pipe: expected"):
        path_inside(folder, "pipe")
    for name in ("../../etc/hostname", "/etc/hostname", "stolen", "sub/../../other"):
        with pytest.raises(InputError, match=rf"bundle: .*'{name}'"):
            path_inside(folder, name)

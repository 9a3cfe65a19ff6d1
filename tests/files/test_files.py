"""Files: what is written takes its place whole or not at all, and never in place of something else of the user's."""

import gzip
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mpir.errors import InputError, OutputError
from mpir.files.folder_format import FolderFormat
from mpir.files.journal import Journal
from mpir.files.lock import exclusive
from mpir.files.read import read_json, read_lines
from mpir.files.write import atomic_folder, atomic_write

MARKER = "manifest.json"
FORMAT = FolderFormat(marker=MARKER, names=(MARKER, "part/*.npy"))


def fill(folder: Path, folder_format: FolderFormat | None = FORMAT, text: str = "new") -> None:
    with atomic_folder(folder, folder_format) as temporary:
        (temporary / MARKER).write_text(text)


def test_others_may_read_a_folder_as_the_umask_says(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "out") as temporary:
        for name in ("a", "b"):
            (temporary / name).write_text(name)
        (temporary / "a").chmod(0o600)
    modes = {path.name: path.stat().st_mode for path in (tmp_path / "out").iterdir()}
    assert modes["a"] == modes["b"]


def test_a_folder_with_the_marker_or_nothing_in_it_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    fill(tmp_path / "made", text="old")
    (tmp_path / "made/part").mkdir()
    (tmp_path / "made/part/rows.npy").write_text("of the old one")
    (tmp_path / "made/.manifest.json.0123456789ab.tmp").write_text("of a killed process")
    fill(tmp_path / "made")
    assert [(file.name, file.read_text()) for file in (tmp_path / "made").iterdir()] == [(MARKER, "new")]
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_a_folder_of_the_users_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(OutputError, match=r"no manifest\.json"):
        fill(tmp_path)
    with pytest.raises(OutputError, match=r"thesis\.txt: .*a folder"):
        fill(tmp_path / "thesis.txt")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("thesis.txt", "years of work")]


@pytest.mark.parametrize(
    "name", ["notes.txt", "part/notes.txt", "part/more/rows.npy", ".hidden", "other/manifest.json"]
)
def test_a_folder_with_a_file_of_another_format_is_never_replaced(tmp_path: Path, name: str) -> None:
    fill(tmp_path / "made", text="old")
    (tmp_path / "made" / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "made" / name).write_text("a week of work")
    with pytest.raises(OutputError, match=f"made: .*also contains {name}"):
        fill(tmp_path / "made")
    (tmp_path / "made" / name).unlink()
    with (
        pytest.raises(OutputError, match=f"also contains {name}"),
        atomic_folder(tmp_path / "made", FORMAT) as temporary,
    ):
        (temporary / MARKER).write_text("new")
        (tmp_path / "made" / name).symlink_to("what came while it was made")
    assert (tmp_path / "made" / MARKER).read_text() == "old"
    assert (tmp_path / "made" / name).is_symlink()


def test_without_a_format_nothing_is_replaced(tmp_path: Path) -> None:
    fill(tmp_path / "made", text="old")
    with pytest.raises(OutputError, match="made: exists"):
        fill(tmp_path / "made", None)
    assert (tmp_path / "made" / MARKER).read_text() == "old"


def test_a_block_that_fails_leaves_the_old_folder(tmp_path: Path) -> None:
    fill(tmp_path / "made", text="old")
    with pytest.raises(ZeroDivisionError), atomic_folder(tmp_path / "made", FORMAT) as temporary:
        (temporary / MARKER).write_text(str(1 / 0))
    assert (tmp_path / "made" / MARKER).read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


KILLED = """
import os, signal, sys
from pathlib import Path
from mpir.files.write import atomic_folder
with atomic_folder(sys.argv[1]) as temporary:
    (temporary / "part").write_text("of an index")
    print(temporary, flush=True)
    sys.stdin.readline()
"""


def test_what_a_killed_process_left_is_removed_and_what_a_live_one_fills_is_not(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "made")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        left = Path(process.stdout.readline().strip())
        fill(tmp_path / "made")
        assert (left / "part").exists()  # it is still at work
        fill(tmp_path / "other")
        process.kill()
    fill(tmp_path / "other")
    assert (left / "part").exists()  # it belongs to another target
    fill(tmp_path / "made")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made", "other"]


def test_the_old_folder_that_a_killed_process_moved_away_is_put_back(tmp_path: Path) -> None:
    fill(tmp_path / "elsewhere", text="old")
    (tmp_path / "elsewhere").rename(tmp_path / ".made.0123456789ab.old")
    (tmp_path / ".made.0123456789ab.lock").touch()
    with pytest.raises(ZeroDivisionError), atomic_folder(tmp_path / "made", FORMAT):
        _ = 1 / 0
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
    assert (tmp_path / "made" / MARKER).read_text() == "old"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux exchanges two folders at once")
def test_at_no_moment_is_there_no_folder(tmp_path: Path) -> None:
    fill(tmp_path / "made")
    missing, finished = [], threading.Event()

    def watch() -> None:
        while not finished.is_set():
            if not os.path.exists(tmp_path / "made" / MARKER):  # noqa: PTH110  (as quick as can be)
                missing.append(True)

    watcher = threading.Thread(target=watch)
    watcher.start()
    for _ in range(50):
        fill(tmp_path / "made")
    finished.set()
    watcher.join()
    assert missing == []


def test_a_disk_that_is_full_while_a_folder_is_filled(tmp_path: Path) -> None:
    with (
        pytest.raises(OutputError, match=r"made: .*\(No space"),
        atomic_folder(tmp_path / "made") as temporary,
        open("/dev/full", "w", encoding="utf-8") as full,
    ):
        full.write(str(temporary))
    assert not list(tmp_path.iterdir())


def test_a_folder_behind_a_link_is_replaced_where_it_lies(tmp_path: Path) -> None:
    fill(tmp_path / "made", text="old")
    (tmp_path / "link").symlink_to("made")
    fill(tmp_path / "link")
    assert (tmp_path / "link").readlink() == Path("made")
    assert (tmp_path / "made" / MARKER).read_text() == "new"


def test_gzip_is_known_by_content_whatever_the_name(tmp_path: Path) -> None:
    for name in ("a.jsonl.gz", "a.jsonl", "A.JSONL.GZ"):
        (tmp_path / name).write_bytes(gzip.compress(b"one\ntwo\n"))
        assert list(read_lines(tmp_path / name)) == [(1, "one"), (2, "two")]
    (tmp_path / "plain.gz").write_bytes(b"one\n")
    assert list(read_lines(tmp_path / "plain.gz")) == [(1, "one")]
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"one\n")[:-4])
    with pytest.raises(InputError, match=r"cut\.gz: .*truncated"):
        list(read_lines(tmp_path / "cut.gz"))


def test_a_number_of_too_many_digits(tmp_path: Path) -> None:
    (tmp_path / "long.json").write_text('{"id": ' + "1" * 5000 + "}")
    with pytest.raises(InputError, match=r"long\.json: .*more digits"):
        read_json(tmp_path / "long.json")


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    result: list[str] = []
    reader = threading.Thread(target=lambda: result.append((tmp_path / "pipe").read_text(encoding="utf-8")))
    reader.start()
    with atomic_write(tmp_path / "pipe") as stream:
        stream.write("naïve\n")
    reader.join()
    assert result == ["naïve\n"]
    assert [(path.name, path.is_fifo()) for path in tmp_path.iterdir()] == [("pipe", True)]


def test_a_file_behind_a_link_is_written_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    for text in ("old", "new"):
        with atomic_write(tmp_path / "link") as stream:
            stream.write(text)
    assert (tmp_path / "link").readlink() == Path("file")
    assert (tmp_path / "file").read_text() == "new"


WRITING = """
import sys
from mpir.files.write import atomic_write
with atomic_write(sys.argv[1]) as stream:
    stream.write("half of ")
    stream.flush()
    print("writing", flush=True)
    sys.stdin.readline()
    stream.write("it")
"""


def writing(path: Path) -> "subprocess.Popen[str]":
    """A process in the middle of writing a file."""
    command = [sys.executable, "-c", WRITING, str(path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "writing\n"
    return process


def test_the_temporary_files_of_killed_writes_are_removed(tmp_path: Path) -> None:
    for _ in range(3):
        with writing(tmp_path / "state.pt") as process:
            process.kill()  # SIGKILL
    assert len(list(tmp_path.iterdir())) == 1  # each removes what the one before it left
    (tmp_path / ".state.pt.of-mine.tmp").write_text("a user's")
    with atomic_write(tmp_path / "other"):
        pass
    assert len(list(tmp_path.iterdir())) == 3
    with atomic_write(tmp_path / "state.pt") as stream:
        stream.write("new")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".state.pt.of-mine.tmp", "other", "state.pt"]


def test_the_temporary_file_of_a_live_write_is_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    with writing(path) as process:
        with atomic_write(path) as stream:
            stream.write("first")
        assert path.read_text() == "first"
        process.communicate("go on\n")
    assert process.returncode == 0
    assert path.read_text() == "half of it"
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_many_processes_write_one_file_and_all_succeed(tmp_path: Path) -> None:
    code = "import sys\nfrom mpir.files.write import write_json\nfor n in range(200): write_json(sys.argv[1], n)"
    command = [sys.executable, "-c", code, str(tmp_path / "figures.json")]
    processes = [subprocess.Popen(command) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("figures.json", "199\n")]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no folder that lets nobody make a file")
def test_a_lock_that_cannot_be_made_is_not_waited_for() -> None:
    with pytest.raises(OutputError, match=r"/proc/index: .*\(No such file"):
        fill(Path("/proc/index"), folder_format=None)
    with pytest.raises(OutputError, match=r"/proc/log: .*\(No such file"):
        Journal("/proc/log", {})
    with (
        pytest.raises(OutputError, match=r"/proc: .*\(No such file"),
        exclusive(Path("/proc/x"), ""),
    ):
        pass

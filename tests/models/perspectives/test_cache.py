"""The score cache: what was kept comes back bit for bit, whatever happened to the process, the file or the disk."""

import logging
import os
import signal
import sqlite3
import struct
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mpir
from mpir.errors import InputError, OutputError
from mpir.models.perspectives import cache as cache_module
from mpir.models.perspectives.cache import FILE, SMALLEST, ScoreCache

PAIRS = [("does aspirin thin blood", "yes"), ("does aspirin thin blood", "no"), ("is it", ""), ("", "is it")]
VALUES = np.array([0.1, -0.0, 1e-300, 4.0])
IN_PASSAGES = np.array([False, True, False, True])

KEEP_ON = """
import sys, numpy as np
from mpir.models.perspectives.cache import ScoreCache
cache, first = ScoreCache(sys.argv[1]), int(sys.argv[2])
for part in range(first, first + int(sys.argv[3])):
    pairs = [(f"question {part}", f"sentence {i}") for i in range(200)]
    cache.keep("f", pairs, np.full(200, part + 0.25), np.zeros(200, bool))
    print(part, flush=True)
"""


def of_part(part: int) -> list[tuple[str, str]]:
    return [(f"question {part}", f"sentence {i}") for i in range(200)]


def file_size(folder: Path) -> int:
    return (folder / FILE).stat().st_size


@pytest.fixture
def cache(tmp_path: Path) -> ScoreCache:
    """A cache that holds the four pairs for the perspective "f"."""
    created = ScoreCache(tmp_path / "cache")
    created.keep("f", PAIRS, VALUES, IN_PASSAGES)
    return created


def holds(cache: ScoreCache) -> bool:
    """Whether the cache holds the four pairs as they were kept; all of them or none."""
    values, in_passages, result = cache.look_up("f", PAIRS)
    if result.all():
        assert values.tobytes() == VALUES.tobytes()
        assert in_passages.tolist() == IN_PASSAGES.tolist()
    assert result.all() or not result.any()
    return bool(result.all())


def test_what_was_kept_comes_back_in_any_order_and_from_another_process(cache: ScoreCache) -> None:
    assert holds(cache)
    cache.close()
    assert holds(ScoreCache(cache.folder))
    values, in_passages, result = cache.look_up("f", [PAIRS[3], ("is it", "new"), PAIRS[0], PAIRS[3]])
    assert values.tolist() == [4.0, 0.0, 0.1, 4.0]
    assert in_passages.tolist() == [True, False, False, True]
    assert result.tolist() == [True, False, True, True]


def test_perspectives_questions_and_sentences_are_told_apart(cache: ScoreCache) -> None:
    alternatives = [("does aspirin thin blood", "yes "), ("does aspirin thin bloody", "es"), ("", "is it")]
    assert cache.look_up("f", alternatives)[2].tolist() == [False, False, True]
    assert not cache.look_up("g", PAIRS)[2].any()
    assert (cache.hits, cache.misses) == (1, 6)


@settings(max_examples=30)
@given(
    kept=st.dictionaries(
        st.tuples(st.text(), st.text()), st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.booleans())
    ),
    other=st.tuples(st.text(), st.text()),
)
def test_any_texts_and_numbers_come_back(
    tmp_path_factory: pytest.TempPathFactory, kept: dict[tuple[str, str], tuple[float, bool]], other: tuple[str, str]
) -> None:
    cache = ScoreCache(tmp_path_factory.mktemp("any"))
    expected = np.array([value for value, _ in kept.values()], float)
    cache.keep("f", list(kept), expected, np.array([flag for _, flag in kept.values()], bool))
    values, in_passages, result = cache.look_up("f", [*kept, other])
    assert values[: len(kept)].tobytes() == expected.tobytes()
    assert in_passages[: len(kept)].tolist() == [flag for _, flag in kept.values()]
    assert result.tolist() == [True] * len(kept) + [other in kept]


def test_a_score_that_is_kept_again_is_replaced(cache: ScoreCache) -> None:
    cache.keep("f", PAIRS[:1], np.array([0.7]), np.array([True]))
    values, in_passages, _ = cache.look_up("f", PAIRS[:1])
    assert (values.tolist(), in_passages.tolist()) == ([0.7], [True])


def test_a_process_killed_while_it_writes_loses_only_what_it_was_writing(tmp_path: Path) -> None:
    for round_ in range(3):
        command = [sys.executable, "-c", KEEP_ON, str(tmp_path), str(1000 * round_), "1000"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            finished = [int(writer.stdout.readline()) for _ in range(5 + 7 * round_)]
            writer.send_signal(signal.SIGKILL)
        assert writer.returncode == -signal.SIGKILL
        cache = ScoreCache(tmp_path)
        for section in finished:
            values, _, result = cache.look_up("f", of_part(section))
            assert result.all()
            assert set(values) == {section + 0.25}
        partly = [cache.look_up("f", of_part(section))[2] for section in range(finished[-1] + 1, finished[-1] + 50)]
        assert all(result.all() or not result.any() for result in partly)
        cache.close()


def test_processes_write_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KEEP_ON, str(tmp_path)]
    writers = [
        subprocess.Popen([*command, str(100 * i), "20"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for i in range(4)
    ]
    assert [writer.communicate()[1] for writer in writers] == [""] * 4
    cache = ScoreCache(tmp_path)
    for section in [100 * i + j for i in range(4) for j in range(20)]:
        assert cache.look_up("f", of_part(section))[2].all()


def test_threads_and_a_forked_child_share_a_cache(cache: ScoreCache) -> None:
    threads = [threading.Thread(target=cache.keep, args=("g", of_part(i), np.ones(200), np.zeros(200, bool)))
               for i in range(8)]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if (child := os.fork()) == 0:
        status = 1
        try:
            cache.keep("h", PAIRS, VALUES, IN_PASSAGES)
            status = 0 if holds(cache) else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert cache.look_up("h", PAIRS)[2].all()
    assert all(cache.look_up("g", of_part(i))[2].all() for i in range(8))


def test_the_limit_holds_and_the_oldest_make_room(tmp_path: Path) -> None:
    limit = 4 * SMALLEST
    cache = ScoreCache(tmp_path, limit=limit)
    for section in range(100):
        cache.keep("f", of_part(section), np.ones(200), np.zeros(200, bool))
        assert file_size(tmp_path) <= limit
    retained = [bool(cache.look_up("f", of_part(section))[2].all()) for section in range(100)]
    assert not any(retained[:50])
    assert all(retained[-5:])
    cache.close()
    smaller = ScoreCache(tmp_path, limit=SMALLEST)
    smaller.keep("f", PAIRS, VALUES, IN_PASSAGES)
    assert holds(smaller)
    smaller.close()
    assert file_size(tmp_path) <= SMALLEST


def test_a_part_larger_than_the_limit_does_no_harm(tmp_path: Path) -> None:
    cache = ScoreCache(tmp_path, limit=SMALLEST)
    pairs = [("q", str(i)) for i in range(5000)]
    cache.keep("f", pairs, np.arange(5000.0), np.zeros(5000, bool))
    values, _, result = cache.look_up("f", pairs)
    assert result[-100:].all()
    assert values[result].tolist() == np.flatnonzero(result).tolist()
    cache.close()
    assert file_size(tmp_path) <= SMALLEST


def test_a_limit_that_holds_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"in bytes is 10\b"):
        ScoreCache(tmp_path, limit=10)


def test_another_version_is_made_anew_and_said_once(
    cache: ScoreCache, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(cache_module, "__version__", "77.0")
    repeated = ScoreCache(cache.folder)
    assert not holds(repeated)
    repeated.keep("f", PAIRS, VALUES, IN_PASSAGES)
    assert holds(ScoreCache(cache.folder))
    (message,) = caplog.messages
    assert message.startswith(f"{cache.folder}: ") and f"mpir {mpir.__version__} " in message


def damage(path: Path, begin: int, content: bytes) -> None:
    with open(path, "r+b") as stream:
        stream.seek(begin)
        stream.write(content)


@pytest.mark.parametrize("content", [b"", b"no database", os.urandom(100_000)], ids=["empty", "text", "noise"])
def test_another_file_in_its_place_is_made_anew(
    cache: ScoreCache, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    cache.close()
    (cache.folder / FILE).write_bytes(content)
    repeated = ScoreCache(cache.folder)
    assert not holds(repeated)
    repeated.keep("f", PAIRS, VALUES, IN_PASSAGES)
    assert holds(ScoreCache(cache.folder))
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * bool(content)
    assert all("damaged" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("seed", range(30))
def test_bytes_that_flip_never_change_a_score(tmp_path: Path, seed: int, caplog: pytest.LogCaptureFixture) -> None:
    cache = ScoreCache(tmp_path)
    for section in range(3):
        cache.keep("f", of_part(section), np.full(200, section + 0.25), np.zeros(200, bool))
    cache.close()
    random = np.random.default_rng(seed)
    for begin in random.integers(0, file_size(tmp_path), 1 + seed):
        damage(tmp_path / FILE, int(begin), random.bytes(1))
    repeated = ScoreCache(tmp_path)
    for section in range(3):
        values, in_passages, result = repeated.look_up("f", of_part(section))
        assert set(values[result]) <= {section + 0.25}
        assert not in_passages.any()
    repeated.keep("f", of_part(5), np.ones(200), np.zeros(200, bool))
    assert repeated.look_up("f", of_part(5))[2].all()
    assert len(caplog.records) <= 1


def test_damage_found_by_two_caches_is_repaired_once(cache: ScoreCache, caplog: pytest.LogCaptureFixture) -> None:
    cache.close()
    damage(cache.folder / FILE, 0, b"\0" * 4096)
    first, second = ScoreCache(cache.folder), ScoreCache(cache.folder)
    first.keep("f", PAIRS, VALUES, IN_PASSAGES)
    assert holds(second)
    assert len(caplog.records) == 1


def test_a_folder_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file/inside"):
        with pytest.raises(OutputError, match=r"file.*: .*score cache"):
            ScoreCache(folder)
    (tmp_path / "odd" / FILE).mkdir(parents=True)
    with pytest.raises(OutputError, match="unable to open"):
        ScoreCache(tmp_path / "odd")


def test_a_full_disk_is_said_once_and_the_work_goes_on(tmp_path: Path) -> None:
    code = f"""
import logging, resource, sys
logging.basicConfig(format="%(message)s")
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
sys.argv = ["", {str(tmp_path)!r}, "0", "50"]
{KEEP_ON}
print(cache.look_up("f", [("question 1", "sentence 1")])[2].tolist())
"""
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    (warning,) = finished.stderr.splitlines()
    assert "the score cache cannot be used (" in warning
    assert "continuing without it" in warning
    assert finished.stdout.splitlines()[-2:] == ["49", "[False]"]
    assert ScoreCache(tmp_path).look_up("f", of_part(0))[2].all()


def test_only_digests_are_stored(cache: ScoreCache) -> None:
    cache.close()
    content = (cache.folder / FILE).read_bytes()
    assert b"aspirin" not in content
    with closing(sqlite3.connect(cache.folder / FILE)) as database:
        assert database.execute("SELECT format, mpir FROM made_by").fetchall() == [(1, mpir.__version__)]
    assert sorted(path.name for path in cache.folder.iterdir()) == ["scores.lock", "scores.sqlite"]


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "scores.sqlite")
    database.execute("CREATE TABLE patients (name TEXT)")
    database.execute("INSERT INTO patients VALUES ('a')")
    database.commit()
    database.close()
    with pytest.raises(OutputError, match=r"scores\.sqlite: .*another program"):
        ScoreCache(tmp_path)
    with sqlite3.connect(tmp_path / "scores.sqlite") as repeated:
        assert repeated.execute("SELECT * FROM patients").fetchall() == [("a",)]


VECTORS = {"a gene": np.array([[0.5, -0.25]], np.float32), "": np.array([[1, 2], [3, 4]], np.float32)}


def test_vectors_come_back_bit_for_bit_beside_scores(cache: ScoreCache) -> None:
    cache.keep_vectors("v", VECTORS)
    cache.close()
    repeated = ScoreCache(cache.folder)
    vectors = repeated.look_up_vectors("v", ["", "the heart", "a gene"])
    assert {text: array.tolist() for text, array in vectors.items()} == {t: a.tolist() for t, a in VECTORS.items()}
    assert holds(repeated)
    assert repeated.look_up_vectors("other model", list(VECTORS)) == {}


def test_vectors_share_the_limit_and_a_book_is_not_kept(tmp_path: Path) -> None:
    cache = ScoreCache(tmp_path, limit=4 * SMALLEST)
    for number in range(40):
        cache.keep_vectors("v", {f"{number} {i}": np.ones((1, 384), np.float32) for i in range(10)})
        cache.keep("f", of_part(number), np.ones(200), np.zeros(200, bool))
        assert file_size(tmp_path) <= 4 * SMALLEST
    assert len(cache.look_up_vectors("v", [f"39 {i}" for i in range(10)])) == 10
    assert not cache.look_up_vectors("v", [f"0 {i}" for i in range(10)])
    cache.keep_vectors("v", {"book": np.ones((100, 384), np.float32), "short": np.ones((1, 384), np.float32)})
    assert cache.look_up_vectors("v", ["book", "short"]).keys() == {"short"}


@pytest.mark.parametrize("content", [b"", b"x", struct.pack("<II", 0, 0), struct.pack("<IIf", 1, 0, 2.0)])
def test_a_damaged_vector_makes_the_cache_anew(
    cache: ScoreCache, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    cache.keep_vectors("v", VECTORS)
    cache.close()
    with closing(sqlite3.connect(cache.folder / FILE)) as database, database:
        database.execute("UPDATE scores SET record = ? WHERE length(record) > 13", (content,))
    assert ScoreCache(cache.folder).look_up_vectors("v", list(VECTORS)) == {}
    (message,) = caplog.messages
    assert message.startswith(f"{cache.folder}: ") and "(a vector fails its checksum)" in message

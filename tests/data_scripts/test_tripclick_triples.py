"""Triples from clicks: nothing judged is a negative, and the file is the same whatever was interrupted."""

import runpy
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from mpir.train.clicks import triples_of

SCRIPT = Path(__file__).parents[2] / "data_scripts/tripclick_triples.py"
CANDIDATES = [f"d{i}" for i in range(10)]
JUDGED = {"d2": 1, "d5": 0, "elsewhere": 2}


def collection(folder: Path, queries: int = 40) -> list[str]:
    """A run and clicks, made up: query n has n % 7 + 5 candidates, of which the third was clicked."""
    run = [f"q{q} Q0 d{q}-{i} {i + 1} {9 - i} x\n" for q in range(queries) for i in range(q % 7 + 5)]
    qrels = [f"q{q} 0 d{q}-2 1\nq{q} 0 d{q}-1 0\n" for q in range(queries)]
    (folder / "run").write_text("".join(run))
    (folder / "qrels").write_text("".join(qrels))
    return ["--run", str(folder / "run"), "--qrels", str(folder / "qrels")]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)


def negatives(found: Sequence[tuple[int, str, str]], positive: str) -> set[str]:
    return {negative for _, one, negative in found if one == positive}


def test_the_relevant_pool_is_out_whatever_its_grade() -> None:
    found = triples_of("q", CANDIDATES, JUDGED, seed=1)
    assert negatives(found, "d2") == negatives(found, "elsewhere") == set(CANDIDATES) - {"d2", "d5"}
    kept = triples_of("q", CANDIDATES, JUDGED, seed=1, keep_judged=True)
    assert negatives(kept, "d2") == set(CANDIDATES) - {"d2"}


def test_a_sample_is_without_replacement_and_by_the_seed_and_the_query_alone() -> None:
    found = triples_of("q", CANDIDATES, JUDGED, seed=1, negatives=3)
    assert len(found) == 6
    assert all(len(negatives(found, one)) == 3 for one in ("d2", "elsewhere"))
    assert found == triples_of("q", CANDIDATES, JUDGED, seed=1, negatives=3)
    assert found != triples_of("q", CANDIDATES, JUDGED, seed=2, negatives=3)
    assert [place for place, _, _ in found] != [place for place, _, _ in triples_of("p", CANDIDATES, JUDGED, seed=1)]


def test_the_collections_own_recipe_takes_what_stands_above_a_click() -> None:
    found = triples_of("q", CANDIDATES, JUDGED, seed=1, recipe="above-click")
    assert negatives(found, "d2") == {"d0", "d1"}
    assert negatives(found, "elsewhere") == set()  # no candidate


def test_an_interrupted_run_ends_in_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = collection(tmp_path)
    script = runpy.run_path(str(SCRIPT))
    script["_chunks"].__globals__["QUERIES_PER_CHUNK"] = 7
    output = tmp_path / "triples.tsv"

    def make() -> bytes:
        monkeypatch.setattr(sys, "argv", ["x", *options, "--output", str(output), "--negatives", "2"])
        assert script["main"]() == 0
        return output.read_bytes()

    whole = make()
    assert not list(tmp_path.glob("*.parts"))
    merge = script["heapq"].merge
    monkeypatch.setattr(script["heapq"], "merge", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    monkeypatch.setattr(sys, "argv", ["x", *options, "--output", str(output), "--negatives", "2"])
    output.unlink()
    assert script["main"]() == 130
    parts = sorted((tmp_path / "triples.tsv.parts").glob("*.tsv"))
    assert len(parts) == 6
    parts[3].unlink()  # as if it had been interrupted before this one
    monkeypatch.setattr(script["heapq"], "merge", merge)
    assert make() == whole
    rows = [line.split("\t") for line in whole.decode().splitlines()]
    assert len(rows) == 40 * 2
    assert all(positive.endswith("-2") and not negative.endswith(("-1", "-2")) for _, positive, negative in rows)
    assert [query for query, _, _ in rows] != sorted(query for query, _, _ in rows)  # shuffled


def test_so_many_are_kept_and_they_are_the_first_of_all(tmp_path: Path) -> None:
    options = collection(tmp_path)
    for number in ("1000", "5"):
        done = run(*options, "--output", str(tmp_path / number), "--number", number)
        assert done.returncode == 0, done.stderr
    few, all_of_them = ((tmp_path / name).read_text().splitlines() for name in ("5", "1000"))
    assert few == all_of_them[:5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--negatives", "0"], "--negatives is 0; expected at least 1"),
        (["--qrels", "{folder}/none"], "no document has a grade above 0; expected clicks"),
        (["--qrels", "{folder}/other"], "not one triple was found; do run and qrels belong to the same queries"),
        (["--run", "{folder}/twice"], r"twice:3: query a comes a second time; sort the run by query"),
    ],
)
def test_what_is_refused(options: list[str], message: str, tmp_path: Path) -> None:
    usual = collection(tmp_path)
    (tmp_path / "none").write_text("q1 0 d1 0\n")
    (tmp_path / "other").write_text("else 0 d1 1\n")
    (tmp_path / "twice").write_text("a Q0 d 1 2 x\nb Q0 d 1 2 x\na Q0 e 2 1 x\n")
    output = tmp_path / "triples.tsv"
    done = run(*usual, *(one.format(folder=tmp_path) for one in options), "--output", str(output))
    assert done.returncode == 2
    assert message in done.stderr
    assert not output.exists()


def test_parts_of_other_settings_are_not_taken_up(tmp_path: Path) -> None:
    options = [*collection(tmp_path), "--output", str(tmp_path / "t")]
    assert run(*options, "--qrels", str(tmp_path / "missing")).returncode == 2
    (tmp_path / "t.parts").mkdir()
    (tmp_path / "t.parts/manifest.json").write_text('{"settings": "others"}')
    done = run(*options)
    assert done.returncode == 2
    assert "holds parts of other settings or data; remove it" in done.stderr

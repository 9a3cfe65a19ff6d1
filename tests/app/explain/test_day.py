"""A day of screening in a browser: decisions by keys, a reload, kills, tomorrow's export, a colleague, other tools."""

from __future__ import annotations

import csv
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from mpir.app.cli import main
from mpir.app.explain.library import open_library
from tests.app.explain.conftest import saved
from tests.app.serve.running import PATIENCE, environment_of
from tests.programs import Fork

QUERY = "Does aspirin thin blood?"
WORDS = tuple("aspirin blood heart attack risk trial patients placebo gene cell kidney children".split())  # noqa: SIM905


def export(path: Path, numbers: list[int]) -> str:
    """An export without ids of papers, in which each record's words follow from its number."""
    rows = [[f"Paper {n} on {random.Random(n).choice(WORDS)}", text(n), str(n)] for n in numbers]
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([["Title", "Abstract", "Covidence #"], *rows])
    return str(path)


def text(number: int) -> str:
    return " ".join([*random.Random(number).choices(WORDS, k=8), f"in {number} patients."]).capitalize()


@pytest.fixture
def explain(tiny_bundle: Path, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Start `mpir explain` with these words: a context with the address of its page, killed at the end."""

    @contextmanager
    def start(*words: str) -> Iterator[str]:
        log = tmp_path / f"log{time.monotonic_ns()}"
        log.touch()
        options = ["--no-browser", "--set", "serve.warmup=false", "--bundle", str(tiny_bundle)]
        process = Fork(["explain", *words, *options], log=log, environment=environment_of())
        try:
            yield address(process, log)
        finally:
            process.kill()
            process.wait()

    yield start


def address(process: Fork, log: Path) -> str:
    begin = time.monotonic()
    while "the page is on " not in log.read_text(encoding="utf-8"):
        assert process.poll() is None and time.monotonic() - begin < PATIENCE, log.read_text(encoding="utf-8")
        time.sleep(0.1)
    return log.read_text(encoding="utf-8").split("the page is on ")[1].split()[0]


def asked(page: Any, url: str, query: str = QUERY) -> None:
    page.goto(url)
    page.get_by_label("Question", exact=True).fill(query)
    page.get_by_role("button", name="Rank", exact=True).click()
    page.get_by_text("documents ranked.").wait_for(timeout=PATIENCE * 1000)
    page.locator("h1").click()


def decided(page: Any, count: int, seen: dict[str, str], review: Path) -> None:
    """Decide by keys on what is shown, note what was decided on which title, and wait until the review has it."""
    for _ in range(count):
        title = page.locator("article h3").inner_text()
        assert title not in seen
        key = "ime"[len(seen) % 3]
        seen[title] = {"i": "included", "m": "maybe", "e": "excluded"}[key]
        page.keyboard.press(key)
        page.keyboard.press("n")
    begin = time.monotonic()
    while in_file(review) < len(seen):
        assert time.monotonic() - begin < PATIENCE, page.locator("#kept").inner_text()
        page.wait_for_timeout(100)


def in_file(review: Path) -> int:
    """The number of records with a decision in a review's file."""
    with closing(sqlite3.connect(review)) as database:
        return int(database.execute("SELECT count(DISTINCT record) FROM decisions").fetchone()[0])


def decisions_of(page: Any) -> dict[str, str]:
    """The decisions by title, as the page exports them."""
    rows = csv.DictReader(saved(page, "CSV").splitlines())
    return {row["title"]: row["decision"] for row in rows if row["decision"] != "undecided"}


@pytest.mark.slow
def test_no_decision_of_a_day_is_lost_or_moved(chromium: Any, explain: Any, tmp_path: Path) -> None:
    page, seen = chromium.new_context().new_page(), dict[str, str]()
    page.set_default_timeout(PATIENCE * 1000)
    file = export(tmp_path / "search.csv", list(range(80)))
    with explain(file, "--reviewer", "ada") as url:
        asked(page, url)
        assert page.locator("article .place").inner_text().startswith("Rank 1 of 80")
        decided(page, 25, seen, tmp_path / "search.mpir")
        page.reload()
        asked(page, url, QUERY.lower().rstrip("?"))
        assert decisions_of(page) == seen
        page.locator("h1").click()
        decided(page, 10, seen, tmp_path / "search.mpir")
    with explain(file, "--reviewer", "ada") as url:  # after a kill
        asked(page, url)
        assert decisions_of(page) == seen
        page.locator("h1").click()
        decided(page, 15, seen, tmp_path / "search.mpir")
    tomorrow = export(tmp_path / "search.csv", [101, 100, *range(79, -1, -1), 102])
    with explain(tomorrow, "--reviewer", "ada") as url:
        asked(page, url, "What is a risk of children?")
        assert decisions_of(page) == seen
        page.locator("h1").click()
        decided(page, 10, seen, tmp_path / "search.mpir")
        assert decisions_of(page) == seen

    other = open_library([export(tmp_path / "theirs.csv", list(range(40, 120)))], "grace")
    titles = {document.title: document.id for document in other.documents}
    theirs = {title: n % 3 for n, title in enumerate(titles)}
    other.add(
        {"query": "", "id": titles[title], "grade": grade, "note": "", "time": 1} for title, grade in theirs.items()
    )
    both = str(tmp_path / "both.mpir")
    assert main(["merge", both.replace("both", "theirs"), both.replace("both", "search"), "--output", both]) == 0
    with explain(both, "--reviewer", "ada") as url:
        asked(page, url)
        assert decisions_of(page) == seen
        assert page.locator("#tally").inner_text().startswith("60 decided, 60 to go")
    merged = open_library([both], "grace")
    names = {document.id: document.title for document in merged.documents}
    assert {names[item["id"]]: item["grade"] for item in merged.decisions()} == theirs

    rayyan = exported(both, "rayyan", tmp_path / "rayyan.csv")
    assert grades_of(rayyan, "grace") == theirs
    for files, reviewer in ((rayyan, "ada"), (exported(both, "covidence", tmp_path / "to.ris"), "Covidence")):
        with explain(*files, "--reviewer", reviewer) as url:
            asked(page, url)
            assert decisions_of(page) == seen
        assert {title: WORD[grade] for title, grade in grades_of(files, reviewer).items()} == seen
    page.context.close()


WORD = {2: "included", 1: "maybe", 0: "excluded"}


def exported(review: str, form: str, output: Path) -> list[str]:
    """The files of a form with the decisions of a review."""
    assert main(["merge", review, "--format", form, "--reviewer", "ada", "--output", str(output)]) == 0
    return sorted(map(str, output.parent.glob(f"{output.stem}*{output.suffix}")))


def grades_of(files: list[str], reviewer: str) -> dict[str, int]:
    """What a reviewer decided in files, by title."""
    library = open_library(files, reviewer)
    titles = {document.id: document.title for document in library.documents}
    return {titles[item["id"]]: item["grade"] for item in library.decisions()}

"""Write the pictures of the guide for reviewers: `python docs/pictures.py`.

It needs the extra `browser` and a Chromium. The records are the shipped sample's; their years and types are invented.
"""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image
from playwright.sync_api import Locator, Page, sync_playwright

IMAGES = Path(__file__).parent / "images"
QUESTION = "Should healthy older people take aspirin to prevent a first heart attack?"
TYPES = ("Journal Article", "Randomized Controlled Trial", "Review", "Observational Study", "Meta-Analysis")
RECORDS = slice(64, 112)
"""Those about the question's subject, and others."""
COLOURS = 48
"""Colours of a picture; more would make its file larger, not easier to read."""
KEYS = "iemiieeme"
PATIENCE = 900_000
"""Milliseconds to wait for a page, or for the models on a busy machine."""
TO_TOP = "document.querySelectorAll('*').forEach((element) => element.scrollTo(0, 0))"


def write_references(path: Path) -> None:
    """Write some of the sample's documents as RIS, with invented years and types."""
    lines = (files("mpir") / "sample/documents.jsonl").read_text(encoding="utf-8").splitlines()[RECORDS]
    records = [
        f"TY  - JOUR\nAN  - {record['id']}\nTI  - {record['title']}\nPY  - {1996 + number % 29}\nM3  - {name}\n"
        f"AB  - {record['abstract']}\nER  - \n\n"
        for number, (record, name) in enumerate(zip(map(json.loads, lines), cycle(TYPES), strict=False))
    ]
    path.write_text("".join(records), encoding="utf-8")


@contextmanager
def serving(path: Path) -> Iterator[str]:
    """Run `mpir explain` on a file, and give the page's address."""
    command = [sys.executable, "-m", "mpir", "explain", str(path), "--reviewer", "ada", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        try:
            yield next(
                line.split("the page is on ")[1].split()[0] for line in process.stdout if "the page is on" in line
            )
        finally:
            process.kill()


def ask(page: Page, url: str) -> None:
    """Ask the question, and wait until all documents are read."""
    page.set_default_timeout(PATIENCE)
    page.goto(url)
    page.get_by_label("Question", exact=True).fill(QUESTION)
    page.get_by_role("button", name="Rank", exact=True).click()
    page.get_by_text("documents ranked.").wait_for()
    page.locator("h1").click()


def save(view: Page | Locator, name: str) -> None:
    """Save what a window or an element shows, in few colours."""
    picture = Image.open(io.BytesIO(view.screenshot())).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    picture.save(IMAGES / name, optimize=True)


def take_pictures(browser: Any, url: str) -> None:
    """Take the pictures of a day: decisions by keys on a desk, the next ones on a telephone, and the exports."""
    page = browser.new_page(viewport={"width": 1120, "height": 700})
    ask(page, url)
    for key in KEYS:
        page.keyboard.press(key)
        page.keyboard.press("n")
    page.locator("#list .title").first.click()
    page.evaluate(TO_TOP)
    save(page, "screening.png")
    page.locator("#saving").evaluate("(it) => { it.open = true; }")
    page.evaluate(TO_TOP)
    save(page.locator("#saving"), "screening-exports.png")
    narrow = browser.new_page(viewport={"width": 390, "height": 720})
    ask(narrow, url)
    narrow.locator("#list .title").nth(1).click()
    save(narrow, "screening-telephone.png")


def main() -> None:
    """Write the pictures."""
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        references = Path(folder) / "search.ris"
        write_references(references)
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with serving(references) as url:
            take_pictures(browser, url)
        browser.close()


if __name__ == "__main__":
    main()

"""Pictures of the explain page: a question of the sample, ranked by the default bundle, in headless Chromium.

    python experiments/explain_pictures.py --output docs/images

Those of docs/explain.md. It needs the extra `browser`, and a Chromium of the system's.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import mpir
from mpir.cli import guarded
from mpir.cli.number_options import positive
from mpir.corpora import read_corpus
from mpir.errors import InputError
from mpir.explain.page import page_data, page_with
from mpir.extras import needs
from mpir.io.write import check_folder
from mpir.retrieve import MemoryIndex
from mpir.text import Document

QUESTION = "What is the antidote for paracetamol overdose?"


class View(NamedTuple):
    """How a page is looked at: the window in pixels, the colours, and whether the page is seen to its end."""

    width: int
    height: int
    scheme: str
    whole: bool


VIEWS = {"explain": View(1200, 800, "light", True), "explain-narrow": View(360, 780, "dark", False)}


def main() -> int:
    """Rank, open the page, take its pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", default="default")
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument("--candidates", type=positive, default=5, metavar="N", help="best by BM25 (default: 5)")
    parser.add_argument("--chromium", default="/usr/bin/chromium", metavar="PATH", help="default: Debian's")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    arguments = parser.parse_args()
    return guarded("explain_pictures", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """All pictures. Raises InputError where there is no Chromium, OutputError where no picture can be written."""
    check_folder(arguments.output)
    if not Path(arguments.chromium).is_file():
        raise InputError(f"{arguments.chromium} is not there; install Chromium, or name it with --chromium.")
    documents = candidates(arguments.question, arguments.candidates)
    ranking = mpir.rerank(arguments.question, documents, bundle=arguments.bundle)
    arguments.output.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(page_with(page_data(ranking, documents)), encoding="utf-8")
        photograph(arguments.chromium, page, arguments.output)
    return 0


def candidates(question: str, count: int) -> list[Document]:
    """The sample's best documents by BM25, with their scores."""
    documents = list(read_corpus([Path(mpir.__file__).parent / "sample/documents.jsonl"]))
    scores = MemoryIndex([document.text for document in documents]).scores(question)
    best = (-scores).argsort(kind="stable")[:count]
    return [Document(documents[i].id, documents[i].title, documents[i].abstract, float(scores[i])) for i in best]


def photograph(chromium: str, page: Path, output: Path) -> None:
    """Every view of a page, as OUTPUT/NAME.png."""
    with needs("browser", "the pictures"):
        from playwright.sync_api import sync_playwright
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, view in VIEWS.items():
            size = {"width": view.width, "height": view.height}
            tab = browser.new_page(color_scheme=view.scheme, viewport=size)
            tab.goto(page.as_uri())
            compare(tab)
            tab.screenshot(path=output / f"{name}.png", full_page=view.whole)
        browser.close()


def compare(tab: Any) -> None:
    """The best two documents side by side, with the shares of the best."""
    tab.locator("#list details summary").first.click()
    tab.locator("#list input[type=checkbox]").nth(1).check()
    tab.evaluate("document.activeElement.blur(); scrollTo(0, 0)")


if __name__ == "__main__":
    sys.exit(main())

"""Rankings of a few made-up documents by perspectives without a model, and a browser where there is one."""

import shutil
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import uvicorn

from mpir import Document, Perspective, Reranker, Weights
from mpir.app.explain.page import page_data
from mpir.app.serve.app import create_app
from mpir.app.serve.run import listen, url_of
from mpir.app.serve.service import Service
from mpir.reranking.ranking import Ranking

QUERY = "Which gene is mutated in cystic fibrosis?"
DOCUMENTS = [
    Document(
        "11", "Gene therapy", "Which patients should be treated? Adults were enrolled. Results are awaited.", score=9.5
    ),
    Document(
        "12",
        "",
        "💊 β-Cells: </script> is text. Mutations of CFTR cause cystic fibrosis. Carriers are well.",
        score=7.25,
    ),
    Document("13", "Pancreatic cancer", "Many a gene is mutated.", score=8.0),
    Document("14", "", "", score=8.0),
    Document("15", "A title alone", "", score=1.0),
]


class Arbitrary(Perspective):
    """Scores that mean nothing but are the same in every run."""

    def __init__(self, name: str) -> None:
        self.name = name

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> npt.NDArray[np.float64]:
        return np.array([zlib.crc32(f"{self.name} {sentence}".encode()) % 997 / 500 - 0.4 for _, sentence in pairs])


def arbitrary_columns() -> list[Perspective]:
    """A column of each kind: evidence, one that is never rescaled, and one that only orders sentences."""
    perspectives = [Arbitrary("relevance"), Arbitrary("sts"), Arbitrary("order")]
    perspectives[1].signed, perspectives[2].role = True, "ordering"
    return list(perspectives)


@pytest.fixture
def ranked() -> Callable[..., tuple[Ranking, dict[str, Any]]]:
    """A ranking and the page's data, with these weights."""

    def make(weights: Weights | None = None) -> tuple[Ranking, dict[str, Any]]:
        ranking = Reranker(perspectives=arbitrary_columns(), weights=weights).rerank(QUERY, DOCUMENTS)
        return ranking, page_data(ranking, DOCUMENTS)

    return make


def saved(page: Any, form: str) -> str:
    """The file that the page saves in a form."""
    page.locator("#saving").evaluate("(it) => { it.open = true; }")
    page.locator("#form").select_option(form)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save", exact=True).click()
    return Path(download.value.path()).read_text(encoding="utf-8-sig")


@contextmanager
def serving(service: Service) -> Iterator[tuple[str, uvicorn.Server]]:
    """The address of a server in a thread of this process, and the server."""
    with listen("127.0.0.1", 0) as listening:
        server = uvicorn.Server(uvicorn.Config(create_app(service), log_config=None))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield url_of(listening), server
        finally:
            server.should_exit = True
            thread.join()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests in a browser, which `make browser` runs."""
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A headless Chromium of the system's; tests that want one are skipped where there is none.

    Playwright's event loop runs until the fixture ends, and no test could use asyncio.run beside it.
    """
    playwright = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("no chromium; install it, and playwright, to run this")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()

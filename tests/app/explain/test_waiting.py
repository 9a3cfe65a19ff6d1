"""Waiting for a ranking: progress is shown, it can be cancelled, and a server that goes away takes nothing along."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import uvicorn

from mpir import Reranker
from mpir.app.serve.service import Service
from mpir.app.serve.settings import Settings
from tests.app.explain.conftest import Arbitrary, serving

QUERY, COUNT, FIRST = "Does aspirin thin blood?", 25, 10
"""A question, its documents, and how many of them are read before the gate closes."""


class Gated(Arbitrary):
    """Scores that wait for the gate to open once more than the first ten documents, of a sentence each, are read."""

    def __init__(self) -> None:
        super().__init__("relevance")
        self.gate, self.read_before = threading.Event(), set[str]()

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **options: Any) -> npt.NDArray[np.float64]:
        self.read_before |= {sentence for question, sentence in pairs if question == QUERY}  # another one warms up
        if len(self.read_before) > FIRST:
            assert self.gate.wait(60)
        return super().score_pairs(pairs, **options)


@pytest.fixture
def waiting(chromium: Any, tmp_path: Path) -> Iterator[tuple[Any, Gated, uvicorn.Server]]:
    """A page whose ranking waits at the gate after the first ten documents, the gate, and the server."""
    gated = Gated()
    service = Service(Reranker(perspectives=[gated], cache=tmp_path / "cache"), Settings(name="words"), {})
    with serving(service) as (url, server):
        page = chromium.new_page()
        page.goto(f"{url}/explain")
        page.get_by_label("Question").fill(QUERY)
        texts = [f"Aspirin thins the blood of {number} patients." for number in range(COUNT)]
        page.get_by_label("Documents, one in a paragraph").fill("\n\n".join(texts))
        page.get_by_role("button", name="Rank", exact=True).click()
        try:
            page.get_by_text(f"{FIRST} of {COUNT} documents read").wait_for()
            yield page, gated, server
        finally:
            gated.gate.set()
            page.close()


def test_a_ranking_is_cancelled_and_taken_up_again(waiting: tuple[Any, Gated, uvicorn.Server]) -> None:
    page, gated, _ = waiting
    assert page.locator("#list .unread").count() == 20 - FIRST  # of the 20 cards that are shown at first
    page.locator("#list .include").first.click()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text(f"Cancelled. {FIRST} documents are ranked; the others stand as the search ranked them.").wait_for()
    assert not page.locator("#progress").is_visible()
    gated.gate.set()
    page.get_by_text("Ask a question").click()
    page.get_by_role("button", name="Rank", exact=True).click()
    page.get_by_text(f"{COUNT} documents ranked.").wait_for()
    assert page.locator("#list .unread").count() == 0
    assert page.locator("#tally").inner_text().startswith(f"1 decided, {COUNT - 1} to go")


def test_a_server_that_goes_away_leaves_what_was_read(waiting: tuple[Any, Gated, uvicorn.Server]) -> None:
    page, gated, server = waiting
    page.locator("#list .include").first.click()
    server.should_exit = True
    for connection in list(server.server_state.connections):
        connection.loop.call_soon_threadsafe(connection.transport.abort)  # type: ignore[union-attr]
    gated.gate.set()
    page.get_by_text("No complete ranking: ").wait_for()
    assert f"{FIRST} documents are ranked; the others stand" in page.locator("#status").inner_text()
    page.locator("#list .exclude").nth(1).click()
    assert page.locator("#tally").inner_text() == f"2 decided, {COUNT - 2} to go: 1 included, 0 maybe, 1 excluded"
    page.get_by_text("Ask a question").click()
    page.get_by_role("button", name="Rank", exact=True).click()
    page.get_by_text("the server does not answer; start mpir again.").wait_for()


def ranks_shown(page: Any) -> list[str]:
    return [text.partition(" of ")[0] for text in page.locator("article .place").all_inner_texts()]


def test_a_keyboard_reviewer_begins_at_rank_1_and_goes_on_after_each_ranking(
    waiting: tuple[Any, Gated, uvicorn.Server],
) -> None:
    page, gated, _ = waiting
    gated.gate.set()
    page.get_by_text(f"{COUNT} documents ranked.").wait_for()
    page.locator("body").click(position={"x": 2, "y": 2})
    for rank in range(1, 8):
        assert ranks_shown(page) == [f"Rank {rank}"]
        page.keyboard.press("i" if rank % 2 else "e")
        page.keyboard.press("n")
    page.get_by_text("Ask a question").click()
    page.get_by_role("button", name="Rank", exact=True).click()
    page.get_by_text(f"{COUNT} documents ranked.").wait_for()
    assert ranks_shown(page) == ["Rank 8"]
    page.get_by_label("Rank what is undecided anew").check()
    page.locator("h1").click()
    for _ in range(3):
        page.keyboard.press("i")
        page.keyboard.press("n")
    page.wait_for_function("document.querySelector('#tally').textContent.startsWith('10 decided')")
    page.keyboard.press("e")
    assert page.locator("#tally").inner_text().startswith("11 decided")  # the tenth led to a text that was undecided


def test_no_key_grades_a_text_that_may_change_while_scores_arrive(waiting: tuple[Any, Gated, uvicorn.Server]) -> None:
    page, gated, _ = waiting
    page.locator("body").click(position={"x": 2, "y": 2})
    shown = page.locator("article h3").inner_text()
    page.keyboard.press("i")
    assert "Not graded" in page.locator("#status").inner_text()
    gated.gate.set()
    page.get_by_text(f"{COUNT} documents ranked.").wait_for()
    assert page.locator("article h3").inner_text() == shown  # which was chosen by the key
    page.keyboard.press("i")
    assert page.locator("#tally").inner_text().startswith("1 decided")

"""Eight threads search PubMed and Europe PMC at once: each gets the documents and reports of one thread alone."""

from collections.abc import Callable

import pytest

from mpir.search.pubmed import Settings, search
from mpir.search.pubmed.results import SearchResult
from tests.search.pubmed.conftest import DRUGS
from tests.search.pubmed.stand_in import Server
from tests.threads import from_threads

Make = Callable[..., Settings]
SEARCHES = 32


def query(number: int) -> str:
    return f"Does {DRUGS[number % len(DRUGS)]} slow pulmonary fibrosis in {number % 7} patients?"


@pytest.mark.slow
@pytest.mark.parametrize("cached", [False, True])
def test_threads_that_search_at_once_get_the_results_of_one_thread(settings: Make, cached: bool) -> None:
    alone = settings(cache=False, timeout=10.0)
    shared = settings(timeout=10.0) if cached else alone

    def answer(number: int, chosen: Settings = shared) -> SearchResult:
        return search(query(number), 3 + number % 5, settings=chosen)

    expected = [answer(number, alone) for number in range(SEARCHES)]
    for _ in ("cold", "warm"):
        assert list(from_threads(answer, range(SEARCHES))) == expected


def test_faults_that_threads_meet_cost_attempts_and_no_documents(server: Server, settings: Make) -> None:
    chosen = settings(cache=False, timeout=10.0)

    def answer(number: int) -> SearchResult:
        return search(query(number), 4, settings=chosen)

    expected = list(map(answer, range(SEARCHES)))
    sent = len(server.requests)
    server.faults = [("", "503"), ("esearch.fcgi", "truncated"), ("efetch.fcgi", "cut")]  # one fewer than attempts
    assert list(from_threads(answer, range(SEARCHES))) == expected
    assert len(server.requests) == 2 * sent + 3

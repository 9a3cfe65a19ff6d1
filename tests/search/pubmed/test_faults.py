"""Every fault of a service ends in one sentence or a complete answer, never in half an answer without saying so."""

import os
import random
import time
from collections.abc import Callable

import pytest

from mpir.errors import MpirError, ServiceError
from mpir.search.pubmed import Settings, search
from tests.search.pubmed.stand_in import BODY_FAULTS, STATUS_FAULTS, Server

QUERY = "Which drugs slow idiopathic pulmonary fibrosis?"
PATHS = ("esearch.fcgi", "efetch.fcgi", "search")
FAULTS = (*BODY_FAULTS, *STATUS_FAULTS)
NUMBER = int(os.environ.get("MPIR_FAULTS", "25"))
"""Random mixtures of faults; `make faults` tries 200."""
Make = Callable[..., Settings]


def check(server: Server, settings: Make, sources: list[str] | None, k: int = 20) -> None:
    """Search twice, with the faults and without: the first answer is the second, or has a sentence about its lack."""
    faults = list(server.faults)
    answer, sentences = None, []
    try:
        answer = search(QUERY, k, sources=sources, settings=settings(cache=False))
        sentences = list(answer.warnings)
    except MpirError as error:
        sentences = [str(error)]
    server.faults.clear()
    complete = search(QUERY, k, sources=sources, settings=settings(cache=False))
    assert len(complete) == k
    assert complete.warnings == ()
    texts = None if answer is None else [(document.id, document.title) for document in answer]
    if texts != [(document.id, document.title) for document in complete]:
        assert sentences, faults
    for sentence in sentences:
        assert sentence.endswith("."), sentence
        assert "\n" not in sentence and "Traceback" not in sentence and "pulmonary" not in sentence, sentence


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("path", PATHS)
def test_a_fault_that_passes_is_not_noticed(server: Server, settings: Make, path: str, fault: str) -> None:
    server.faults = [(path, fault)]
    check(server, settings, ["europepmc"] if path == "search" else ["pubmed"])


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "slow"])
def test_a_fault_that_stays_is_said(server: Server, settings: Make, fault: str) -> None:
    for path in PATHS:
        server.faults = [(path, fault)] * 30
        check(server, settings, ["europepmc"] if path == "search" else ["pubmed"])


def test_one_service_stands_in_for_another(server: Server, settings: Make) -> None:
    server.faults = [("efetch.fcgi", "500")] * 30
    result = search(QUERY, 20, settings=settings(cache=False))
    assert len(result) == 20
    assert [warning for warning in result.warnings if "status 500" in warning and "from Europe PMC only" in warning]


def test_both_services_down_is_one_error(server: Server, settings: Make) -> None:
    server.faults = [("", "503")] * 60
    both = r"^PubMed \S+ .*Europe .*\(status 503, 4 attempts\)"
    with pytest.raises(ServiceError, match=both):
        search(QUERY, 20, settings=settings(cache=False))


def test_records_that_do_not_come_are_named(server: Server, settings: Make) -> None:
    tagged = "fibrosis[tiab]"
    server.faults = [("esearch.fcgi", "missing ids")]
    result = search(QUERY, 20, own_query=tagged, settings=settings(cache=False))
    assert len(result) == 10
    assert any("listed 10 records that it did not deliver" in warning for warning in result.warnings)


def test_a_cursor_that_never_ends(server: Server, settings: Make) -> None:
    server.faults = [("search", "endless")] * 500
    result = search(QUERY, 20, own_query="TITLE_ABS:fibrosis", settings=settings(cache=False))
    assert len(result) == 1
    assert "Europe PMC listed only 1 of the 20 records that it counts for a search." in result.warnings


def test_a_search_ends_at_its_deadline(server: Server, settings: Make) -> None:
    server.faults = [("", "slow")] * 500
    begin = time.monotonic()
    with pytest.raises(ServiceError, match=r"within 0\.8 s|no usable answer"):
        search(QUERY, 40, settings=settings(cache=False, seconds=0.8))
    assert time.monotonic() - begin < 60  # seconds, on a busy machine


def test_random_mixtures_of_faults(server: Server, settings: Make) -> None:
    draw = random.Random(int(os.environ.get("MPIR_FAULTS_SEED", "7")))
    quick = [fault for fault in FAULTS if fault != "slow"]
    for _ in range(NUMBER):
        pool = FAULTS if NUMBER > 25 else quick
        server.faults = [(draw.choice(("", *PATHS)), draw.choice(pool)) for _ in range(draw.randint(1, 24))]
        check(server, settings, draw.choice([None, ["pubmed"], ["europepmc"]]), k=draw.choice([5, 20, 40]))

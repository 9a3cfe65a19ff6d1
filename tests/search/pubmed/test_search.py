"""`search` against the stand-in: plan, joining, limits, the user's own syntax, manners and the cache."""

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mpir.errors import InputError, ServiceError
from mpir.search.pubmed import Settings, europepmc, search
from mpir.search.pubmed.eutils import PubMed
from mpir.search.pubmed.transport import Client, KeptAnswers
from tests.search.pubmed.stand_in import Server

QUERY = "Which drugs slow idiopathic pulmonary fibrosis?"
Make = Callable[..., Settings]


def test_both_services_are_searched_and_papers_joined(settings: Make) -> None:
    result = search(QUERY, 30, settings=settings())
    assert len(result) == 30
    assert len({document.id for document in result}) == 30
    assert {document.metadata["source"] for document in result} == {"PubMed, Europe PMC"}
    assert {sent.source for sent in result.searches} == {"PubMed", "Europe PMC"}
    first = result[0]
    assert first.metadata["url"] == f"https://pubmed.ncbi.nlm.nih.gov/{first.id}/"
    assert first.metadata["authors"] == ["Doe, Jo"]
    assert result.warnings == ()


def test_searches_go_from_strict_to_loose_until_there_are_enough(server: Server, settings: Make) -> None:
    result = search("espresso heartbeat nintedanib", 5, sources=["pubmed"], settings=settings())
    hits = [(sent.query, sent.hits, sent.new) for sent in result.searches]
    assert hits[0] == ("espresso heartbeat nintedanib", 0, 0)
    assert sum(new for _, _, new in hits) == 5 == len(result)
    assert [name for name, _, _ in server.requests] == ["esearch.fcgi"] * len(hits) + ["efetch.fcgi"]


def test_text_of_europe_pmc_has_no_markup(settings: Make) -> None:
    result = search(QUERY, 3, sources=["europepmc"], settings=settings())
    assert result[0].abstract.startswith("BACKGROUND: Background: ")
    assert result[0].metadata["source"] == "Europe PMC"


def test_pages_of_europe_pmc_follow_each_other(server: Server, settings: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(europepmc, "PAGE", 15)
    tagged = "TITLE_ABS:fibrosis"
    complete = search(QUERY, 40, own_query=tagged, settings=settings())
    assert len({document.id for document in complete}) == 40
    assert len([name for name, _, _ in server.requests if name == "search"]) >= 3
    server.faults = [("search", "")] * (len(server.requests) - 1) + [("search", "duplicates")]  # the last page
    cut = search(QUERY, 40, own_query=tagged, settings=settings(cache=False))
    assert len(cut) == 30
    assert "Europe PMC listed only 30 of the 40 records that it counts for a search." in cut.warnings


def test_pubmed_is_asked_for_at_most_9999(server: Server, settings: Make) -> None:
    search("fibrosis", 10_000, sources=["pubmed"], settings=settings())
    assert {values["retmax"] for name, values, _ in server.requests if name == "esearch.fcgi"} == {"9999"}


def test_a_search_that_pubmed_restricts_says_so_and_is_kept(server: Server, settings: Make) -> None:
    server.faults = [("esearch.fcgi", "restricted")]
    tagged = {"own_query": "fibrosis[tiab]", "settings": settings()}
    result = search(QUERY, 5, **tagged)  # type: ignore[arg-type]
    assert "PubMed on a search: Restrictions achieved. start and count adjusted to 0, 2." in result.warnings
    assert search(QUERY, 5, **tagged) == result  # type: ignore[arg-type]
    assert len(server.requests) == 2


def test_merged_and_deleted_pmids_are_named(server: Server, settings: Make) -> None:
    tagged = {"own_query": "fibrosis[tiab]", "settings": settings(cache=False)}
    merged, deleted, *others = (document.id for document in search(QUERY, 5, **tagged))  # type: ignore[arg-type]
    server.faults = [("efetch.fcgi", "merged"), ("efetch.fcgi", "no records"), ("efetch.fcgi", "no records")]
    result = search(QUERY, 5, **tagged)  # type: ignore[arg-type]
    assert [document.id for document in result] == ["77777777", *others]
    assert f"PubMed has merged records that it listed into others: PMIDs {merged} (now 77777777)." in result.warnings
    assert any(f"did not deliver, so they are left out: PMIDs {deleted}." in warning for warning in result.warnings)


def test_a_search_of_words_in_no_record_is_empty_and_names_them(settings: Make) -> None:
    result = search(QUERY, 5, own_query="zyxwv", sources=["pubmed"], settings=settings())
    assert (len(result), result.warnings) == (0, ("PubMed on the query: not found: zyxwv.",))


def test_preprints_are_a_choice(settings: Make) -> None:
    without = search("nintedanib mice", 50, settings=settings())
    preprints = search("nintedanib mice", 50, preprints=True, settings=settings())
    assert "PPR7" not in {document.id for document in without}
    preprint = next(document for document in preprints if document.id == "PPR7")
    assert preprint.metadata["url"] == "https://europepmc.org/article/PPR/PPR7"


def test_limits_reach_both_services(settings: Make) -> None:
    result = search(QUERY, 50, start="2005", end="2009", types=["clinical trial"], settings=settings())
    assert {int(document.metadata["year"]) for document in result} == {2005, 2007, 2009}


def test_a_query_in_syntax_goes_as_it_is_to_the_service_that_reads_it(server: Server, settings: Make) -> None:
    tagged = "nintedanib[tiab] AND fibrosis[tiab]"
    result = search(QUERY, 50, own_query=tagged, settings=settings())
    assert {values["term"] for name, values, _ in server.requests if name == "esearch.fcgi"} == {tagged}
    assert "search" not in {name for name, _, _ in server.requests}
    assert any("Europe PMC was not asked" in warning for warning in result.warnings)
    assert len(result) == 8


def test_unbalanced_quotes_bring_pubmeds_own_words(settings: Make) -> None:
    with pytest.raises(InputError, match=r"rejects .*: Unbalanced quotes"):
        search(QUERY, own_query='"nintedanib[tiab]', settings=settings())


@pytest.mark.parametrize(
    ("tagged", "odd"), [("(zebra[tiab]", "round brackets"), ("TITLE:(zebra]", "brackets and square")]
)
def test_a_query_without_balance_that_finds_nothing(server: Server, settings: Make, tagged: str, odd: str) -> None:
    server.faults = [("", "nothing")]
    with pytest.raises(InputError, match=f"no results, .*{odd}"):
        search(QUERY, own_query=tagged, settings=settings())


def test_requests_name_the_tool_and_the_address(server: Server, settings: Make) -> None:
    search(QUERY, 5, settings=settings(email="me@example.org", key="0123456789abcdef"))
    for name, values, _ in server.requests:
        assert values["email"] == "me@example.org"
        assert name == "search" or (values["tool"], values["api_key"]) == ("mpir", "0123456789abcdef")


def test_long_lists_of_ids_are_posted(server: Server, settings: Make) -> None:
    client = Client(settings())
    PubMed(client).fetch([str(10_000_000 + number) for number in range(300)], lambda _: None)
    PubMed(client).search("fibrosis", 5)
    assert [(name, method) for name, _, method in server.requests] == [
        *[("efetch.fcgi", "POST"), ("efetch.fcgi", "GET")] * 2,  # 200 and 100 ids, then once more as they are missing
        ("esearch.fcgi", "GET"),
    ]


def test_a_wrong_key_is_one_sentence_without_the_key(settings: Make) -> None:
    with pytest.raises(InputError, match=r"\$NCBI_API_KEY: .*this key") as caught:
        search(QUERY, settings=settings(key="f00ba4"))
    assert "f00ba4" not in str(caught.value)
    assert "f00ba4" not in repr(settings(key="f00ba4"))


def test_a_page_that_repeats_the_request_is_no_wrong_key(server: Server, settings: Make) -> None:
    server.faults = [("", "echo")] * 9
    with pytest.raises(ServiceError, match=r"\(status 400\); .*pubmed\.eutils"):
        search(QUERY, sources=["pubmed"], settings=settings(key="0123456789abcdef"))


def test_answers_are_kept_for_a_day(server: Server, settings: Make, tmp_path: Path) -> None:
    first = search(QUERY, 30, settings=settings())
    number = len(server.requests)
    assert search(QUERY, 30, settings=settings()) == first
    assert len(server.requests) == number
    search(QUERY, 30, settings=settings(refresh=True))
    assert len(server.requests) == 2 * number
    for path in (tmp_path / "answers").iterdir():
        path.write_bytes(path.read_bytes()[:-1])  # damaged
    search(QUERY, 30, settings=settings())
    assert len(server.requests) == 3 * number
    for path in (tmp_path / "answers").iterdir():
        os.utime(path, (time.time() - 90_000,) * 2)
    search(QUERY, 30, settings=settings())
    assert len(server.requests) == 4 * number


def test_kept_answers_have_a_limit(tmp_path: Path) -> None:
    answers = KeptAnswers(tmp_path / "answers", limit=250)
    for number in range(5):
        answers.keep(f"key{number}", bytes(60))
        os.utime(tmp_path / f"answers/key{number}.answer", (time.time() - 10 + number,) * 2)
    assert [answers.get(f"key{number}") is None for number in range(5)] == [True, True, True, False, False]
    answers.keep("large", bytes(300))
    assert answers.get("large") is None


def test_too_many_requests_are_sent_again(server: Server, settings: Make) -> None:
    server.rate = 3
    settings_with_patience = settings(back_off=0.3)
    assert len(search(QUERY, 10, sources=["pubmed"], settings=settings_with_patience)) == 10


def test_requests_keep_their_distance(server: Server, settings: Make) -> None:
    begin = time.monotonic()
    search(QUERY, 10, sources=["pubmed"], settings=settings(rate=20.0))
    assert time.monotonic() - begin >= (len(server.requests) - 1) / 20


def test_nothing_of_the_query_is_logged(server: Server, settings: Make, caplog: pytest.LogCaptureFixture) -> None:
    server.faults = [("", "500")] * 2
    with caplog.at_level(logging.DEBUG):
        search(QUERY, 10, settings=settings())
    assert "esearch.fcgi" in caplog.text
    assert not [word for word in ("idiopathic", "fibrosis", "slow") if word in caplog.text]


def test_no_network_is_one_sentence(settings: Make) -> None:
    nowhere = "http://127.0.0.1:9"
    both = r"^PubMed \(127\S+\) .*Europe .*\(127\S+\) .*\(Connection"
    with pytest.raises(ServiceError, match=both):
        search(QUERY, settings=settings(eutils=nowhere, europepmc=nowhere))


def test_certificates_that_cannot_be_read(settings: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    (tmp_path / "none.pem").write_text("no certificate", encoding="utf-8")
    with pytest.raises(InputError, match=r"\$SSL_CERT_FILE or \$SSL_CERT_DIR: .*\(it contains"):
        search(QUERY, settings=settings(eutils="https://mirror.invalid", europepmc="https://mirror.invalid"))


def test_an_unreachable_proxy_is_named(settings: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = settings(eutils="http://mirror.invalid", europepmc="http://mirror.invalid")
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with pytest.raises(ServiceError, match=r"proxy .*\$HTTP_PROXY"):
        search(QUERY, settings=elsewhere)
    monkeypatch.setenv("HTTP_PROXY", "carrier-pigeon://coop")
    with pytest.raises(InputError, match=r"\$HTTP_PROXY: .*no http"):
        search(QUERY, settings=elsewhere)


def test_this_machine_is_reached_without_a_proxy(settings: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert len(search(QUERY, 5, settings=settings())) == 5


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"query": " "}, "query is blank"),
        ({"query": "x" * 5000}, r"query .*\b5,000 characters"),
        ({"k": 10_001}, "k is 10001"),
        ({"k": 0}, "k is 0"),
        ({"sources": ["medline"]}, "source is 'medline'"),
        ({"query": "?!"}, "query .*no word"),
    ],
)
def test_input_that_cannot_be(settings: Make, chosen: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        search(**{"query": QUERY, "settings": settings(), **chosen})  # type: ignore[arg-type]


@pytest.mark.parametrize("url", ["ftp://x", "eutils", "http://", "http://h:99999", "https://h/?q=1", ""])
def test_addresses_that_cannot_be(url: str) -> None:
    with pytest.raises(InputError, match=r"pubmed\.eutils: (invalid URL|.*user, query)"):
        Settings.from_environment(eutils=url)

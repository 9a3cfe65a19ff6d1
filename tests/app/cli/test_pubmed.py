"""``mpir pubmed`` against the stand-in."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mpir.app.cli import main
from tests.search.pubmed.conftest import records
from tests.search.pubmed.stand_in import Server, serving

QUERY = "Which drugs slow idiopathic pulmonary fibrosis?"
Run = Callable[..., int]


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(records()) as started:
        yield started


@pytest.fixture
def run(server: Server, tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command with the stand-in's addresses."""
    monkeypatch.setenv("MPIR_EUTILS", server.url)
    monkeypatch.setenv("MPIR_EUROPEPMC", server.url)
    monkeypatch.setenv("NCBI_API_KEY", "0123456789abcdef")
    return lambda *options: main(["pubmed", *options, "--bundle", str(tiny_bundle), "--device", "cpu"])


def test_json_holds_the_ranking_and_the_queries(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(QUERY, "--k", "8", "--source", "pubmed", "--format", "jsonl") == 0
    answer = json.loads(capsys.readouterr().out)
    assert len(answer["documents"]) == 8
    assert answer["searches"][0]["query"] == "drugs slow idiopathic pulmonary fibrosis"
    assert answer["documents"][0]["metadata"]["url"].startswith("https://pubmed.ncbi.nlm.nih.gov/1")
    assert answer["warnings"] == []


def test_explain_shows_every_query_and_files_are_written(
    run: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page, table = tmp_path / "page.html", tmp_path / "table.csv"
    tagged = "nintedanib[tiab] AND fibrosis[tiab]"
    assert run(QUERY, "--query", tagged, "--explain", "--output", str(page), "--output", str(table)) == 0
    output = capsys.readouterr()
    assert tagged in output.out
    assert "PubMed understood:" in output.out
    assert "Europe PMC was not asked" in output.err
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert table.read_text(encoding="utf-8-sig").startswith("rank,document")


def test_nothing_that_matches_is_said(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("xylophone zebra", "--source", "europepmc", "--format", "jsonl") == 0
    output = capsys.readouterr()
    assert json.loads(output.out)["documents"] == []
    assert output.err.startswith("mpir: no record matches") and output.err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([QUERY, "--k", "10001"], "k is 10001"),
        ([QUERY, "--from", "2020-13"], "the first date: no such date"),
        ([QUERY, "--type", "clinical tril"], "unknown publication type 'clinical tril'; did you mean"),
        ([QUERY, "--query", '"nintedanib[tiab]'], "PubMed rejects the query: Unbalanced quotes"),
        ([QUERY, "--set", "pubmed.eutils=here"], "pubmed.eutils: invalid URL 'here'"),
        ([], "there is no query"),
    ],
)
def test_a_mistake_is_one_sentence(
    run: Run, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert run(*options) == 2
    output = capsys.readouterr()
    assert message in output.err
    assert (output.out, output.err.count("\n")) == ("", 1)


def test_the_help_says_that_the_question_leaves(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["pubmed", "--help"])
    assert "The question leaves this machine" in " ".join(capsys.readouterr().out.split())

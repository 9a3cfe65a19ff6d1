"""From a question to graded documents: the page asks PubMed, links to records and saves grades, in a browser."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mpir import Reranker
from mpir.app.cli import main
from mpir.app.serve.service import Service
from mpir.app.serve.settings import Settings
from mpir.files.corpora import read_references
from mpir.files.weights import read_weights
from mpir.search.pubmed import Settings as PubMedSettings
from mpir.search.pubmed.candidates import PubMedFirstStage
from mpir.tune.graded import read_graded
from tests.app.explain.conftest import Arbitrary, saved
from tests.app.explain.conftest import serving as serving_page
from tests.search.pubmed.conftest import DRUGS, records
from tests.search.pubmed.stand_in import Server, serving

QUERY = "Which drugs slow idiopathic pulmonary fibrosis?"


@pytest.fixture(scope="module")
def stand_in() -> Iterator[Server]:
    with serving(records()) as server:
        yield server


@pytest.fixture(scope="module")
def url(stand_in: Server) -> Iterator[str]:
    """The address of a server, in a thread of this process, that may search the stand-in."""
    chosen = PubMedSettings(
        eutils=stand_in.url, europepmc=stand_in.url, rate=5000.0, back_off=0.002, timeout=5.0, cache=None
    )
    indexes = {"pubmed": PubMedFirstStage(chosen)}
    service = Service(Reranker(perspectives=[Arbitrary("relevance")]), Settings(name="words"), indexes)
    with serving_page(service) as (url, _):
        yield url


def post(url: str, path: str, body: dict[str, Any]) -> httpx.Response:
    return httpx.post(url + path, json=body, timeout=60, verify=False)


def test_search_answers_with_records_and_queries(url: str) -> None:
    answer = post(url, "/search", {"query": QUERY, "mode": "pubmed", "k": 10, "top_n": 2}).json()
    assert (answer["candidates"], len(answer["results"])) == (10, 2)
    assert answer["searches"][0]["query"] == "drugs slow idiopathic pulmonary fibrosis"
    assert answer["warnings"] == []


def test_without_the_mode_nothing_is_sent(url: str, stand_in: Server) -> None:
    before = len(stand_in.requests)
    assert post(url, "/search", {"query": QUERY}).status_code == 400
    assert post(url, "/rerank", {"query": QUERY, "documents": ["Nintedanib is a drug."]}).status_code == 200
    assert len(stand_in.requests) == before


def test_a_service_that_fails_is_an_answer(url: str, stand_in: Server, caplog: pytest.LogCaptureFixture) -> None:
    stand_in.faults = [("", "503")] * 40
    response = post(url, "/search", {"query": QUERY, "mode": "pubmed"})
    stand_in.faults.clear()
    assert response.status_code == 502
    assert "failed (status 503, 4 attempts)" in response.json()["message"]
    assert "pulmonary" not in caplog.text


def test_the_form_limits_a_search_by_dates_and_types(chromium: Any, url: str, stand_in: Server) -> None:
    page = chromium.new_page()
    page.goto(f"{url}/explain")
    page.get_by_label("Question").fill(QUERY)
    dates = {"From": "2015-03", "to": "2024", "Types": "Clinical Trial, Review"}
    for label, value in dates.items():
        page.get_by_label(label, exact=True).fill(value)
    before = len(stand_in.requests)
    page.get_by_role("button", name="Rank", exact=True).click()
    page.get_by_text("documents ranked.").or_(page.get_by_text("No documents.")).first.wait_for()
    searches = [values for name, values, _ in stand_in.requests[before:] if name == "esearch.fcgi"]
    assert searches
    for values in searches:
        assert '"2015/03/01"[Date - Publication] : "2024/12/31"[Date - Publication]' in values["term"]
        assert '"Clinical Trial"[Publication Type] OR "Review"[Publication Type]' in values["term"]
    if not page.locator("#ask").is_visible():
        page.get_by_text("Ask a question").click()
    page.get_by_label("From", exact=True).fill("spring")
    page.get_by_role("button", name="Rank", exact=True).click()
    page.get_by_text("'spring'").wait_for()
    page.close()


def test_from_a_question_to_saved_grades(chromium: Any, url: str, tmp_path: Path) -> None:
    page = chromium.new_page()
    page.goto(f"{url}/explain")
    page.get_by_label("Question").fill(QUERY)
    page.get_by_role("button", name="Rank", exact=True).click()
    page.get_by_text("40 documents ranked.").wait_for()
    box = page.locator(".best").first.bounding_box()
    assert 0 <= box["y"] < box["y"] + box["height"] <= page.viewport_size["height"]  # in view without scrolling
    first = page.locator("#list .place").first
    document_id = first.inner_text().partition("id ")[2].split()[0]
    assert first.get_by_role("link").get_attribute("href") == f"https://pubmed.ncbi.nlm.nih.gov/{document_id}/"
    page.get_by_text("Queries that were sent").click()
    assert "drugs slow idiopathic pulmonary fibrosis" in page.locator("#searches").inner_text()

    page.get_by_text("Save and load").click()
    page.locator("#list .include").first.click()
    page.locator("#list .exclude").nth(1).click()
    assert f"1 0 {document_id} 2" in saved(page, "Grades as qrels").splitlines()
    references = tmp_path / "saved.ris"
    references.write_text(saved(page, "RIS"), encoding="utf-8")
    (document,) = read_references(references)
    assert document.title.startswith("Trial ")
    assert (document.id, document.metadata["doi"]) == (document_id, f"10.1000/{int(document_id) - 1000}")
    rows = list(csv.DictReader(io.StringIO(saved(page, "CSV"))))
    assert (len(rows), rows[0]["document"], rows[0]["grade"], rows[1]["grade"]) == (40, document_id, "2", "0")
    graded = tmp_path / "graded.jsonl"
    graded.write_text(saved(page, "Grades for mpir score"), encoding="utf-8")
    (question,), candidates = read_graded([str(graded)])
    assert (question.body, question.documents) == (QUERY, (document_id,))
    assert len(candidates.search(QUERY)) == 40
    page.close()


def grade(page: Any, filter_text: str, value: str, count: int) -> None:
    """Filter the list and give the first documents that remain a grade, by the keyboard."""
    page.get_by_label("Filter documents").fill(filter_text)
    for title in page.locator("#list .title").all()[:count]:
        title.press(value)  # shows a text that is not in view
        title.press(value)


def ask_and_grade(page: Any, drug: str, other: str, folder: Path) -> str:
    """Ask for a drug's trials, save what came, and grade it: trials of the drug are useful, another's are not."""
    query = f"Does {drug} slow pulmonary fibrosis?"
    if not page.locator("#ask").is_visible():
        page.get_by_text("Ask a question").click()
    page.get_by_label("Question").fill(query)
    page.get_by_role("button", name="Rank", exact=True).click()
    page.get_by_role("heading", name=query).wait_for()
    page.get_by_text("documents ranked.").wait_for()
    (folder / f"{drug}.ris").write_text(saved(page, "RIS"), encoding="utf-8")
    grade(page, f"of {drug}", "3", 4)
    grade(page, f"of {other}", "0", 2)
    return query


@pytest.fixture(scope="module")
def downloads(chromium: Any, url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that a reader has saved after five questions, and the questions by number."""
    folder, page = tmp_path_factory.mktemp("downloads"), chromium.new_page()
    page.goto(f"{url}/explain")
    page.locator("summary", has_text="Save and load").evaluate("summary => summary.parentElement.open = true")
    queries = [ask_and_grade(page, drug, DRUGS[number - 1], folder) for number, drug in enumerate(DRUGS)]
    for name, form in (("graded.jsonl", "Grades for mpir score"), ("grades.qrels", "Grades as qrels")):
        (folder / name).write_text(saved(page, form), encoding="utf-8")
    page.close()
    lines = [f"{number}\t{query}\n" for number, query in enumerate(queries, 1)]
    (folder / "questions.tsv").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("source", ["graded", "index"])
def test_from_questions_to_tuned_weights(downloads: Path, tiny_bundle: Path, tmp_path: Path, source: str) -> None:
    """By the candidates of the page, or by an index of all documents that were saved."""
    pytest.importorskip("skopt")
    index, scored, weights = str(tmp_path / "index"), str(tmp_path / "scored"), tmp_path / "weights.json"
    if source == "graded":
        gold = ["--graded", str(downloads / "graded.jsonl")]
    else:
        assert main(["index", *map(str, sorted(downloads.glob("*.ris"))), "--index", index, "--quiet"]) == 0
        files = [str(downloads / name) for name in ("questions.tsv", "grades.qrels")]
        gold = ["--questions", files[0], "--qrels", files[1], "--index", index]
    assert (
        main(
            ["score", *gold, "--output", scored, "--bundle", str(tiny_bundle), "--set", "cache.folder=none", "--quiet"]
        )
        == 0
    )
    budget = [
        "--set",
        "tune.calls=4",
        "--set",
        "tune.initial=2",
        "--set",
        "tune.loops=1",
        "--set",
        "tune.folds=2",
        "--quiet",
    ]
    assert main(["tune", scored, "--output", str(weights), *budget]) == 0
    assert json.loads(weights.read_text(encoding="utf-8"))["made_by"]["questions"] == len(DRUGS)
    reranker = Reranker(str(tiny_bundle), weights=weights, device="cpu", cache=None)
    assert reranker.weights == read_weights(weights)
    assert len(reranker.rerank(QUERY, read_references(downloads / "placebo.ris"))) > 0

"""Screening in a browser: decisions outlive a reload, reach the file beside the documents, and survive the server."""

import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from mpir import Document, Reranker, Weights
from mpir.app.cli import main
from mpir.app.explain.library import open_library
from mpir.app.explain.page import page_data, page_with
from mpir.app.explain.review import Review
from mpir.app.serve.service import Service
from mpir.app.serve.settings import Settings
from tests.app.explain.conftest import Arbitrary, saved, serving

QUERY = "Does aspirin thin blood?"


@pytest.fixture
def explaining(tmp_path: Path) -> Iterator[tuple[str, Path, uvicorn.Server]]:
    """The address of a server with three documents, their review, and the server."""
    documents = tmp_path / "aspirin.jsonl"
    texts = ("Aspirin does thin the blood. It is old.", "A heart attack is a risk.", "Blood is thick.")
    records = [{"id": f"id{i}", "title": f"Title {i}", "abstract": text} for i, text in enumerate(texts)]
    documents.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    library = open_library([str(documents)], "ada")
    service = Service(Reranker(perspectives=[Arbitrary("relevance")]), Settings(name="words"), {}, library)
    with serving(service) as (url, server):
        yield url, library.review.path, server


def ranked(context: Any, url: str) -> Any:
    page = context.new_page()
    page.goto(f"{url}/explain")
    page.get_by_label("Question").fill(QUERY)
    page.get_by_role("button", name="Rank", exact=True).click()
    page.get_by_text("3 documents ranked.").wait_for()
    return page


def grades_in(path: Path) -> dict[str, Any]:
    return {decision["id"]: decision["grade"] for decision in Review(path).decisions("ada")}


def test_decisions_reach_the_file_and_are_offered_again(chromium: Any, explaining: Any) -> None:
    url, path, server = explaining
    context = chromium.new_context()
    page = ranked(context, url)
    with page.expect_response("**/explain/grades"):
        page.get_by_role("button", name="Include").first.click()
    (graded,) = grades_in(path)
    assert grades_in(path) == {graded: 2}

    other = ranked(chromium.new_context(), url)  # another browser, which only the file tells
    assert "Restored from aspirin.mpir: 1 decided." in other.locator("#offer").inner_text()
    assert other.locator("#tally").inner_text() == "1 decided, 2 to go: 1 included, 0 maybe, 0 excluded"
    with other.expect_response("**/explain/grades"):
        other.get_by_role("button", name="Exclude").nth(2).click()
    with page.expect_response("**/explain/grades"):
        page.get_by_role("button", name="Maybe").nth(1).click()
    page.get_by_text("Another page decided on 1 document").wait_for()
    assert page.locator("#tally").inner_text() == "3 decided, 0 to go: 1 included, 1 maybe, 1 excluded"

    server.should_exit = True
    page.wait_for_timeout(500)
    page.get_by_role("button", name="Exclude").first.click()
    page.get_by_text("Not yet in aspirin.mpir: 1 (the server does not answer)").wait_for()
    assert page.locator("#tally").inner_text() == "3 decided, 0 to go: 0 included, 1 maybe, 2 excluded"
    other.context.close()
    context.close()


def test_a_page_that_was_mailed_keeps_decisions_over_a_reload(chromium: Any, tmp_path: Path, ranked_page: Path) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.goto(ranked_page.as_uri())
    page.locator("#list .title").first.click()
    page.locator("#sheet .include").click()  # decides, and goes on to the next text
    assert page.locator("article .place").inner_text().startswith("Rank 2 of 5")
    page.locator("#sheet .exclude").click()
    page.reload()
    assert page.locator("#tally").inner_text() == "2 decided, 3 to go: 1 included, 0 maybe, 1 excluded"
    grades = tmp_path / "other.jsonl"
    grades.write_text('{"query": "another question", "id": "11", "grade": 2}\n')
    page.locator("#import").set_input_files(grades)
    page.get_by_text("its grades are of other questions; nothing was imported.").wait_for()
    context.close()


def test_grades_of_documents_that_are_gone_stay_in_their_files(chromium: Any, explaining: Any, tmp_path: Path) -> None:
    url, path, _ = explaining
    page = ranked(chromium.new_context(), url)
    page.locator("#saving").evaluate("(it) => { it.open = true; }")
    grades = tmp_path / "other.jsonl"
    line = {"query": "Another question?", "grade": 2}  # a decision belongs to a record, whatever was asked
    lines = [{**line, "id": "id1"}, {**line, "id": "gone"}, {**line, "id": "id2", "fingerprint": "1-2"}]
    grades.write_text("".join(json.dumps(values) + "\n" for values in lines))
    with page.expect_response("**/explain/grades"):
        page.locator("#import").set_input_files(grades)
    told = "other.jsonl: imported 1. Left out, because their documents are not here: 2 (first: gone)."
    page.get_by_text(told).wait_for()
    assert grades_in(path) == {"id1": 2}
    page.context.close()


def test_decisions_stay_whatever_is_asked_next_and_earlier_questions_are_listed(chromium: Any, explaining: Any) -> None:
    url, _path, _ = explaining
    page = ranked(chromium.new_context(), url)
    with page.expect_response("**/explain/grades"):
        page.get_by_role("button", name="Include").first.click()
    page.reload()
    page.get_by_label("Question").fill(f"  {QUERY.lower().rstrip('?')}")
    page.get_by_role("button", name="Rank", exact=True).click()
    page.get_by_text("3 documents ranked.").wait_for()
    assert page.locator("#tally").inner_text().startswith("1 decided")
    page.reload()
    assert QUERY in page.locator("#questions option").evaluate_all("(all) => all.map((option) => option.value)")
    page.context.close()


def test_exports_name_what_other_people_decided(chromium: Any, explaining: Any) -> None:
    url, path, _ = explaining
    grace = open_library([str(path)], "grace")
    grace.add([{"query": QUERY, "id": "id1", "grade": 0, "note": "", "time": 5}])
    page = ranked(chromium.new_context(), url)
    assert page.locator("#tally").inner_text().startswith("0 decided")  # nobody sees them before deciding
    with page.expect_response("**/explain/grades"):
        page.get_by_label("Decision on id1").first.get_by_role("button", name="Include").click()
    rows = list(csv.DictReader(saved(page, "CSV").splitlines()))
    decisions = {row["document"]: (row["decision"], row["decisions of others"]) for row in rows}
    assert decisions["id1"] == ("included", "grace: excluded")
    assert decisions["id0"] == ("undecided", "")
    assert "N1  - Decisions of others: grace: excluded" in saved(page, "RIS")
    page.context.close()


def test_two_pages_without_a_server_keep_what_each_decided(chromium: Any, explaining: Any) -> None:
    url, path, _server = explaining
    context = chromium.new_context()
    pages = [ranked(context, url) for _ in range(2)]
    for page in pages:
        page.evaluate("window.addEventListener('storage', (event) => event.stopImmediatePropagation(), true)")
        page.route("**/explain/grades", lambda route: route.abort())
    for number, page in enumerate(pages):
        page.locator("#list .include").nth(number).click()
        page.get_by_text("Not yet in aspirin.mpir").wait_for()
    again = ranked(context, url)
    again.wait_for_function("document.querySelector('#tally').textContent.startsWith('2 decided')")
    again.wait_for_timeout(500)
    assert sorted(grades_in(path).values()) == [2, 2]
    assert again.evaluate("Object.values(localStorage)") == ["[]"]  # what is in the file is queued no more
    context.close()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }",
            "This browser cannot store your grades (QuotaExceededError); export them before you leave.",
        ),
        (
            "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('', 'SecurityError'); } })",
            "This browser keeps nothing for this page; export your grades before you leave.",
        ),
    ],
)
def test_a_store_that_is_full_or_forbidden_is_named_and_the_grades_can_be_saved(
    chromium: Any, ranked_page: Path, script: str, message: str
) -> None:
    context = chromium.new_context()
    context.add_init_script(script)
    page = context.new_page()
    page.goto(ranked_page.as_uri())
    page.locator("#list .include").first.click()
    assert page.locator("#kept").inner_text() == message
    assert page.locator("#tally").inner_text().startswith("1 decided")
    assert len(saved(page, "Grades").splitlines()) == 1
    context.close()


def test_a_review_that_cannot_be_written_is_named_until_it_can(chromium: Any, explaining: Any) -> None:
    url, path, _ = explaining
    page = ranked(chromium.new_context(), url)
    path.rename(path.with_suffix(".away"))
    page.get_by_role("button", name="Include").first.click()
    page.get_by_text("Not yet in aspirin.mpir: 1 (").wait_for()
    assert "cannot be written (unable to open database file)" in page.locator("#kept").inner_text()
    path.with_suffix(".away").rename(path)
    with page.expect_response("**/explain/grades"):
        page.get_by_role("button", name="Maybe").nth(1).click()
    page.wait_for_function("document.querySelector('#kept').textContent === ''")
    assert sorted(grades_in(path).values()) == [1, 2]
    page.context.close()


@pytest.fixture
def ranked_page(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A page with its ranking inside, as a file."""
    path = tmp_path / "page.html"
    path.write_text(page_with(request.getfixturevalue("ranked")()[1]), encoding="utf-8")
    return path


def test_ten_decisions_bring_up_what_is_like_the_included(chromium: Any, tmp_path: Path) -> None:
    texts = ["Aspirin thins blood."] * 4 + ["Kidneys need dialysis."] * 10 + ["Blood thinned by aspirin."]
    documents = [Document(str(i), "", text, score=20.0 - i) for i, text in enumerate(texts)]
    by_search = replace(Weights.untuned(["relevance"]), beta_sentences=0.0)
    ranking = Reranker(perspectives=[Arbitrary("relevance")], weights=by_search).rerank(QUERY, documents)
    path = tmp_path / "page.html"
    path.write_text(page_with(page_data(ranking, documents)), encoding="utf-8")
    page = chromium.new_context().new_page()
    page.goto(path.as_uri())
    ids = page.locator("#list .place")
    assert "id 14" in ids.nth(14).inner_text()
    page.get_by_label("Rank what is undecided anew").check()
    for i in range(10):
        buttons = page.get_by_role("button", name="Include" if i < 4 else "Exclude")
        buttons.nth(i).click()
    assert "id 14" in ids.nth(10).inner_text()
    page.get_by_label("Rank what is undecided anew").uncheck()
    assert "id 14" in ids.nth(14).inner_text()


def test_the_page_saves_the_review_in_the_forms_of_other_programs(
    chromium: Any, explaining: Any, tmp_path: Path
) -> None:
    url, path, _ = explaining
    page = ranked(chromium.new_context(), url)
    with page.expect_response("**/explain/grades"):
        page.get_by_label("Decision on id1").first.get_by_role("button", name="Include").click()
    output = tmp_path / "rayyan.csv"
    assert main(["merge", str(path), "--format", "rayyan", "--reviewer", "ada", "--output", str(output)]) == 0
    assert saved(page, "Review for Rayyan").splitlines() == output.read_text(encoding="utf-8-sig").splitlines()
    assert "RAYYAN-INCLUSION" in output.read_text()
    with page.expect_response("**/explain/export") as response:
        page.locator("#form").select_option("Review for Covidence")
        page.get_by_role("button", name="Save", exact=True).click()
    files = response.value.json()["files"]
    assert [name for name, text in files.items() if "Title 1" in text] == ["aspirin_select.ris"]
    page.context.close()
    answer = httpx.post(f"{url}/explain/export", json={"form": "odd"})
    assert (answer.status_code, "expected one of rayyan, " in answer.json()["message"]) == (400, True)

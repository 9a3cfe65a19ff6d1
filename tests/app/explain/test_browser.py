"""The page in a browser: the same arithmetic as Python, and everything reachable by keyboard, eye and screen reader."""

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mpir import Document, Reranker, Weights
from mpir.app.explain.page import page_data, page_with
from mpir.app.serve.service import Service
from mpir.app.serve.settings import Settings
from mpir.reranking.ranking import Ranking
from tests.app.explain.conftest import DOCUMENTS, QUERY, Arbitrary, arbitrary_columns, saved, serving
from tests.app.serve.running import Server

Ranked = Callable[..., tuple[Ranking, dict[str, Any]]]
CONTEXTS = ["bm25", "document", "fixpoint"]


@pytest.fixture
def opened(chromium: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open a page with its data inside, as somebody who got it by mail does; errors and requests fail the test."""
    contexts, faults = [], []

    def open_page(data: dict[str, Any], **options: Any) -> Any:
        file = tmp_path / "page.html"
        file.write_text(page_with(data), encoding="utf-8")
        contexts.append(chromium.new_context(**options))
        contexts[-1].set_default_timeout(10_000)
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: faults.append(error))  # noqa: PLW0108  (playwright takes no built-in)
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: faults.append(request.url) if not request.url.startswith("file:") else None)
        page.goto(file.as_uri())
        page.wait_for_selector("#list li")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [fault for fault in faults if not str(fault).startswith("blob:")] == []


@pytest.fixture(scope="module")
def module(chromium: Any, server: Server) -> Iterator[Callable[[str, Any], Any]]:
    """Call an expression of the page's module with an argument."""
    page = chromium.new_page()
    page.goto(f"{server.url}/explain")

    def call(expression: str, argument: Any) -> Any:
        return page.evaluate(
            "async (it) => { const names = ['blend', 'texts', 'stopping', 'exports'];"
            " const m = Object.assign({}, ...await Promise.all(names.map((name) => import(`/explain/${name}.mjs`))));"
            f" return {expression} }}",
            argument,
        )

    yield call
    page.close()


@pytest.mark.parametrize("normalise", ["none", "minmax", "zscore"])
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("w", [(1.0, 0.5, 0.25), (0.7,), (0.1, 0.2, 0.3, 0.4)])
def test_the_browser_blends_as_python_does(
    module: Callable[[str, Any], Any], ranked: Ranked, context: Any, normalise: Any, w: tuple[float, ...]
) -> None:
    alpha = {"relevance": 0.61, "sts": -0.27, "order": 0.4}
    weights = Weights.from_dict(
        {"alpha": alpha, "alpha_context": 0.31, "beta": {"bm25": 0.123}, "beta_sentences": 0.85, "w": w,
         "context": context, "normalise": normalise}
    )  # fmt: skip
    ranking, data = ranked(weights)
    result = module("({blended: m.blend(it, it.weights), order: m.rankOf(it, m.blend(it, it.weights))})", data)
    assert result["order"] == [document.index for document in ranking.documents]
    for document in ranking.documents:
        current, inputs = result["blended"][document.index], data["documents"][document.index]
        assert math.isclose(current["score"], document.score, abs_tol=1e-9)
        assert current["shares"] == pytest.approx(dict(document.shares), abs=1e-9)
        positions = {
            (inputs["sentences"][i]["section"], inputs["sentences"][i]["begin"]): i
            for i in range(len(inputs["sentences"]))
        }
        assert len(current["sentences"]) == len(document.sentences)
        for sentence in document.sentences:
            present = current["sentences"][positions[sentence.section, sentence.begin]]
            assert math.isclose(present["score"], sentence.score, abs_tol=1e-9)
            assert present["shares"] == pytest.approx(dict(sentence.shares), abs=1e-9)


def test_offsets_count_code_points(module: Callable[[str, Any], Any], ranked: Ranked) -> None:
    document = ranked()[1]["documents"][1]
    text = document["sections"]["abstract"]
    result = module("m.pieces(it.sections.abstract, 'abstract', it.sentences)", document)
    assert "".join(piece for piece, _ in result) == text
    for piece, number in result:
        if number >= 0:
            sentence = document["sentences"][number]
            assert piece == text[sentence["begin"] : sentence["end"]]


def ids(page: Any) -> list[str]:
    """The ids of the cards, in the order of the list."""
    places = page.locator("#list .place").all_inner_texts()
    return [place.partition("id ")[2].split()[0] for place in places]


def test_a_slider_ranks_again_and_reset_takes_it_back(opened: Callable[..., Any], ranked: Ranked) -> None:
    ranking, data = ranked()
    page = opened(data)
    before = page.locator("#list").inner_text()
    assert page.locator("#changed").inner_text() == "The weights are as tuned."
    page.get_by_role("button", name="Weights").click()
    page.get_by_text("Advanced").click()
    slider = page.get_by_label("α sts", exact=True)
    slider.evaluate("(it) => { it.value = 0; it.dispatchEvent(new Event('input')); }")
    assert page.locator("#changed").inner_text() == "1 of 9 weights changed from tuned."
    assert page.locator("#list").inner_text() != before
    weights = Weights.from_dict(json.loads(page.locator("#json").text_content()))
    assert weights.alpha["sts"] == 0
    repeated = Reranker(perspectives=arbitrary_columns(), weights=weights)
    expected = [document.id for document in repeated.rerank(QUERY, DOCUMENTS).documents]
    assert ids(page) == expected
    page.get_by_role("button", name="Reset").click()
    assert page.locator("#list").inner_text() == before
    assert Weights.from_dict(json.loads(page.locator("#json").text_content())) == ranking.weights


def test_the_fixed_point_s_bound_is_kept(opened: Callable[..., Any], ranked: Ranked) -> None:
    alpha = {"relevance": 1, "sts": 1, "order": 0}
    weights = Weights(alpha, alpha_context=0.9, beta_sentences=0.9, w=(1.0,), context="fixpoint")
    page = opened(ranked(weights)[1])
    slider = page.get_by_label("α context")
    slider.evaluate("(it) => { it.value = it.max; it.dispatchEvent(new Event('input')); }")
    assert "would feed itself" in page.locator("#status").inner_text()
    assert page.locator("#changed").inner_text() == "The weights are as tuned."


def test_the_keyboard_does_it_all(opened: Callable[..., Any], ranked: Ranked) -> None:
    ranking, data = ranked()
    page = opened(data)
    titles = page.locator("#list .title")
    titles.first.focus()
    page.keyboard.press("ArrowDown")
    assert shown_ids(page) == [ranking.documents[1].id]  # what a digit grades is what is shown
    page.keyboard.press("3")
    page.keyboard.press("j")
    assert shown_ids(page) == [ranking.documents[2].id]
    page.keyboard.press("e")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert shown_ids(page) == [ranking.documents[0].id]
    page.keyboard.press("n")
    assert shown_ids(page) == [ranking.documents[3].id]
    page.keyboard.press("m")
    tally = page.locator("#tally")
    assert tally.inner_text() == "3 decided, 2 to go: 1 included, 1 maybe, 1 excluded"
    page.keyboard.press("u")
    assert tally.inner_text() == "2 decided, 3 to go: 1 included, 0 maybe, 1 excluded"
    page.get_by_text("Save and load").click()
    graded = {(ranking.documents[1].id, "3"), (ranking.documents[2].id, "0")}
    assert {tuple(row.split()[2:]) for row in saved(page, "Grades as qrels").splitlines()} == graded
    page.locator("#list .title").nth(4).focus()
    page.keyboard.press("2")  # its text is not in view yet
    assert "was not shown" in page.locator("#status").inner_text()
    page.keyboard.press("2")
    assert tally.inner_text().startswith("3 decided")


def shown_ids(page: Any) -> list[str]:
    """The ids of the texts that are shown."""
    return [text.partition("id ")[2].split()[0] for text in page.locator("article .place").all_inner_texts()]


def test_the_drawer_is_opened_moved_and_closed_by_keys_alone(opened: Callable[..., Any], ranked: Ranked) -> None:
    page = opened(ranked()[1])
    page.get_by_role("button", name="Weights", exact=True).focus()
    page.keyboard.press("Enter")
    for _ in range(20):
        if page.evaluate("document.activeElement.type") == "range":
            break
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#drawer') !== null")
    page.keyboard.press("Home")  # the least value of the first slider
    assert page.locator("#changed").inner_text() == "1 of 9 weights changed from tuned."
    page.get_by_role("button", name="Weights", exact=True).focus()
    page.keyboard.press("Space")
    assert not page.locator("#drawer").is_visible()
    assert page.locator("#list li").first.is_visible()


def test_print_has_the_list_and_the_open_texts_without_controls(opened: Callable[..., Any], ranked: Ranked) -> None:
    ranking, data = ranked()
    page = opened(data)
    page.get_by_role("button", name="Weights").click()
    page.emulate_media(media="print")
    assert not [name for name in ("form", "#drawer", ".tools") if page.locator(name).first.is_visible()]
    assert all(title.is_visible() for title in page.locator("#list .title").all())
    assert page.locator("article").first.is_visible()
    assert page.pdf().startswith(b"%PDF")
    assert len(page.locator("#list .title").all()) == len(ranking)


def test_what_is_open_and_focused_stays_so(opened: Callable[..., Any], ranked: Ranked) -> None:
    page = opened(ranked()[1])
    for number in range(2):
        page.locator("#list button[aria-expanded]").nth(number).click()
    box = page.locator("#list input[type=checkbox]").nth(1)
    box.focus()
    page.keyboard.press("Space")
    assert len(page.locator("article").all()) == 2
    assert len(page.locator("#list .shares").all()) == 2
    assert page.evaluate("document.activeElement.type") == "checkbox"


def test_best_sentences_are_outlined_and_texts_are_only_text(opened: Callable[..., Any], ranked: Ranked) -> None:
    page = opened(ranked()[1])
    page.get_by_role("button", name="💊 β-Cells").click()
    assert "</script> is text." in page.locator("article").inner_text()
    assert len(page.locator("article .best").all()) == 3
    assert page.locator("article .sentence:not(.best)[style]").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_answer_stands_beside_its_year_type_of_study_retraction_and_denial(
    opened: Callable[..., Any], scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    metadata = {"year": 2019, "journal": "Annals", "types": ["Randomized Controlled Trial", "Retracted Publication"]}
    text = "CFTR was not mutated in cystic fibrosis."
    documents = [Document("1", "Genes", text, score=2.0, metadata=metadata), Document("2", "", "CFTR is.", score=1.0)]
    ranking = Reranker(perspectives=[Arbitrary("relevance")]).rerank(QUERY, documents)
    page = opened(page_data(ranking, documents), color_scheme=scheme, bypass_csp=True)
    card = page.locator("#list li", has_text="Genes")
    assert card.locator(".quote").inner_text() == f"denies: {text}"
    assert "RETRACTED · Annals, 2019 · randomized controlled trial" in card.locator(".place").inner_text()
    assert page.locator("#list .says").count() == 1
    card.locator(".title").click()
    badges = page.locator("#panes .badge").all_inner_texts()
    assert sum(badge.endswith(" denies") for badge in badges) == 1
    results = axe.Axe().run(page)
    assert results.response["violations"] == [], results.generate_report()


@pytest.mark.parametrize("width", [360, 1280])
def test_the_sentences_of_a_document_come_into_view(opened: Callable[..., Any], ranked: Ranked, width: int) -> None:
    page = opened(ranked()[1], viewport={"width": width, "height": 500})
    last = page.locator("#list .title").last
    last.click()
    box = page.locator("article").bounding_box()
    assert 0 <= box["y"] < 500
    assert page.locator("article .place").inner_text().startswith("Rank 5 of 5")


OUTSIDE = """() => {
  const panel = document.querySelector("#ranking"), right = (element) => element.getBoundingClientRect().right;
  const edge = right(panel) - parseFloat(getComputedStyle(panel).paddingRight);
  const reaching = [...panel.querySelectorAll("*")].filter((element) => right(element) > edge + 1);
  return reaching.filter((element) => !element.closest(".wide > *")).map((element) => element.outerHTML.slice(0, 80));
}"""
"""The parts of the list that reach into its margin, but for tables, which scroll in their own frames."""


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_nothing_reaches_into_the_margin(opened: Callable[..., Any], ranked: Ranked, width: int) -> None:
    page = opened(ranked()[1], viewport={"width": width, "height": 800})
    page.locator("#list button[aria-expanded]").first.click()
    assert page.evaluate(OUTSIDE) == []
    page.get_by_role("button", name="Weights").click()
    assert page.evaluate(OUTSIDE) == []


def test_a_title_of_thousands_of_characters_leaves_room_for_others(opened: Callable[..., Any], ranked: Ranked) -> None:
    data = ranked()[1]
    data["documents"][0]["name"] = "A title that never ends " * 120
    page = opened(data, viewport={"width": 390, "height": 800})
    assert max(title.bounding_box()["height"] for title in page.locator("#list .title").all()) < 120
    page.locator("#list .title", has_text="never ends").click()
    assert len(page.locator("article h3").inner_text()) > 2800


@pytest.mark.parametrize("width", [320, 390])
def test_the_form_fits_a_narrow_screen(chromium: Any, server: Server, width: int) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    page.goto(f"{server.url}/explain")
    label = "a_file_with_a_very_long_name_as_databases_give_them_2026-11-28.mpir (547 documents)"
    select = f"<select id='mode'><option>{label}</option></select>"
    page.locator("#limits").evaluate(
        "(it, html) => { it.hidden = false; it.insertAdjacentHTML('beforebegin', html); }", select
    )
    page.locator("#ask details").evaluate("(it) => { it.open = true; }")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    outside = (
        "[...document.querySelectorAll('#ask *')].filter((it) => it.getBoundingClientRect().right > innerWidth - 8)"
    )
    assert page.evaluate(f"{outside}.map((it) => it.outerHTML.slice(0, 80))") == []
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1440])
def test_no_violation_of_accessibility(opened: Callable[..., Any], ranked: Ranked, scheme: str, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = opened(ranked()[1], color_scheme=scheme, viewport={"width": width, "height": 800}, bypass_csp=True)
    page.locator("#list button[aria-expanded]").nth(1).click()
    page.locator("#list input[type=checkbox]").first.check()
    page.get_by_role("button", name="Weights").click()
    page.get_by_text("Advanced").click()
    results = axe.Axe().run(page)
    assert results.response["violations"] == [], results.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_heading_is_the_question_and_cards_have_their_best_sentence(
    opened: Callable[..., Any], ranked: Ranked
) -> None:
    ranking, data = ranked()
    page = opened(data)
    assert page.title() == f"{QUERY} – mpir"
    assert page.locator("h1").inner_text() == QUERY
    assert page.locator("#about").inner_text().startswith(f"5 documents · {data['date']}")
    quotes = page.locator("#list .quote").all_inner_texts()
    for document, quote in zip(ranking.documents, quotes, strict=True):
        best = document.best_sentence
        assert quote.endswith(best.text if best else "No sentence.")


def test_a_narrow_screen_shows_the_text_as_a_sheet_with_a_way_back(opened: Callable[..., Any], ranked: Ranked) -> None:
    page = opened(ranked()[1], viewport={"width": 390, "height": 800})
    assert not page.locator("#sheet").is_visible()
    title = page.locator("#list .title").nth(1)
    for leave in (page.get_by_role("button", name="Back to the list").click, lambda: page.keyboard.press("Escape")):
        title.click()
        assert page.locator("#sheet").bounding_box() == {"x": 0, "y": 0, "width": 390, "height": 800}
        leave()
        assert not page.locator("#sheet").is_visible()
        assert title.evaluate("(it) => it === document.activeElement")


def test_the_question_mark_shows_the_keys(opened: Callable[..., Any], ranked: Ranked) -> None:
    page = opened(ranked()[1])
    page.get_by_label("Filter documents").press("?")
    assert not page.locator("#keys").is_visible()
    page.locator("#list .title").first.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#keys").is_visible()


@pytest.fixture(scope="module")
def many() -> dict[str, Any]:
    """The page's data of 500 documents."""
    documents = [
        Document(
            str(i), f"A study of gene {i} in families with cystic fibrosis",
            f"Families were seen in {i} clinics. Mutations of gene {i} were frequent. They cause the disease.",
            metadata={"pmid": str(1000 + i), "year": str(1990 + i % 30), "journal": "Annals"},
        )
        for i in range(500)
    ]  # fmt: skip
    reranker = Reranker(perspectives=[Arbitrary("relevance"), Arbitrary("sts")])
    return page_data(reranker.rerank(QUERY, documents), documents)


def test_500_documents_open_and_rank_again_quickly(opened: Callable[..., Any], many: dict[str, Any]) -> None:
    """The bounds of an idle machine are 1 s and 0.1 s; a test's are five times as wide."""
    start = time.perf_counter()
    page = opened(many, viewport={"width": 1440, "height": 900})
    seconds = time.perf_counter() - start
    assert page.locator("#list li").nth(3).bounding_box()["y"] + 60 < 900
    page.get_by_role("button", name="Weights").click()
    milliseconds = page.get_by_label("Answering sentence").evaluate(
        "(it) => { const start = performance.now(); it.value = 0.1; it.dispatchEvent(new Event('input'));"
        " document.body.offsetHeight; return performance.now() - start; }"
    )
    print(f"500 documents: opened in {seconds:.2f} s, ranked again in {milliseconds:.0f} ms")  # noqa: T201  (pytest -s shows it)
    assert (seconds < 5, milliseconds < 500) == (True, True)


def test_the_list_grows_by_20_and_is_filtered(opened: Callable[..., Any], many: dict[str, Any]) -> None:
    page = opened(many)
    cards = page.locator("#list > li")
    assert cards.count() == 20
    page.get_by_role("button", name="20 more").click()
    assert cards.count() == 40
    page.locator("#list .title").first.press("2")
    for text, expected in (
        ("grade:2", 1),
        ("is:included", 1),
        ("gene 1990-1991 families", 20),
        ("clinics 77", 5),
        ("77 2000-2001", 0),
        ('"gene 77 were"', 1),
        ('"77 gene"', 0),
        ("-study", 0),
        ('"gene 77 were" OR "gene 78 were"', 2),
    ):
        page.get_by_label("Filter documents").fill(text)
        assert (text, cards.count()) == (text, expected)


def test_the_example_fills_the_form_and_the_root_leads_to_it(chromium: Any, server: Server) -> None:
    page = chromium.new_page()
    page.goto(server.url)
    assert page.url == f"{server.url}/explain"
    page.get_by_role("button", name="Fill in an example").click()
    page.get_by_role("button", name="Rank", exact=True).click()
    page.wait_for_selector("#list li")
    assert "CFTR" in page.locator("#list").inner_text()
    page.close()


def test_the_reference_loads_nothing_from_elsewhere(chromium: Any, server: Server) -> None:
    page = chromium.new_page()
    asked: list[str] = []
    faults: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.goto(f"{server.url}/docs")
    assert "/v1/rerank" in page.locator("main").inner_text()
    assert asked == [f"{server.url}/docs", f"{server.url}/explain/explain.css"]
    assert faults == []
    page.close()


def test_the_served_page_ranks_what_is_pasted(chromium: Any, server: Server) -> None:
    page = chromium.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"{server.url}/explain")
    page.get_by_label("Question").fill("does aspirin thin blood")
    page.get_by_label("Documents, one in a paragraph").fill("Aspirin does thin the blood.\n\nA heart attack is a risk.")
    page.get_by_role("button", name="Rank", exact=True).click()
    page.wait_for_selector("#list li")
    page.get_by_text("2 documents ranked.").wait_for()
    page.get_by_text("Ask a question").click()
    page.get_by_label("Documents, one in a paragraph").fill("")
    page.get_by_role("button", name="Rank", exact=True).click()
    page.get_by_text("start it with an index").wait_for()
    assert faults == []
    page.close()


def test_a_dropped_file_is_ranked(chromium: Any, server: Server, tmp_path: Path) -> None:
    (tmp_path / "library.ris").write_text(
        "TY  - JOUR\nTI  - Aspirin does thin the blood.\nJO  - Heart\nPY  - 2004\nER  - \n\n"
        "TY  - JOUR\nTI  - A heart attack is a risk.\nER  - \n"
    )
    (tmp_path / "page.ris").write_text("<!doctype html><html><title>Sign in</title></html>")
    page = chromium.new_page()
    page.goto(f"{server.url}/explain")
    page.get_by_label("Question").fill("does aspirin thin blood")
    page.get_by_label("Or files").set_input_files([tmp_path / "library.ris", tmp_path / "page.ris"])
    page.get_by_text("library.ris: 2 documents. page.ris: is a web page").wait_for()
    page.get_by_role("button", name="Rank", exact=True).click()
    page.wait_for_selector("#list li")
    page.get_by_text("2 documents ranked.").wait_for()
    assert "Heart" in page.locator("#list").inner_text()
    page.get_by_text("Ask a question").click()
    page.get_by_role("button", name="Forget the files").click()
    page.get_by_role("button", name="Rank", exact=True).click()
    page.get_by_text("start it with an index").wait_for()
    page.close()


class Kept:
    """A first stage that finds the same documents for every query, in an order of its own."""

    def __init__(self, name: str, *places: int) -> None:
        self.name, self.places = name, places

    def search(self, query: str, k: int = 100) -> list[Document]:
        result = [DOCUMENTS[position] for position in self.places[:k]]
        return [replace(item, score=1 / rank, scores={"bm25": 0.0}) for rank, item in enumerate(result, 1)]


@pytest.fixture
def searching() -> Iterator[str]:
    """The address of a server, in a thread of this process, that can be searched in two ways."""
    indexes: dict[str, Any] = {"bm25": Kept("bm25", 0, 1), "dense": Kept("dense", 2, 1, 0)}
    service = Service(Reranker(perspectives=[Arbitrary("relevance")]), Settings(name="words"), indexes)
    with serving(service) as (url, _):
        yield url


def test_an_index_is_searched_by_what_is_chosen(chromium: Any, searching: str) -> None:
    page = chromium.new_page()
    page.goto(f"{searching}/explain")
    page.get_by_label("Question").fill(QUERY)
    result = {}
    for mode in ("dense", "bm25"):
        if not page.locator("#ask").is_visible():
            page.get_by_text("Ask a question").click()
        page.get_by_label("Rank, where nothing is pasted or dropped").select_option(mode)
        page.get_by_role("button", name="Rank", exact=True).click()
        page.get_by_text(f"{3 if mode == 'dense' else 2} documents ranked.").wait_for()
        result[mode] = set(ids(page))
    assert result == {"dense": {"11", "12", "13"}, "bm25": {"11", "12"}}
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_violation_of_accessibility_before_anything_is_asked(chromium: Any, searching: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = chromium.new_page(color_scheme=scheme, viewport={"width": 360, "height": 800}, bypass_csp=True)
    page.goto(f"{searching}/explain")
    results = axe.Axe().run(page)
    assert results.response["violations"] == [], results.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.close()

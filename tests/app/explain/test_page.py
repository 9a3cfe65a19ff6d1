"""The page as text: it holds its data, loads nothing, and lets nothing in a document become code."""

import base64
import hashlib
import io
import json
import math
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urljoin

import numpy as np
import pytest

import mpir
from mpir import Document, Reranker, RunOptions, Weights
from mpir.app.cli import main
from mpir.app.explain.page import MEDIA, MODULES, asset, page_data, page_served, page_with
from mpir.core.blend import blend
from mpir.core.columns import Columns, Layout
from mpir.reranking.ranking import Ranking
from mpir.reranking.stages import READ, READ_ON
from tests.app.explain.conftest import DOCUMENTS, QUERY, Arbitrary
from tests.threads import from_threads

Ranked = Callable[..., tuple[Ranking, dict[str, Any]]]


RECORDS = [
    ({"url": "https://europepmc.org/article/PPR/PPR7"}, "https://europepmc.org/article/PPR/PPR7"),
    ({"pmid": "123", "doi": "10.1000/a"}, "https://pubmed.ncbi.nlm.nih.gov/123/"),
    ({"doi": "10.1000/a<b>"}, "https://doi.org/10.1000/a%3Cb%3E"),
    ({"url": "javascript:alert(1)", "pmid": "../x"}, ""),
    ({}, ""),
]


@pytest.mark.parametrize(("metadata", "url"), RECORDS)
def test_documents_name_their_records(metadata: dict[str, str], url: str) -> None:
    documents = [Document("1", "A gene", "It is mutated.", metadata=metadata)]
    data = page_data(Reranker(perspectives=[Arbitrary("relevance")]).rerank("gene", documents), documents)
    assert data["documents"][0]["record"]["url"] == url


def test_the_data_has_texts_columns_and_weights_in_the_order_of_the_input(ranked: Ranked) -> None:
    ranking, data = ranked()
    assert [document["id"] for document in data["documents"]] == ["11", "12", "13", "14", "15"]
    assert Weights.from_dict(data["weights"]) == ranking.weights
    assert (data["ordering"], data["signed"]) == (["order"], ["sts"])
    for document in data["documents"]:
        for sentence in document["sentences"]:
            assert document["sections"][sentence["section"]][sentence["begin"] : sentence["end"]].strip()
            assert set(sentence["scores"]) == set(ranking.weights.alpha)


def test_where_a_document_stood_is_the_first_stage_s_own_rank() -> None:
    """That of a hybrid search is by neither of its columns; without any score, it is by BM25 among the documents.

    Nobody moves from a rank that several share.
    """
    reranker = Reranker(perspectives=[Arbitrary("relevance")])

    def before(documents: list[Document]) -> list[int | None]:
        return [item["before"] for item in page_data(reranker.rerank("gene", documents), documents)["documents"]]

    fused = [
        Document(name, abstract="A gene.", score=score, scores={"bm25": bm25, "dense": dense})
        for name, score, bm25, dense in (("a", 0.02, 0.0, 0.9), ("b", 0.03, 3.0, 0.5), ("c", 0.02, 5.0, 0.1))
    ]
    assert before(fused) == [None, 1, None]
    assert before([Document("a", abstract="A cell."), Document("b", abstract="A gene.")]) == [2, 1]


def test_threads_that_share_a_reranker_get_the_pages_of_one_thread() -> None:
    reranker = Reranker(perspectives=[Arbitrary("relevance"), Arbitrary("sts")])

    def page(number: int) -> str:
        documents = DOCUMENTS[number % 3 :]
        return page_with(page_data(reranker.rerank(f"{QUERY} {number % 4}", documents), documents))

    expected = [page(number) for number in range(32)]
    assert list(from_threads(page, range(32))) == expected


def test_the_served_page_offers_what_the_index_can_be_searched_by() -> None:
    assert 'id="mode"' not in page_served([])
    assert re.findall("<option>(.*?)</option>", page_served(["bm25", "dense", "hybrid"])) == ["bm25", "dense", "hybrid"]
    assert '<option value="documents">a &amp; b.ris</option><option>bm25</option>' in page_served(["bm25"], "a & b.ris")


def test_a_page_loads_nothing_and_runs_only_its_own_script(ranked: Ranked) -> None:
    page = page_with(ranked()[1])
    assert not re.findall(r"(?:src|href)=", page.split("<script")[0].replace('href="#', ""))
    (script,) = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{digest}'" in page
    (inside,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert json.loads(inside) == json.loads(json.dumps(ranked()[1]))
    assert page.count("</script>") == 2


def test_the_page_s_code_makes_no_markup_of_texts() -> None:
    for name in MEDIA:
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|https?:(?!//www.w3.org/2000/svg\")",
            asset(name),
        )
    assert not re.search(r"\son\w+=|\sstyle=", asset("explain.html"))


def test_the_command_writes_it(tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus, page = tmp_path / "docs.jsonl", tmp_path / "page.html"
    corpus.write_text('{"id": "a", "abstract": "Aspirin does thin the blood."}\n{"id": "b", "title": "Heart"}\n')
    command = ["rerank", "aspirin", "--docs", str(corpus), "--bundle", str(tiny_bundle), "--output", str(page)]
    assert main(command) == 0
    assert "Aspirin does thin the blood." in page.read_text()
    assert f'"bundle": "{tiny_bundle.name}"' in page.read_text()
    whole = page.read_text()
    capsys.readouterr()
    assert main([*command, "--top-k", "1"]) == 0
    assert page.read_text() == whole  # each document may move up, so a page has all
    assert "Heart" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("folder.html", "is a folder; give --output the name of a file"),
        ("docs.jsonl/page.html", "cannot be written, because .*docs.jsonl is not a folder"),
        ("locked/page.html", "cannot be written, because .*locked is not writable"),
        ("locked/new/page.html", "cannot be written, because .*locked is not writable"),
        ("x" * 300 + ".html", "File name too long"),
    ],
)
def test_a_page_that_cannot_be_written_is_refused_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], place: str, message: str
) -> None:
    (tmp_path / "docs.jsonl").touch()
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "locked").mkdir(mode=0o500)
    if "locked" in place and os.access(tmp_path / "locked", os.W_OK):
        pytest.skip("this user may write anywhere")
    monkeypatch.setattr("sys.stdin", None)
    for query in ([], ["aspirin", "--docs", str(tmp_path / "none.jsonl")]):
        assert main(["rerank", *query, "--output", f"{tmp_path}/{place}", "--bundle", "no such bundle"]) == 2
        assert re.search(f"^mpir: .*{message}", capsys.readouterr().err)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["docs.jsonl", "folder.html", "locked"]


def test_a_page_may_be_in_a_new_folder_and_take_another_s_place(tiny_bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text('{"id": "a", "abstract": "Aspirin does thin the blood."}\n')
    command = ["rerank", "aspirin", "--docs", str(tmp_path / "docs.jsonl"), "--bundle", str(tiny_bundle), "--output"]
    for output in ([str(tmp_path / "new/folder/page.html")], [os.devnull, "--format", "html"]):
        assert main([*command, *output]) == 0
        assert main([*command, *output]) == 0
    assert "Aspirin" in (tmp_path / "new/folder/page.html").read_text()


def test_the_command_takes_the_query_of_a_pipe(
    tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    result = json.dumps({"query": "aspirin", "documents": [{"id": "a", "text": "Aspirin does thin the blood."}]})
    command = ["rerank", "--bundle", str(tiny_bundle), "--output", str(page)]
    pipe = lambda text: SimpleNamespace(buffer=io.BytesIO(text.encode()), isatty=lambda: False)  # noqa: E731
    monkeypatch.setattr("sys.stdin", pipe(f"{result}\n{result}\n"))
    assert main(command) == 2
    assert f"--output {page} shows the ranking of one query, but standard input" in capsys.readouterr().err
    queries = tmp_path / "queries.jsonl"
    queries.write_text(f"{result}\n{result}\n")
    assert main([*command, "--queries", str(queries)]) == 2
    assert f"but {queries} has more" in capsys.readouterr().err
    assert not page.exists()
    monkeypatch.setattr("sys.stdin", pipe(result))
    assert main(command) == 0
    assert "Aspirin does thin the blood." in page.read_text()


def in_node(names: str, code: str, module: str = "blend") -> str:
    """What a script prints that has these names of one of the page's modules."""
    script = (
        f'import {{ {names} }} from "{(Path(mpir.__file__).parent / "app/explain").as_uri()}/{module}.mjs";\n{code}'
    )
    command = ["node", "--input-type=module", "-e", script]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_the_page_blends_more_sentences_than_a_call_takes_arguments() -> None:
    script = "const values = Array.from({ length: 300000 }, (_, i) => i % 5);"
    printed = in_node("minmax, zscores", f"{script} console.log(minmax(values)[4], zscores(values).length);")
    assert printed.split() == ["1", "300000"]
    spread = re.compile(r"Math\.(?:min|max)\(\.\.\.")
    assert [name for name in MODULES if spread.search(asset(name).replace("Not Math.min(...values)", ""))] == []


def test_the_pages_files_are_at_the_addresses_that_it_names() -> None:
    named = re.findall(r'(?:src|href)="([^"#]+)"', page_served([]))
    imported = {
        path for name in MODULES for path in re.findall(r'^import [^;]*"\./([^"]+)";', asset(name), re.MULTILINE)
    }
    assert {urljoin("/explain", path) for path in named} == {"/explain/explain.css", "/explain/explain.mjs"}
    assert imported | {"explain.mjs"} == set(MODULES)


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_a_digit_grades_only_a_document_whose_text_is_shown() -> None:
    code = 'console.log(["3", "3", "ArrowDown", "c", "x"].map((key, i) => actionOf(key, i > 0)).join());'
    assert in_node("actionOf", code, "explain").strip() == "show,grade,next,compare,"


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_the_page_ranks_single_sentences_as_python_does() -> None:
    texts = ["Aspirin lowers fever in adults.", "Aspirin lowers fever.", "Coffee keeps people awake."]
    weights = Weights({"relevance": 1.0, "sts": 0.5}, beta={"bm25": 2.0})
    reranker = Reranker(perspectives=[Arbitrary("relevance"), Arbitrary("sts")], weights=weights)
    ranking = reranker.rerank("Does aspirin lower fever?", texts)
    data = page_data(ranking, [Document(str(i), "", text) for i, text in enumerate(texts)])
    code = f"const data = {json.dumps(data)}; console.log(JSON.stringify(blend(data, data.weights)))"
    result = json.loads(in_node("blend", code))
    for document in ranking:
        assert result[document.index]["score"] == pytest.approx(document.score)
        assert result[document.index]["sentences"][0]["score"] == pytest.approx(document.sentences[0].score)


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
@pytest.mark.parametrize("cascade", ["auto", "first", "all"])
def test_the_page_computes_the_probabilities_of_documents_however_far_they_were_read(cascade: Any) -> None:
    """Some documents are not read, some to the first exit, and some to the end; log-odds are sums on lines."""
    documents = [Document(str(i), f"Salt {i}", "Salt is lost. " * (i % 4)) for i in range(READ + 2)]
    ranking = Reranker("fast" if cascade == "all" else "default", run=RunOptions(cascade=cascade)).rerank(
        "Is salt lost?", documents
    )
    data = page_data(ranking, documents)
    code = f"const data = {json.dumps(data)}, b = blend(data, data.weights);"
    result = json.loads(in_node("blend, rankOf", f"{code} console.log(JSON.stringify([b, rankOf(data, b)]))"))
    readings = Counter(item["reading"] for item in data["documents"])
    expected = {"auto": {"unread": 2, "in_part": READ - READ_ON, "whole": READ_ON}}
    expected |= {"first": {"in_part": READ + 2}, "all": {"whole": READ + 2}}
    assert readings == expected[cascade]
    assert result[1] == [document.index for document in ranking]
    for document in ranking:
        blended = result[0][document.index]
        assert blended["score"] == pytest.approx(document.score)
        assert blended["score"] == pytest.approx(math.log(document.probability / (1 - document.probability)))
        assert blended["shares"] == pytest.approx(dict(document.shares), abs=1e-9)
        scores = sorted((sentence["score"] for sentence in blended["sentences"]), reverse=True)
        assert scores == pytest.approx([sentence.score for sentence in document.sentences])


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
@pytest.mark.parametrize("bm25", [(9.0, 11.0), (5.0, 11.0), (9.0, -11.0), (0.1, 0.1)])
def test_the_page_scales_bm25_of_few_documents_as_python_does(bm25: tuple[float, float]) -> None:
    rows = [{"scores": {"bm25": value, "dense": value / 20}, "sentences": []} for value in bm25]
    weights = Weights({"a": 1.0}, beta={"bm25": 1.0, "dense": 2.0}, normalise="zscore")
    data = json.dumps({"documents": rows, "ordering": [], "signed": []})
    code = f"console.log(JSON.stringify(blend({data}, {json.dumps(weights.to_dict())}).map((one) => one.score)))"
    values = np.array([[value, value / 20] for value in bm25])
    columns = Columns(
        layout=Layout.of(("bm25", "dense"), ("a",)),
        documents=values,
        sentences=np.zeros((0, 1)),
        query_of=np.zeros(2, np.int64),
        document_of=np.zeros(0, np.int64),
    )
    expected = blend(columns, weights).documents
    assert json.loads(in_node("blend", code)) == pytest.approx(expected.tolist())
    assert abs(expected[0]) == pytest.approx(
        {4.0: 2.742, 36.0: 3.0, 400.0: 3.0, 0.0: 0.0}[(bm25[0] - bm25[1]) ** 2], abs=0.001
    )


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        (" Salt ", "Salt"),
        ("salty " * 15, "salty " * 14 + "salty"),
        ("💊 water and saltiness " * 5, "💊 water and saltiness " * 3 + "💊 water and …"),
        ("a bcdefghijklmnopqrst" + " words" * 10 + "s" * 20, "a bcdefghijklmnopqrst" + " words" * 9 + " …"),
        ("x" * 100, "x" * 80 + " …"),
        ("", "Document 7"),
    ],
)
def test_a_document_without_a_title_is_called_by_how_its_text_begins(title: str, shown: str) -> None:
    documents = [Document("7", abstract=title)]
    data = page_data(Reranker(perspectives=[Arbitrary("relevance")]).rerank("salt", documents), documents)
    assert data["documents"][0]["name"] == shown


def test_a_question_that_is_far_too_long_is_shown_as_far_as_it_was_read() -> None:
    reranker, documents = Reranker(perspectives=[Arbitrary("relevance")]), [Document("1", abstract="A gene.")]
    data = page_data(reranker.rerank("💊 gene " * 1_000, documents), documents)
    assert data["heading"] == "💊 gene " * 571 + "💊 … (3002 more characters were not read)"
    assert page_data(reranker.rerank("gene", documents), documents)["heading"] == "gene"

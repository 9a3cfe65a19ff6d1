"""The table of first stages, and Cranfield's grades, which run backwards; kinds of index on vectors made up."""

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from mpir import Reranker
from mpir.core.text import Document
from mpir.core.weights import Weights

pytest.importorskip("faiss")
ROOT = Path(__file__).parents[2]
FILES = {
    "cran.all.1400": ".I 1\n.T\nthe heart\n.A\nsmith\n.B\n1958\n.W\na heart attack\n"
    ".I 2\n.T\n\n.A\n\n.B\n\n.W\na gene in a cell\n",
    "cran.qry": ".I 001\n.W\nheart attack\n.I 004\n.W\ngene\n",
    "cranqrel": "1 1 1\n1 2 -1\n2 2 4\n2 1 5\n",
}


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "experiments/dense/first_stages.py"))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "cranfield").mkdir()
    for name, text in FILES.items():
        (tmp_path / "cranfield" / name).write_text(text)
    return tmp_path


def test_cranfield_is_read_as_its_readme_says(script: dict[str, Any], data: Path) -> None:
    test = script["read"]("cranfield", data)
    assert [(document.id, document.title, document.abstract) for document in test.documents] == [
        ("1", "the heart", "a heart attack"),
        ("2", "", "a gene in a cell"),
    ]
    assert test.queries == {"1": "heart attack", "2": "gene"}  # by place, whatever the file calls them
    assert test.qrels == {"1": {"1": 4, "2": 0}, "2": {"2": 1, "1": 0}}


def test_a_row_for_every_first_stage(
    script: dict[str, Any],
    data: Path,
    tiny_encoder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = ["--encoder", str(tiny_encoder), "--indexes", str(data / "indexes"), "--sets", "cranfield"]
    monkeypatch.setattr(sys, "argv", ["dense.py", "--data", str(data), *options])
    assert script["main"]() == 0
    rows = [line.split("|")[2].strip() for line in capsys.readouterr().out.splitlines()[2:]]
    assert rows == ["BM25", "BM25 + RM3", "vectors", "both, RRF", "both, z-scores"]


def test_the_blend_orders_the_first_of_each_list_anew(
    script: dict[str, Any], bi_encoder_bundle: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The weight of a column beside which nothing else counts orders the head; the tail stays where it was."""
    documents = [Document(f"d{i}", "", text) for i, text in enumerate(("gene cell", "gene", "cell blood", "blood"))]
    test = script["TestSet"]("T", {"1": "gene blood"}, documents, {"1": {"d0": 1}})
    encoder = script["open_encoder"](str(bi_encoder_bundle))
    stages = script["first_stages"](test, tmp_path / "indexes", encoder, "Flat")
    alpha = dict.fromkeys(("relevance", "sts", "sia", "vectors"), 0.0) | {"relevance": 1e-9}
    for column in ("bm25", "dense"):
        weights = Weights(alpha, beta={"bm25": 0.0, "dense": 0.0} | {column: 1.0}, context="document")
        reranker = Reranker(str(bi_encoder_bundle), weights=weights, device="cpu")
        both = (stages["BM25"], stages["vectors"])
        result = script["Blended"](stages["both, RRF"], both, reranker, 3).search_batch(["gene blood"], 4)[0]
        before = [document.id for document in stages["both, RRF"].search("gene blood", 4)]
        assert {document.id for document in result[:3]} == set(before[:3])
        assert [document.id for document in result[3:]] == before[3:]
        scores = [document.scores[column] for document in result[:3]]
        assert scores == sorted(scores, reverse=True)
    stages["BM25"].close()


def test_indexes_are_made_anew_where_a_collection_has_other_texts(
    script: dict[str, Any], bi_encoder_bundle: Path, tmp_path: Path
) -> None:
    """As many documents as before, with the same ids, under the same name; another split searches the same ones."""
    encoder, result = script["open_encoder"](str(bi_encoder_bundle)), []
    for name, texts in (("T", ("gene", "heart")), ("T", ("heart", "gene")), ("T test", ("heart", "gene"))):
        documents = [Document(f"d{i}", "", text) for i, text in enumerate(texts)]
        test = script["TestSet"](name, {"1": "gene"}, documents, {"1": {"d0": 1}})
        stages = script["first_stages"](test, tmp_path / "indexes", encoder, "Flat")
        best = [stages[stage].search("gene", 1)[0].id for stage in ("BM25", "vectors")]
        result.append((best, (tmp_path / "indexes/dense/dense.json").stat().st_mtime_ns))
        stages["BM25"].close()
    assert [best for best, _ in result] == [["d0"] * 2, ["d1"] * 2, ["d1"] * 2]
    assert result[1][1] == result[2][1]


def test_bioasqs_gold_outside_a_pool_does_not_count(script: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "bioasq").mkdir()
    (tmp_path / "pubmed").mkdir()
    gold = {"q1": ["1", "2"], "q2": ["2"], "q3": ["1"]}
    link = "http://www.ncbi.nlm.nih.gov/pubmed/"
    questions = [
        {
            "id": question_id,
            "body": f"what is {question_id}",
            "type": "summary",
            "documents": [link + name for name in names],
        }
        for question_id, names in gold.items()
    ]
    (tmp_path / "bioasq/5B1_golden.json").write_text(json.dumps({"questions": questions}))
    (tmp_path / "bioasq/training.json").write_text(json.dumps({"questions": []}))
    (tmp_path / "bioasq/splits.json").write_text(json.dumps({"train": [], "dev": ["q1", "q2"], "test": ["q3"]}))
    for name, file in (("1", "abstracts"), ("2", "partial")):
        row = {"pmid": name, "title": "t", "abstract": f"text {name}"}
        (tmp_path / f"pubmed/{file}.jsonl").write_text(json.dumps(row) + "\n")
    test = script["read"]("abstracts", tmp_path)
    assert (test.name, test.qrels) == ("BioASQ dev, abstracts", {"q1": {"1": 1}})
    assert script["read"]("pool", tmp_path).qrels == {"q1": {"1": 1, "2": 1}, "q2": {"2": 1}}

"""The TripClick experiment: ensembles by hand, and the whole way on the sample, which is not gone twice."""

import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.corpora import read_corpus
from mpir.tasks.tripclick import Group, read_groups
from mpir.text.types import Question

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(ROOT / "experiments")
    return ROOT / "experiments"


def test_ensembles_by_hand(folder: Path) -> None:
    """Two documents, of which BM25 and one model prefer the first, and three models the second."""
    script = runpy.run_path(str(folder / "tripclick_ranking.py"))
    scores = np.array([[9.0, 5.0, 0.1, 0.0, 1.0], [2.0, 1.0, 0.9, 8.0, 3.0]])
    found = script["Scored"](["q", "nothing"], [["a", "b"], []], [scores, scores[:0]])
    systems = script["ensembles"](found, [1.0, 0.0, 0.0, 0.0, 0.0])
    assert systems["mean of scaled scores"] == {"q": {"a": pytest.approx(-2), "b": pytest.approx(2)}}
    fused = systems["reciprocal rank fusion"]["q"]
    assert fused["a"] == pytest.approx(1 / 61 + 3 / 62)
    assert fused["b"] == pytest.approx(3 / 61 + 1 / 62)
    assert systems["tuned blend"]["q"] == {"a": pytest.approx(1), "b": pytest.approx(-1)}
    group = Group("head", [Question("q", "?")], {"q": {"a": 1}})
    weights = script["tuned"]([group], [found])
    best = script["ensembles"](found, weights)["tuned blend"]["q"]
    assert best["a"] > best["b"]  # what equal weights get wrong
    assert sum(weights) == pytest.approx(1)


def test_the_sample_is_in_the_published_formats(folder: Path, tmp_path: Path) -> None:
    script = runpy.run_path(str(folder / "tripclick_sample.py"))
    benchmark = script["write_sample"](tmp_path / "benchmark")
    ids = {document.id for document in read_corpus([benchmark / "documents"])}
    queries: set[str] = set()
    for split in ("train", "val", "test"):
        groups = read_groups(benchmark, split)
        assert all(set(grades) <= ids for group in groups for grades in group.qrels.values())
        assert all(max(grades.values()) == (2 if group.name == "head" else 1) for group in groups
                   for grades in group.qrels.values())  # fmt: skip
        asked = {query.id for group in groups for query in group.queries}
        assert not asked & queries
        queries |= asked
    assert len(ids) / 2 < len(queries) <= len(ids) + 24


def test_ir_datasets_reads_the_same_from_the_same_files(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A peer, with the options by which it reads TripClick; it is no dependency of mpir."""
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    pytest.importorskip("ir_datasets", reason="needs ir_datasets")
    from ir_datasets.datasets.tripclick import QTYPE_MAP
    from ir_datasets.formats import GenericQuery, TrecDocs, TrecQrels, TrecQueries
    from ir_datasets.util.download import LocalDownload

    benchmark = runpy.run_path(str(folder / "tripclick_sample.py"))["write_sample"](tmp_path / "benchmark")
    peers = TrecDocs(LocalDownload(benchmark), parser="tut", path_globs=["**/docs_grp_*.txt"], namespace="tripclick")
    own = [(one.id, one.title, one.abstract.strip()) for one in read_corpus([benchmark / "documents"])]
    assert [(one.doc_id, one.title, one.text.strip()) for one in peers.docs_iter()] == own
    assert len(own) > 100
    for split in ("train", "val", "test"):
        for group in read_groups(benchmark, split):
            topics = LocalDownload(benchmark / f"topics/topics.{group.name}.{split}.txt")
            asked = TrecQueries(topics, qtype=GenericQuery, qtype_map=QTYPE_MAP).queries_iter()
            assert [(one.query_id, one.text) for one in asked] == [(one.id, one.body) for one in group.queries]
            way = "dctr" if group.name == "head" else "raw"
            judged = TrecQrels(LocalDownload(benchmark / f"qrels/qrels.{way}.{group.name}.{split}.txt"), {})
            assert [(one.query_id, one.doc_id, one.relevance) for one in judged.qrels_iter()] == [
                (query, name, grade) for query, grades in group.qrels.items() for name, grade in grades.items()
            ]


@pytest.mark.slow
def test_the_whole_way_is_gone_once(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("gensim", reason="needs the extra sia")
    pytest.importorskip("pyserini", reason="needs the extra lucene")
    script = runpy.run_path(str(folder / "tripclick.py"))
    script["main"].__globals__["SMALL"][1] = "4"
    monkeypatch.setattr(sys, "argv", ["tripclick.py", "--output", str(tmp_path), "--depth", "20", "--device", "cpu"])
    tables = []
    for _ in range(2):
        assert script["main"]() == 0
        tables.append([line for line in capsys.readouterr().out.splitlines() if line.startswith("|")])
        made = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/bundle/bundle.json")}
    assert tables[0] == tables[1]
    names = [line.split("|")[1].strip() for line in tables[0][2:]]
    assert names == [
        "BM25",
        "TK",
        "ColBERT",
        "DOT",
        "CAT",
        "mean of scaled scores",
        "reciprocal rank fusion",
        "tuned blend",
    ]
    assert len(made) == 4
    assert made == {path: path.stat().st_mtime_ns for path in made}


def test_true_data_want_an_encoder_and_documents(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script: dict[str, Any] = runpy.run_path(str(folder / "tripclick.py"))
    for options, message in (
        ([], "--tripclick wants an encoder to start from; name one with --checkpoint"),
        (["--checkpoint", "x"], "holds no documents; expected documents/docs_grp_00.txt"),
        (["--checkpoint", "x", "--depth", "0"], "--depth is 0; expected at least 1"),
    ):
        monkeypatch.setattr(sys, "argv", ["tripclick.py", "--tripclick", str(tmp_path), *options])
        assert script["main"]() == 2
        assert message in capsys.readouterr().err

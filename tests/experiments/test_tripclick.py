"""The TripClick experiment: ensembles by hand, and the whole way on the sample, which is not gone twice."""

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.tripclick.groups import Group, read_groups
from mpir.core.text.types import Question
from mpir.errors import InputError
from mpir.files.corpora import read_corpus
from mpir.files.corpora.trec import stream_run, write_run
from mpir.files.corpora.tripclick import SEPARATOR, read_documents
from mpir.files.corpora.triples import read_triples
from tests.conftest import make_checkpoint

ROOT = Path(__file__).parents[2]
FEW_STEPS = {"max_steps": 4, "learning_rate": 2e-3, "evaluate_every": 4, "precision": "fp32"}


@pytest.fixture
def folder() -> Path:
    return ROOT / "experiments/tripclick"


def test_a_folder_is_bound_by_what_finished_it_and_not_by_what_failed(folder: Path, tmp_path: Path) -> None:
    check = runpy.run_path(str(folder / "../common/provenance.py"))["check_made_by"]
    for steps in (1, 2):  # the first run failed
        check(tmp_path / "new", {"steps": steps}, finished="model")
    (tmp_path / "new/model").touch()
    check(tmp_path / "new", {"steps": 2}, finished="model")
    with pytest.raises(InputError, match=r"new: .*steps 2, .*\b3\b"):
        check(tmp_path / "new", {"steps": 3}, finished="model")


def test_a_checkpoint_is_known_by_its_content(folder: Path, tmp_path: Path) -> None:
    content_of = runpy.run_path(str(folder / "../common/provenance.py"))["content_of"]
    first, same, third = (make_checkpoint(tmp_path / f"{i}", outputs=1, seed=seed) for i, seed in enumerate((1, 1, 2)))
    assert content_of(first) == content_of(same) != content_of(third)
    assert content_of("some-hub/model") == content_of("some-hub/model") != content_of("some-hub/other")


def test_ensembles_by_hand(folder: Path) -> None:
    """Two documents, of which BM25 and one model prefer the first, and three models the second."""
    script = runpy.run_path(str(folder / "ranking.py"))
    scores = np.array([[9.0, 5.0, 0.1, 0.0, 1.0], [2.0, 1.0, 0.9, 8.0, 3.0]])
    result = script["Scored"](script["FOUR"], ["q", "nothing"], [["a", "b"], []], [scores, scores[:0]])
    systems = script["ensembles"](result, [1.0, 0.0, 0.0, 0.0, 0.0])
    assert systems["mean of scaled scores"] == {"q": {"a": pytest.approx(-2), "b": pytest.approx(2)}}
    fused = systems["reciprocal rank fusion"]["q"]
    assert fused["a"] == pytest.approx(1 / 61 + 3 / 62)
    assert fused["b"] == pytest.approx(3 / 61 + 1 / 62)
    assert systems["tuned blend"]["q"] == {"a": pytest.approx(1), "b": pytest.approx(-1)}
    group = Group("head", [Question("q", "?")], {"q": {"a": 1}})
    weights = script["tuned"]([group], [result])
    best = script["ensembles"](result, weights)["tuned blend"]["q"]
    assert best["a"] > best["b"]  # what equal weights get wrong
    assert sum(weights) == pytest.approx(1)


def test_what_is_reranked_is_limited_by_queries_words_and_depth(folder: Path) -> None:
    """TK alone, whose best stands third in BM25's order, so that nothing is found before three are reranked."""
    script = runpy.run_path(str(folder / "ranking.py"))
    names, scores = ["a", "b", "c"], np.array([[3.0, 1.0], [2.0, 0.0], [1.0, 9.0]])
    queries = [Question("nobody", "?"), Question("p", "?"), Question("q", "?")]
    group = Group("head", queries, {"p": {"c": 1}, "q": {"c": 1}})
    (limited_group,) = script["limited"]([group], 1)
    assert ([query.id for query in limited_group.queries], limited_group.qrels) == (["p"], {"p": {"c": 1}})
    assert [query.id for query in script["limited"]([group], None)[0].queries] == ["p", "q"]
    result = script["Scored"](["tk"], ["p"], [names], [scores])
    shallow = script["systems"]([script["at_depth"](result, 2)], [0.0, 1.0])
    assert shallow["TK"] == [{"p": {"a": 1.0, "b": 0.0}}]
    assert list(shallow)[:2] == ["BM25", "TK"]
    bm25_only = script["Scored"]([], ["p"], [names], [scores[:, :1]])
    assert script["systems"]([bm25_only], [1.0]) == {"BM25": [{"p": {"a": 3.0, "b": 2.0, "c": 1.0}}]}
    script["by_depth"].__globals__["DEPTHS"] = (2,)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in
            script["by_depth"]([limited_group], [result], script["columns"]).splitlines()]  # fmt: skip
    assert rows[0] == ["", "2", "3"]
    assert rows[2] == ["BM25", "0.000", "0.500"]
    assert rows[3] == ["TK", "0.000", "1.000"]
    assert script["cut"]("a b  c\nd", 3) == "a b c"
    assert script["cut"]("a b  c\nd", None) == "a b  c\nd"


def test_documents_that_answer_training_questions_can_be_left_out(folder: Path) -> None:
    """Document b is relevant in training, and c judged there, but not relevant; query q has no other than b."""
    script = runpy.run_path(str(folder / "ranking.py"))
    trained = [Group("head", [], {"t": {"b": 1, "c": 0}}), Group("tail", [], {"u": {"b": 2}})]
    group = Group("head", [Question("p", "?"), Question("q", "?")], {"p": {"a": 1, "b": 2}, "q": {"b": 1, "c": 0}})
    scores = [np.array([[3.0, 1.0], [2.0, 5.0], [1.0, 4.0]]), np.array([[1.0, 1.0]])]
    result = script["Scored"](["tk"], ["p", "q"], [["a", "b", "c"], ["b"]], scores)
    (left,), (kept_scores,) = script["unseen"]([group], [result], trained)
    assert ([query.id for query in left.queries], left.qrels) == (["p"], {"p": {"a": 1}})
    assert script["columns"]([kept_scores]) == {
        "BM25": [{"p": {"a": 3.0, "c": 1.0}}],
        "TK": [{"p": {"a": 1.0, "c": 4.0}}],
    }
    with pytest.raises(InputError, match=r"--unseen: .*group tail"):
        script["unseen"]([Group("tail", group.queries[1:], {"q": group.qrels["q"]})], [result], trained)


def bioasq(folder: Path) -> Path:
    """BioASQ and PubMed in small: a word of each question is in three, two or one of the abstracts."""
    (folder / "bioasq").mkdir()
    (folder / "pubmed").mkdir()
    texts = ["heart gene", "heart gene", "heart zinc", "cell"]
    abstracts = [{"pmid": f"{i}", "title": f"on {text}", "abstract": f"a\t{text}"} for i, text in enumerate(texts)]
    write_lines(folder / "pubmed/abstracts.jsonl", [*abstracts, {"pmid": "9", "title": "", "abstract": ""}])
    relevant_of = {"heart": ["0", "77"], "gene": ["1"], "zinc": ["2"]}
    ids: dict[str, list[str]] = {}
    for split, count in (("train", 40), ("dev", 2), ("test", 1)):
        questions = [
            {"id": f"{split}{word}{i}", "body": f"{split} {word} {i}", "type": "list",
             "documents": [f"http://x/{name}" for name in names]}
            for word, names in relevant_of.items() for i in range(count)
        ]  # fmt: skip
        if split == "train":
            questions += [{**questions[0], "id": "leaked", "body": "Dev heart 0?"},
                          {**questions[0], "id": "unanswerable", "documents": ["http://x/77"]}]  # fmt: skip
        ids[split] = [question["id"] for question in questions]
        name = "training.json" if split == "train" else f"{split}_golden.json"
        (folder / "bioasq" / name).write_text(json.dumps({"questions": questions}))
    (folder / "bioasq/splits.json").write_text(json.dumps(ids))
    return folder


def write_lines(path: Path, records: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def test_the_stand_in_has_tripclicks_formats_and_its_groups_go_by_the_rarest_word(folder: Path, tmp_path: Path) -> None:
    script = runpy.run_path(str(folder / "bioasq.py"))
    benchmark = script["write_bioasq"](bioasq(tmp_path), tmp_path / "benchmark", "dev")
    documents = list(read_corpus([benchmark / "documents"]))
    first = [(document.id, document.title, document.abstract) for document in documents[:2]]
    assert first == [("0", "on heart gene", "a heart gene"), ("1", "on heart gene", "a heart gene")]
    assert len(documents) == 4  # the empty one is no document
    groups_of = {split: read_groups(benchmark, split) for split in ("train", "val", "test")}
    for groups in groups_of.values():
        assert [{query.body.split()[1] for query in group.queries} for group in groups] == [
            {"heart"},
            {"gene"},
            {"zinc"},
        ]
    head = groups_of["test"][0]
    assert head.qrels == {"devheart0": {"0": 1}, "devheart1": {"0": 1}}  # 77 is not at hand
    names = [{query.id for group in groups for query in group.queries} for groups in groups_of.values()]
    assert [len(document) for document in names] == [30, 90, 6]
    assert not names[0] & names[1]
    assert not {"leaked", "unanswerable"} & (names[0] | names[1])


def test_the_sample_is_in_the_published_formats(folder: Path, tmp_path: Path) -> None:
    script = runpy.run_path(str(folder / "sample.py"))
    benchmark = script["write_sample"](tmp_path / "benchmark")
    ids = {document.id for document in read_corpus([benchmark / "documents"])}
    queries: set[str] = set()
    for split in ("train", "val", "test"):
        groups = read_groups(benchmark, split)
        assert all(set(grades) <= ids for group in groups for grades in group.qrels.values())
        assert all(max(grades.values()) == (2 if group.name == "head" else 1) for group in groups
                   for grades in group.qrels.values())  # fmt: skip
        query_ids = {query.id for group in groups for query in group.queries}
        assert not query_ids & queries
        queries |= query_ids
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

    benchmark = runpy.run_path(str(folder / "sample.py"))["write_sample"](tmp_path / "benchmark")
    peers = TrecDocs(LocalDownload(benchmark), parser="tut", path_globs=["**/docs_grp_*.txt"], namespace="tripclick")
    documents = [
        (document.id, document.title, document.abstract.strip()) for document in read_corpus([benchmark / "documents"])
    ]
    assert [(document.doc_id, document.title, document.text.strip()) for document in peers.docs_iter()] == documents
    assert len(documents) > 100
    for split in ("train", "val", "test"):
        for group in read_groups(benchmark, split):
            topics = LocalDownload(benchmark / f"topics/topics.{group.name}.{split}.txt")
            queries = TrecQueries(topics, qtype=GenericQuery, qtype_map=QTYPE_MAP).queries_iter()
            assert [(document.query_id, document.text) for document in queries] == [
                (document.id, document.body) for document in group.queries
            ]
            mode = "dctr" if group.name == "head" else "raw"
            judged = TrecQrels(LocalDownload(benchmark / f"qrels/qrels.{mode}.{group.name}.{split}.txt"), {})
            assert [(document.query_id, document.doc_id, document.relevance) for document in judged.qrels_iter()] == [
                (query, name, grade) for query, grades in group.qrels.items() for name, grade in grades.items()
            ]


def test_ir_datasets_reads_the_same_runs_and_triples_and_finds_the_ids_of_both_packagings(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run, triples of ids, and the same as texts, whose ids the peer looks up by what stands before and after <eot>.

    The texts are those that mpir reads from the tab-separated packaging of the same documents.
    """
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    pytest.importorskip("ir_datasets", reason="needs ir_datasets")
    from ir_datasets.datasets.tripclick import QTYPE_MAP, DocPairGenerator
    from ir_datasets.formats import GenericQuery, TrecDocs, TrecQueries, TrecScoredDocs, TsvDocPairs
    from ir_datasets.util.download import LocalDownload

    benchmark = runpy.run_path(str(folder / "sample.py"))["write_sample"](tmp_path / "benchmark")
    group, documents = read_groups(benchmark, "train")[0], list(read_corpus([benchmark / "documents"]))
    lines = [
        f"{record.id}\t{' '.join(f'{record.title} {SEPARATOR} {record.abstract}'.split())}\n" for record in documents
    ]
    (tmp_path / "docs.tsv").write_text("".join(lines))
    texts = {
        record.id: f"{record.title} {SEPARATOR} {record.abstract}" for record in read_documents(tmp_path / "docs.tsv")
    }
    assert list(texts) == [record.id for record in documents]
    clicks = [(query, next(iter(group.qrels[query.id])), documents[0].id) for query in group.queries[1:9]]
    run = {query.id: {positive: 2.5, negative: 0.5} for query, positive, negative in clicks}
    write_run(tmp_path / "run.trip.BM25.head.train.txt", run)
    peers = TrecScoredDocs(LocalDownload(tmp_path / "run.trip.BM25.head.train.txt")).scoreddocs_iter()
    both = stream_run(tmp_path / "run.trip.BM25.head.train.txt")
    assert [(record.query_id, record.doc_id) for record in peers] == [
        (query, name) for query, names in both for name in names
    ]
    by_id, by_text = tmp_path / "triples.ids.tsv", tmp_path / "triples.train.tsv"
    by_id.write_text("".join(f"{query.id}\t{positive}\t{negative}\n" for query, positive, negative in clicks))
    by_text.write_text("".join(f"{query.body}\t{texts[yes]}\t{texts[no]}\n" for query, yes, no in clicks))
    expected = [(record.question, record.positive, record.negative) for _, record in read_triples(by_id)]
    collection = TrecDocs(
        LocalDownload(benchmark), parser="tut", path_globs=["**/docs_grp_*.txt"], namespace="tripclick"
    )
    queries = TrecQueries(
        LocalDownload(benchmark / "topics/topics.head.train.txt"), qtype=GenericQuery, qtype_map=QTYPE_MAP
    )
    result = DocPairGenerator(LocalDownload(by_text), collection, queries, str(tmp_path / "pairs"))
    for pairs in (TsvDocPairs(LocalDownload(by_id)), TsvDocPairs(result)):
        assert [(record.query_id, record.doc_id_a, record.doc_id_b) for record in pairs.docpairs_iter()] == expected
    assert [record.question for _, record in read_triples(by_text)] == [query.body for query, _, _ in clicks]


@pytest.mark.slow
def test_the_whole_way_is_gone_once(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("gensim", reason="needs the extra sia")
    pytest.importorskip("pyserini", reason="needs the extra lucene")
    pytest.importorskip("faiss", reason="needs the extra dense")

    def rows(name: str, *options: str) -> list[list[str]]:
        monkeypatch.setattr(sys, "argv", [name, "--output", str(tmp_path), "--device", "cpu", *options])
        script = runpy.run_path(str(folder / name))
        monkeypatch.setattr("experiments.tripclick.training.SMALL", FEW_STEPS)
        assert script["main"]() == 0
        lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
        return [cells for line in lines if (cells := [cell.strip() for cell in line.split("|")[1:-1]])[-1].strip("-:")]

    tables = []
    for _ in range(2):
        tables.append(rows("rerank.py", "--depth", "20"))
        times = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/bundle/bundle.json")}
    assert tables[0] == tables[1]
    systems = ["BM25", "TK", "ColBERT", "DOT", "CAT", "mean of scaled scores", "reciprocal rank fusion", "tuned blend"]
    assert [row[0] for row in tables[0]] == 3 * ["", *systems]  # by group, their means, and by depth
    other_bundle = str(tmp_path / "cat/bundle")
    with_other = {
        row[0]: row[1:] for row in rows("rerank.py", "--depth", "20", "--models", "cat", "--also", other_bundle)
    }
    assert with_other[other_bundle] == with_other["CAT"]
    head, *searched = rows("dense.py")
    assert head[2:] == ["J@10", "nDCG@10", "MRR@10", "R@100", "R@200", "R@1000"]
    groups = ("head", "torso", "tail")
    assert [row[:2] for row in searched] == [[group, name] for group in groups for name in ("BM25", "DOT")]
    assert {row[-1] for row in searched if row[1] == "DOT"} == {"1.000"}  # all 168 documents are found
    assert len(times) == 4
    assert times == {path: path.stat().st_mtime_ns for path in times}
    for option, where in (("--triples", "data: was made with triples"), ("--faster", "tk: was made with options")):
        monkeypatch.setattr(sys, "argv", ["rerank.py", "--output", str(tmp_path), "--device", "cpu", option, "5"])
        script = runpy.run_path(str(folder / "rerank.py"))
        assert script["main"]() == 2
        assert where in capsys.readouterr().err


def test_true_data_want_an_encoder_and_documents(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script: dict[str, Any] = runpy.run_path(str(folder / "rerank.py"))
    for options, message in (
        ([], "--tripclick wants an encoder to start from; name one with --checkpoint"),
        (["--checkpoint", "x", "--queries", "0"], "--queries is 0"),
        (["--checkpoint", "x"], "holds no documents; expected documents/docs_grp_00.txt"),
        (["--checkpoint", "x", "--depth", "0"], "--depth is 0"),
    ):
        monkeypatch.setattr(sys, "argv", ["rerank.py", "--tripclick", str(tmp_path), *options])
        assert script["main"]() == 2
        assert message in capsys.readouterr().err

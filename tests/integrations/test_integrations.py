"""The drop-ins with the true libraries; each test is skipped where its library is not installed."""

import json
from pathlib import Path
from typing import Any

import pytest

from mpir import Reranker
from mpir.errors import ArtefactError, InputError
from tests.integrations.words import QUERY, TEXTS, Words

ORDER = [document.index for document in Reranker(perspectives=[Words()]).rerank(QUERY, TEXTS).documents]


@pytest.fixture
def reranker() -> Reranker:
    return Reranker(perspectives=[Words()])


@pytest.fixture
def bundle(tmp_path: Path) -> str:
    """A bundle of the perspective without a model, for drop-ins that are saved by the name of a bundle."""
    file = tmp_path / "words.json"
    manifest = {"format": 1, "perspectives": [{"name": "words", "kind": "words-for-tests"}]}
    file.write_text(json.dumps(manifest))
    return str(file)


def check_own(own: dict[str, Any], text: str) -> None:
    sentence = own["sentences"][0]
    assert text[sentence["begin"] : sentence["end"]] == sentence["text"]
    assert set(sentence["scores"]) == {"words"}
    json.dumps(own)


def test_langchain(reranker: Reranker) -> None:
    pytest.importorskip("langchain_core")
    from langchain_core.documents import Document

    from mpir.integrations.langchain import MpirCompressor

    inputs = [
        Document(page_content=text, metadata={"source": number}, id=str(number)) for number, text in enumerate(TEXTS)
    ]
    result = MpirCompressor(reranker=reranker, top_n=2).compress_documents(inputs, QUERY)
    assert [document.metadata["source"] for document in result] == ORDER[:2]
    assert result[0].id == str(ORDER[0])
    assert 0 < result[1].metadata["relevance_score"] < result[0].metadata["relevance_score"] < 1
    check_own(result[0].metadata["mpir"], result[0].page_content)
    assert inputs[0].metadata == {"source": 0}
    with pytest.raises(InputError, match="top_n is 0"):
        MpirCompressor(reranker=reranker, top_n=0).compress_documents(inputs, QUERY)


def test_langchain_loads_nothing_before_it_is_asked() -> None:
    pytest.importorskip("langchain_core")
    from mpir.integrations.langchain import MpirCompressor

    compressor = MpirCompressor(bundle="/no/such/bundle")
    with pytest.raises(ArtefactError, match="'/no/such/bundle' not found"):
        compressor.compress_documents([], QUERY)


def test_llama_index(reranker: Reranker) -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode

    from mpir.integrations.llama_index import MpirRerank

    nodes = [NodeWithScore(node=TextNode(text=text, id_=str(number)), score=0.1) for number, text in enumerate(TEXTS)]
    result = MpirRerank(reranker=reranker, top_n=2).postprocess_nodes(nodes, query_str=QUERY)
    assert [node.node.node_id for node in result] == [str(position) for position in ORDER[:2]]
    assert result[0].score > result[1].score
    check_own(result[0].node.metadata["mpir"], TEXTS[ORDER[0]])
    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        assert result[0].node.get_content(metadata_mode=mode) == TEXTS[ORDER[0]]
    assert nodes[0].node.metadata == {}
    (best,) = MpirRerank(reranker=reranker, top_n=1).postprocess_nodes(result, query_str=QUERY)
    assert best.node.excluded_llm_metadata_keys == ["mpir"]
    assert MpirRerank.class_name() == "MpirRerank"
    with pytest.raises(ValueError, match="needs a query"):
        MpirRerank(reranker=reranker).postprocess_nodes(nodes)


def test_llama_index_s_offsets_point_into_the_node_s_text_beside_metadata(reranker: Reranker) -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.schema import NodeWithScore, TextNode

    from mpir.integrations.llama_index import MpirRerank

    metadata = {"file": "thin.pdf", "page": 7, "hidden": "secret"}
    node = TextNode(text=f"  {TEXTS[1]}", metadata=metadata, excluded_embed_metadata_keys=["hidden"])
    (result,) = MpirRerank(reranker=reranker).postprocess_nodes([NodeWithScore(node=node)], query_str="thin blood")
    sentences = result.node.metadata["mpir"]["sentences"]
    assert {sentence["section"]: sentence["text"] for sentence in sentences[:2]} == {
        "abstract": "Aspirin does thin blood.",
        "title": "file: thin.pdf\npage: 7",
    }
    assert all(node.text[s["begin"] : s["end"]] == s["text"] for s in sentences if s["section"] == "abstract")


def test_haystack(bundle: str) -> None:
    pytest.importorskip("haystack")
    from haystack import Document, Pipeline

    from mpir.integrations.haystack import MpirRanker

    pipeline = Pipeline()
    pipeline.add_component("ranker", MpirRanker(bundle=bundle, top_k=2))
    repeated = Pipeline.loads(pipeline.dumps(), allowed_modules=["mpir.integrations.haystack"])
    inputs = [Document(content=text, meta={"source": number}) for number, text in enumerate(TEXTS)]
    result = repeated.run({"ranker": {"query": QUERY, "documents": inputs}})["ranker"]["documents"]
    assert [document.meta["source"] for document in result] == ORDER[:2]
    assert result[0].score > result[1].score
    check_own(result[0].meta["mpir"], TEXTS[ORDER[0]])
    assert inputs[0].meta == {"source": 0}
    twice = MpirRanker(bundle=bundle).run(query=QUERY, documents=[*inputs, *inputs], top_k=5)["documents"]
    assert [document.meta["source"] for document in twice] == ORDER  # as two retrievers bring them


def test_pyterrier(reranker: Reranker) -> None:
    pytest.importorskip("pyterrier")
    import pandas as pd
    import pyterrier as pt

    from mpir.integrations.pyterrier import MpirReranker

    rows = [
        {"qid": qid, "query": QUERY, "docno": f"d{i}", "text": text, "score": 3.0 - i, "rank": i, "kept": i}
        for qid in ("q2", "q1") for i, text in enumerate(TEXTS)
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    result = MpirReranker(reranker=reranker)(frame)
    for qid in ("q1", "q2"):
        section = result[result.qid == qid]
        assert list(section.docno) == [f"d{i}" for i in ORDER]
        assert list(section["rank"]) == [0, 1, 2]
        assert list(section.kept) == ORDER
    assert result.sentences[0][0]["text"] == "Aspirin does thin blood."
    assert list(frame.columns) == list(rows[0])
    assert not pt.java.started()
    with pytest.raises(pt.validate.InputValidationError):
        MpirReranker(reranker=reranker)(frame.drop(columns="text"))
    assert len(MpirReranker(reranker=reranker)(frame[:0])) == 0


def test_rerankers(reranker: Reranker) -> None:
    pytest.importorskip("rerankers")
    from mpir.integrations.rerankers import MpirRanker

    ranker = MpirRanker(reranker=reranker)
    outcome = ranker.rank(QUERY, TEXTS, doc_ids=["a", "b", "c"], metadata=[{"n": i} for i in range(3)])
    assert [result.doc_id for result in outcome.results] == ["abc"[i] for i in ORDER]
    assert [result.rank for result in outcome.results] == [1, 2, 3]
    assert outcome.results[0].document.metadata["n"] == ORDER[0]
    check_own(outcome.results[0].document.metadata["mpir"], TEXTS[ORDER[0]])
    assert ranker.rank(QUERY, []).results == []
    assert ranker.score(QUERY, TEXTS[1]) > ranker.score(QUERY, TEXTS[2])


def test_rank_llm_s_lines(reranker: Reranker, tmp_path: Path) -> None:
    from mpir.integrations.rank_llm import rerank_requests

    candidates = [{"docid": i, "score": 1.0, "doc": {"contents": text}} for i, text in enumerate(TEXTS)]
    line = {"query": {"text": QUERY, "qid": 7}, "candidates": candidates}
    file = tmp_path / "requests.jsonl"
    file.write_text(json.dumps(line) + "\n")
    (result,) = rerank_requests(file, reranker)
    assert result["query"] == line["query"]
    assert [candidate["docid"] for candidate in result["candidates"]] == ORDER
    assert result["candidates"][0]["doc"] == candidates[ORDER[0]]["doc"]
    for candidate in candidates:
        candidate["doc"] = {"contents": " ", "text": candidate["doc"]["contents"]}
    file.write_text(json.dumps(line) + "\n")
    (result,) = rerank_requests(file, reranker)
    assert [candidate["docid"] for candidate in result["candidates"]] == ORDER
    file.write_text('{"query": "a string", "candidates": []}\n')
    with pytest.raises(InputError, match=r'requests\.jsonl:1: .*"query" .*"text"'):
        list(rerank_requests(file, reranker))
    file.write_text(json.dumps({**line, "candidates": [candidates[0], candidates[0]]}) + "\n")
    with pytest.raises(InputError, match=r"requests\.jsonl:1: docs\[1\] and docs\[0\] .*id '0'"):
        list(rerank_requests(file, reranker))
    file.write_text(json.dumps({**line, "candidates": [{"docid": 1, "doc": "a string"}]}) + "\n")
    with pytest.raises(InputError, match=r"requests\.jsonl:1: a candidate is") as caught:
        list(rerank_requests(file, reranker))
    assert str(caught.value).count("requests.jsonl:1") == 1


def test_haystacks_duplicates_are_kept_as_its_own_rankers_keep_them() -> None:
    pytest.importorskip("haystack")
    from haystack import Document

    from mpir.integrations.haystack import _unique

    scores = {"1": [0.1, 0.9, 0.5], "2": [None, -3.0], "3": [None, None]}
    documents = [Document(id=i, content=f"{i}-{n}", score=s) for i, row in scores.items() for n, s in enumerate(row)]
    assert [document.content for document in _unique(documents)] == ["1-1", "2-1", "3-0"]

"""The drop-ins' scores and their order, both names of the number of results, and evidence with ids and offsets."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import mpir
from mpir import NamedModels, Ranking, Reranker
from mpir.core.results import relevance_score
from mpir.errors import InputError
from mpir.reranking.evidence import FLOOR

pytest.importorskip("torch", reason="the drop-ins rank with real models here")
QUERY = "Which gene is mutated in cystic fibrosis?"
TEXTS = [
    "Gene therapy for cystic fibrosis: which patients should be treated? Trials enrolled adults with cystic fibrosis.",
    "Weather was fine. Cystic fibrosis is caused by mutations of CFTR, a chloride channel. Carriers are healthy.",
    "Many a gene is mutated in pancreatic cancer. KRAS is the most frequent.",
]
SCORED = Callable[..., list[tuple[int, float]]]


@pytest.fixture(scope="module")
def default() -> Reranker:
    return Reranker("default", device="cpu", precision="fp32")


@pytest.fixture(scope="module")
def unblended() -> Reranker:
    """One named model alone: a shipped one, which is read without transformers, that these environments lack."""
    folder = Path(mpir.__file__).parent / "bundles/default/model"
    models = NamedModels(names=[folder], only=True, options={"output": 3})
    return Reranker(models=models, device="cpu", precision="fp32")


def with_langchain(reranker: Reranker, texts: list[str], **options: Any) -> list[tuple[int, float]]:
    pytest.importorskip("langchain_core")
    from langchain_core.documents import Document

    from mpir.integrations.langchain import MpirCompressor

    documents = [Document(page_content=text, metadata={"n": number}) for number, text in enumerate(texts)]
    results = MpirCompressor(reranker=reranker, **options).compress_documents(documents, QUERY)
    return [(result.metadata["n"], result.metadata["relevance_score"]) for result in results]


def with_llama_index(reranker: Reranker, texts: list[str], **options: Any) -> list[tuple[int, float]]:
    pytest.importorskip("llama_index.core")
    from llama_index.core.schema import NodeWithScore, TextNode

    from mpir.integrations.llama_index import MpirRerank

    nodes = [NodeWithScore(node=TextNode(text=text, id_=str(number))) for number, text in enumerate(texts)]
    results = MpirRerank(reranker=reranker, **options).postprocess_nodes(nodes, query_str=QUERY)
    return [(int(result.node.node_id), float(result.score or 0)) for result in results]


def with_haystack(reranker: Reranker, texts: list[str], **options: Any) -> list[tuple[int, float]]:
    pytest.importorskip("haystack")
    from haystack import Document

    from mpir.integrations.haystack import MpirRanker

    ranker = MpirRanker(**options)
    ranker._lazy._reranker = reranker
    documents = [Document(content=text, meta={"n": number}) for number, text in enumerate(texts)]
    results = ranker.run(query=QUERY, documents=documents)["documents"]
    return [(result.meta["n"], float(result.score or 0)) for result in results]


def with_rerankers(reranker: Reranker, texts: list[str]) -> list[tuple[int, float]]:
    pytest.importorskip("rerankers")
    from mpir.integrations.rerankers import MpirRanker

    results = MpirRanker(reranker=reranker).rank(QUERY, texts).results
    return [(result.doc_id, float(result.score)) for result in results]


DROP_INS: Mapping[str, SCORED] = {
    "langchain": with_langchain,
    "llama-index": with_llama_index,
    "haystack": with_haystack,
    "rerankers": with_rerankers,
}


@pytest.mark.parametrize("name", DROP_INS)
def test_results_are_sorted_by_the_score_that_they_carry(name: str, default: Reranker) -> None:
    results = DROP_INS[name](default, TEXTS)
    expected = {document.index: relevance_score(document) for document in default.rerank(QUERY, TEXTS)}
    assert dict(results) == pytest.approx(expected)
    scores = [score for _, score in results]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("name", DROP_INS)
def test_one_model_s_score_is_its_own_alone_and_in_any_list(name: str, unblended: Reranker) -> None:
    results = dict(DROP_INS[name](unblended, TEXTS))
    assert len({round(score, 4) for score in results.values()}) == len(TEXTS)
    for document in unblended.rerank(QUERY, TEXTS):
        assert results[document.index] == pytest.approx(document.scores["model"])
        ((_, score),) = DROP_INS[name](unblended, [TEXTS[document.index]])
        assert score == pytest.approx(results[document.index], abs=1e-6)


@pytest.mark.parametrize("name", ["langchain", "llama-index", "haystack"])
def test_both_names_of_the_number_of_results_are_taken(name: str, unblended: Reranker) -> None:
    results = DROP_INS[name](unblended, TEXTS)
    for options in ({"top_n": 2}, {"top_k": 2}, {"top_n": 2, "top_k": 2}):
        assert DROP_INS[name](unblended, TEXTS, **options) == results[:2]
    with pytest.raises(InputError, match=r"top_n is 1 .*top_k is 2"):
        DROP_INS[name](unblended, TEXTS, top_n=1, top_k=2)
    for number in ("top_n", "top_k"):
        with pytest.raises(InputError, match=f"{number} is 0"):
            DROP_INS[name](unblended, TEXTS, **{number: 0})


def test_haystack_takes_both_names_for_a_run_too(unblended: Reranker) -> None:
    pytest.importorskip("haystack")
    from haystack import Document

    from mpir.integrations.haystack import MpirRanker

    ranker = MpirRanker(top_n=3)
    ranker._lazy._reranker = unblended
    documents = [Document(content=text) for text in TEXTS]
    assert len(ranker.run(query=QUERY, documents=documents)["documents"]) == 3
    for options in ({"top_n": 1}, {"top_k": 1}):
        assert len(ranker.run(query=QUERY, documents=documents, **options)["documents"]) == 1
    assert MpirRanker.from_dict(ranker.to_dict()).top_k == 3


def evidence_of(default: Reranker) -> Ranking:
    """The ranking whose evidence the drop-ins are to give."""
    return default.rerank(QUERY, TEXTS).by_relevance()


def test_langchain_s_evidence_names_its_document(default: Reranker) -> None:
    pytest.importorskip("langchain_core")
    from langchain_core.documents import Document

    from mpir.integrations.langchain import MpirCompressor

    documents = [Document(page_content=text, id=f"d{number}") for number, text in enumerate(TEXTS)]
    passages = evidence_of(default).evidence(200)
    results = MpirCompressor(reranker=default, max_tokens=200).compress_documents(documents, QUERY)
    assert [result.page_content for result in results] == [passage.text for passage in passages]
    for result in results:
        facts = result.metadata["mpir"]
        source = next(document for document in documents if document.id == facts["document"])
        assert result.id is None
        assert source.page_content[facts["begin"] : facts["end"]] == result.page_content
        assert facts["answer_probability"] >= FLOOR


def test_llama_index_s_nodes_of_evidence_have_ids_and_offsets_of_their_own(default: Reranker) -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

    from mpir.integrations.llama_index import MpirRerank

    book = " ".join(TEXTS)
    nodes = []
    for number, text in enumerate(TEXTS):
        start = book.index(text)
        node = TextNode(text=text, id_=f"n{number}", start_char_idx=start, end_char_idx=start + len(text))
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="book")
        node.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id="after")
        nodes.append(NodeWithScore(node=node))
    options = {"reranker": default, "max_tokens": 200, "min_answer_probability": 0.0}
    results = MpirRerank(**options).postprocess_nodes(nodes, query_str=QUERY)
    assert len({result.node.node_id for result in results}) == len(results) > 1
    for result in results:
        node, facts = result.node, result.node.metadata["mpir"]
        assert isinstance(node, TextNode)
        assert book[node.start_char_idx : node.end_char_idx] == node.text
        parent = next(item.node for item in nodes if item.node.node_id == facts["document"])
        assert isinstance(parent, TextNode)
        assert parent.text[facts["begin"] : facts["end"]] == node.text
        assert node.node_id == f"{parent.node_id}:abstract:{facts['begin']}-{facts['end']}"
        assert node.parent_node and node.parent_node.node_id == parent.node_id
        assert node.ref_doc_id == "book"
        assert node.next_node is None
    assert [item.node.node_id for item in nodes] == ["n0", "n1", "n2"]
    assert nodes[0].node.next_node


@pytest.mark.parametrize("name", ["langchain", "llama-index", "haystack"])
def test_a_question_that_nothing_answers_has_no_evidence(name: str, default: Reranker) -> None:
    texts = ["Aspirin thins the blood of patients.", "Rain fell on the fields of wheat."]
    assert DROP_INS[name](default, texts, max_tokens=500) == []


def test_haystack_s_settings_are_saved(tmp_path: Path) -> None:
    pytest.importorskip("haystack")
    from mpir.integrations.haystack import MpirRanker

    settings = MpirRanker(max_tokens=9, min_answer_probability=0.2).to_dict()["init_parameters"]
    assert (settings["max_tokens"], settings["min_answer_probability"]) == (9, 0.2)

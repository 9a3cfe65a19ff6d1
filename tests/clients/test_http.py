"""True clients against a running server: what they send is understood, and they understand what comes back."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.clients.conftest import QUERY, TEXTS


def check(found: Sequence[tuple[int, float]], results: int = 3) -> None:
    """The one document about the question comes first, and scores fall from 1 towards 0."""
    positions, scores = zip(*found, strict=True)
    assert len(positions) == results
    assert positions[0] == 1
    assert list(scores) == sorted(scores, reverse=True)
    assert all(0 < score < 1 for score in scores)


def test_cohere_1(url: str) -> None:
    cohere = pytest.importorskip("cohere")
    client = cohere.Client(api_key="none", base_url=url)
    answer = client.rerank(model="rerank-v3.5", query=QUERY, documents=TEXTS, top_n=2, return_documents=True)
    check([(result.index, result.relevance_score) for result in answer.results], results=2)
    assert answer.results[0].document.text == TEXTS[1]


def test_cohere_2(url: str) -> None:
    cohere = pytest.importorskip("cohere")
    answer = cohere.ClientV2(api_key="none", base_url=url).rerank(model="rerank-v4", query=QUERY, documents=TEXTS)
    check([(result.index, result.relevance_score) for result in answer.results])
    assert answer.meta.api_version.version == "2"


def test_cohere_s_errors(url: str) -> None:
    cohere = pytest.importorskip("cohere")
    for client in (cohere.Client(api_key="none", base_url=url), cohere.ClientV2(api_key="none", base_url=url)):
        with pytest.raises(cohere.BadRequestError) as raised:
            client.rerank(model="rerank-v3.5", query="", documents=TEXTS)
        assert "query is '';" in str(raised.value.body)


def test_voyage(url: str) -> None:
    voyageai = pytest.importorskip("voyageai")
    client = voyageai.Client(api_key="none", base_url=f"{url}/v1")
    answer = client.rerank(QUERY, TEXTS, model="rerank-2.5", top_k=2)
    check([(result.index, result.relevance_score) for result in answer.results], results=2)
    assert answer.results[0].document == TEXTS[1]
    assert answer.total_tokens > 0
    with pytest.raises(voyageai.error.InvalidRequestError, match="top_k is 0"):
        client.rerank(QUERY, TEXTS, model="rerank-2.5", top_k=0)


def test_rerankers(url: str) -> None:
    APIRanker = pytest.importorskip("rerankers.models.api_rankers").APIRanker  # noqa: N806
    answer = APIRanker("any", "none", "cohere", url=f"{url}/v1/rerank").rank(QUERY, TEXTS, doc_ids=[0, 1, 2])
    check([(result.document.doc_id, result.score) for result in answer.results])


@pytest.mark.parametrize("provider", ["jina", "voyage", "text-embeddings-inference"])
def test_rerankers_by_other_dialects(url: str, provider: str) -> None:
    rankers = pytest.importorskip("rerankers.models.api_rankers")
    path = "/rerank" if provider.startswith("text") else "/v1/rerank"
    answer = rankers.APIRanker("any", "none", provider, verbose=0, url=url + path).rank(QUERY, TEXTS, doc_ids=[0, 1, 2])
    check([(result.document.doc_id, result.score) for result in answer.results])


def _nodes() -> list[Any]:
    schema = pytest.importorskip("llama_index.core.schema")
    nodes = [schema.TextNode(text=text, id_=str(number)) for number, text in enumerate(TEXTS)]
    return [schema.NodeWithScore(node=node, score=0.5) for node in nodes]


def _check_nodes(found: list[Any]) -> None:
    check([(int(node.node.node_id), node.score) for node in found])


def test_llama_index_s_jina(url: str) -> None:
    jina = pytest.importorskip("llama_index.postprocessor.jinaai_rerank")
    reranker = jina.JinaRerank(api_key="none", top_n=3, base_url=f"{url}/v1")
    _check_nodes(reranker.postprocess_nodes(_nodes(), query_str=QUERY))


def test_llama_index_s_tei(url: str) -> None:
    tei = pytest.importorskip("llama_index.postprocessor.tei_rerank")
    reranker = tei.TextEmbeddingInference(base_url=url, top_n=3)
    _check_nodes(reranker.postprocess_nodes(_nodes(), query_str=QUERY))


def _documents() -> list[Any]:
    haystack = pytest.importorskip("haystack")
    return [haystack.Document(content=text, id=str(number)) for number, text in enumerate(TEXTS)]


def test_haystack_s_cohere(url: str) -> None:
    rankers = pytest.importorskip("haystack_integrations.components.rankers.cohere")
    from haystack.utils import Secret

    ranker = rankers.CohereRanker(api_key=Secret.from_token("none"), api_base_url=url)
    result = ranker.run(query=QUERY, documents=_documents())["documents"]
    check([(int(document.id), document.score) for document in result])


def test_haystack_s_jina(url: str) -> None:
    rankers = pytest.importorskip("haystack_integrations.components.rankers.jina")
    from haystack.utils import Secret

    ranker = rankers.JinaRanker(api_key=Secret.from_token("none"), base_url=f"{url}/v1/rerank")
    result = ranker.run(query=QUERY, documents=_documents())["documents"]
    check([(int(document.id), document.score) for document in result])


def test_langchain_s_cohere(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    langchain_cohere = pytest.importorskip("langchain_cohere")
    from langchain_core.documents import Document

    monkeypatch.setenv("COHERE_API_KEY", "none")
    compressor = langchain_cohere.CohereRerank(model="rerank-v3.5", base_url=url, top_n=3)
    documents = [Document(page_content=text, metadata={"place": number}) for number, text in enumerate(TEXTS)]
    result = compressor.compress_documents(documents, QUERY)
    check([(document.metadata["place"], document.metadata["relevance_score"]) for document in result])


def test_langchain_s_jina(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = pytest.importorskip("langchain_community.document_compressors.jina_rerank")
    from langchain_core.documents import Document

    monkeypatch.setattr(module, "JINA_API_URL", f"{url}/v1/rerank")
    compressor = module.JinaRerank(jina_api_key="none", top_n=3)
    documents = [Document(page_content=text, metadata={"place": number}) for number, text in enumerate(TEXTS)]
    result = compressor.compress_documents(documents, QUERY)
    check([(document.metadata["place"], document.metadata["relevance_score"]) for document in result])


def test_litellm(url: str) -> None:
    litellm = pytest.importorskip("litellm")
    question = {"query": QUERY, "documents": TEXTS}
    answer = litellm.rerank(model="cohere/rerank-v3.5", **question, top_n=2, api_base=url, api_key="none")
    check([(result["index"], result["relevance_score"]) for result in answer.results], results=2)


LITELLM_BASES = {"hosted_vllm/any": "", "jina_ai/any": "/v1/rerank", "huggingface/any": "", "voyage/rerank-2.5": "/v1"}
"""What follows the server's address in LiteLLM's `api_base`, by the model's name, which begins with its provider."""


@pytest.mark.parametrize("model", LITELLM_BASES)
def test_litellm_by_other_dialects(url: str, model: str) -> None:
    litellm = pytest.importorskip("litellm")
    base = url + LITELLM_BASES[model]
    answer = litellm.rerank(model=model, query=QUERY, documents=TEXTS, top_n=3, api_base=base, api_key="none")
    check([(result["index"], result["relevance_score"]) for result in answer.results])

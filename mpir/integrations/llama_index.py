"""LlamaIndex: a node postprocessor that reranks. Extra ``llama-index``."""

from __future__ import annotations

from typing import Any

from mpir.core.results import relevance_score
from mpir.extras import needs
from mpir.integrations.common import SENTENCES, Lazy, details, evidence_figures
from mpir.reranking.evidence import Passage

with needs("llama-index", "the drop-in for LlamaIndex"):
    from llama_index.core.bridge.pydantic import ConfigDict, PrivateAttr
    from llama_index.core.instrumentation import get_dispatcher
    from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle

dispatcher = get_dispatcher(__name__)
METADATA_KEY = "mpir"


class MpirRerank(BaseNodePostprocessor):
    """Reranks nodes by their text, with the metadata that is embedded along with it as the title.

    Each returned node is a copy. Its metadata has mpir's figures under "mpir", hidden from embedding and language
    models; offsets of the section "abstract" point into the node's text. With `max_tokens` the nodes are passages of
    evidence instead (`Ranking.evidence`), several of one node perhaps, each with its own text.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    bundle: str = "default"
    device: str = "auto"
    top_n: int | None = None
    min_probability: float | None = None
    """Return nodes of at least this probability."""
    max_tokens: int | None = None
    """Return evidence of at most so many tokens in place of whole nodes."""
    tokenizer: Any = None
    """Counts the tokens: a function of a text, or an object with `encode`; by default, four characters are one."""
    sentences: int = SENTENCES
    reranker: Any = None
    """A Reranker to use instead of the bundle."""
    _lazy: Lazy = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Remember what to load; nothing is loaded yet."""
        super().model_post_init(context)
        self._lazy = Lazy(self.reranker, self.bundle, self.device)

    @classmethod
    def class_name(cls) -> str:
        """The name by which LlamaIndex knows this class."""
        return "MpirRerank"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise ValueError("MpirRerank needs a query; give query_bundle or query_str.")
        count = len(nodes) if self.top_n is None else self.top_n
        dispatcher.event(ReRankStartEvent(query=query_bundle, nodes=nodes, top_n=count, model_name=self.bundle))
        inputs = [_document(node.node) for node in nodes]
        ranking = self._lazy.rank(query_bundle.query_str, inputs, self.top_n, self.min_probability)
        if self.max_tokens is None:
            results = [self._result(nodes[ranked.index], ranked) for ranked in ranking.documents]
        else:
            passages = ranking.evidence(self.max_tokens, self.tokenizer)
            results = [self._evidence(nodes[passage.index], passage) for passage in passages]
        dispatcher.event(ReRankEndEvent(nodes=results))
        return results

    def _result(self, node: NodeWithScore, ranked: Any) -> NodeWithScore:
        return NodeWithScore(node=_copy(node, details(ranked, self.sentences)), score=relevance_score(ranked))

    def _evidence(self, node: NodeWithScore, passage: Passage) -> NodeWithScore:
        copy = _copy(node, evidence_figures(passage))
        copy.set_content(passage.text)
        return NodeWithScore(node=copy, score=passage.probability)


def _copy(node: NodeWithScore, figures: dict[str, Any]) -> BaseNode:
    """A copy of a node with mpir's figures in its metadata."""
    copy: BaseNode = node.node.model_copy(deep=True)
    copy.metadata[METADATA_KEY] = figures
    for hidden in (copy.excluded_embed_metadata_keys, copy.excluded_llm_metadata_keys):
        hidden[:] = dict.fromkeys([*hidden, METADATA_KEY])  # only once, even where the nodes were reranked before
    return copy


def _document(node: BaseNode) -> dict[str, str]:
    title = node.get_metadata_str(mode=MetadataMode.EMBED)
    return {"title": title, "text": node.get_content(metadata_mode=MetadataMode.NONE)}

"""LlamaIndex: a node postprocessor that reranks. Extra ``llama-index``."""

from __future__ import annotations

from typing import Any

from mpir.extras import needs
from mpir.integrations.common import SENTENCES, Lazy, details

with needs("llama-index", "the drop-in for LlamaIndex"):
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.instrumentation import get_dispatcher
    from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle

dispatcher = get_dispatcher(__name__)
METADATA_KEY = "mpir"


class MpirRerank(BaseNodePostprocessor):
    """Reranks nodes by their text, with the metadata that is embedded along with it as the title.

    Each returned node is a copy. Its metadata has mpir's figures under "mpir", hidden from embedding and language
    models; offsets of the section "abstract" point into the node's text.
    """

    bundle: str = "default"
    device: str = "auto"
    top_n: int | None = None
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
        ranking = self._lazy.rank(query_bundle.query_str, [_document(node.node) for node in nodes], self.top_n)
        results = [self._result(nodes[ranked.index], ranked) for ranked in ranking.documents]
        dispatcher.event(ReRankEndEvent(nodes=results))
        return results

    def _result(self, node: NodeWithScore, ranked: Any) -> NodeWithScore:
        copy = node.node.model_copy(deep=True)
        copy.metadata[METADATA_KEY] = details(ranked, self.sentences)
        for hidden in (copy.excluded_embed_metadata_keys, copy.excluded_llm_metadata_keys):
            hidden[:] = dict.fromkeys([*hidden, METADATA_KEY])  # only once, even where the nodes were reranked before
        return NodeWithScore(node=copy, score=self._lazy.relevance(ranked))


def _document(node: BaseNode) -> dict[str, str]:
    title = node.get_metadata_str(mode=MetadataMode.EMBED)
    return {"title": title, "text": node.get_content(metadata_mode=MetadataMode.NONE)}

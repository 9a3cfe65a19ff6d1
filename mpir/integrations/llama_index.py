"""LlamaIndex: a node postprocessor that reranks. Extra ``llama-index``."""

from __future__ import annotations

from typing import Any

from mpir.core.results import relevance_score
from mpir.core.text.types import TITLE
from mpir.extras import needs
from mpir.integrations.common import SENTENCES, Lazy, details, evidence_figures, number_of_results
from mpir.reranking.evidence import Passage

with needs("llama-index", "the drop-in for LlamaIndex"):
    from llama_index.core.bridge.pydantic import ConfigDict, PrivateAttr
    from llama_index.core.instrumentation import get_dispatcher
    from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import (
        BaseNode,
        MetadataMode,
        NodeRelationship,
        NodeWithScore,
        QueryBundle,
        RelatedNodeInfo,
        TextNode,
    )

dispatcher = get_dispatcher(__name__)
METADATA_KEY = "mpir"


class MpirRerank(BaseNodePostprocessor):
    """Reranks nodes by their text, with the metadata that is embedded along with it as the title.

    Each returned node is a copy. Its metadata has mpir's figures under "mpir", hidden from embedding and language
    models; offsets of the section "abstract" point into the node's text. With `max_tokens` the nodes are passages of
    evidence instead (`Ranking.evidence`), several of one node perhaps, each with an id, a text and offsets of its own;
    the node that it is from is its parent. There may be none, and the log names what did not fit.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    bundle: str = "default"
    device: str = "auto"
    top_n: int | None = None
    top_k: int | None = None
    """The same as `top_n`, by the name that other libraries have for it."""
    min_probability: float | None = None
    """Return nodes of at least this probability."""
    max_tokens: int | None = None
    """Return evidence of at most so many tokens in place of whole nodes."""
    min_answer_probability: float | None = None
    """The least probability of a sentence of evidence to answer, by default 0.05."""
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
        number = number_of_results(top_n=self.top_n, top_k=self.top_k)
        count = len(nodes) if number is None else number
        dispatcher.event(ReRankStartEvent(query=query_bundle, nodes=nodes, top_n=count, model_name=self.bundle))
        inputs = [_document(node.node) for node in nodes]
        ranking = self._lazy.rank(query_bundle.query_str, inputs, number, self.min_probability)
        if self.max_tokens is None:
            results = [self._result(nodes[ranked.index], ranked) for ranked in ranking.documents]
        else:
            passages = ranking.evidence(
                self.max_tokens, self.tokenizer, min_answer_probability=self.min_answer_probability
            )
            results = [self._evidence(nodes[passage.index], passage) for passage in passages]
        dispatcher.event(ReRankEndEvent(nodes=results))
        return results

    def _result(self, node: NodeWithScore, ranked: Any) -> NodeWithScore:
        return NodeWithScore(node=_copy(node, details(ranked, self.sentences)), score=relevance_score(ranked))

    def _evidence(self, node: NodeWithScore, passage: Passage) -> NodeWithScore:
        source = node.node
        copy = _copy(node, {**evidence_figures(passage), "document": source.node_id})
        copy.set_content(passage.text)
        copy.id_ = f"{source.node_id}:{passage.section}:{passage.begin}-{passage.end}"
        copy.embedding = None
        copy.relationships[NodeRelationship.PARENT] = RelatedNodeInfo(node_id=source.node_id)
        for neighbour in (NodeRelationship.PREVIOUS, NodeRelationship.NEXT):
            copy.relationships.pop(neighbour, None)
        if isinstance(copy, TextNode):
            copy.start_char_idx, copy.end_char_idx = _offsets(source, passage)
        return NodeWithScore(node=copy, score=passage.probability)


def _offsets(node: BaseNode, passage: Passage) -> tuple[int | None, int | None]:
    """A passage's offsets where the node's are: in the document that the node is from, or else in the node's text."""
    if passage.section == TITLE:
        return None, None
    start = getattr(node, "start_char_idx", None) or 0
    return start + passage.begin, start + passage.end


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

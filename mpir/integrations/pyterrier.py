"""PyTerrier: a transformer that reranks a frame of results, without starting Java. Extra ``pyterrier``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mpir.extras import needs
from mpir.integrations.common import SENTENCES, Lazy, details

with needs("pyterrier", "the drop-in for PyTerrier"):
    import pyterrier as pt

if TYPE_CHECKING:
    import pandas

    from mpir.reranking.reranker import Reranker


class MpirReranker(pt.Transformer):
    """Reranks each query's documents by the column `text`, and by the column `title` where there is one.

    `score` and `rank` (from 0) are replaced, and `sentences` holds each document's best sentences with their offsets,
    scores and shares. Every other column stays. With `first_stage`, the incoming `score` is used as BM25's.
    """

    def __init__(
        self,
        bundle: str = "default",
        *,
        text: str = "text",
        first_stage: bool = False,
        sentences: int = SENTENCES,
        device: str = "auto",
        reranker: Reranker | None = None,
    ) -> None:
        """`reranker` is used instead of the bundle; nothing is loaded before the first query."""
        super().__init__()
        self.text, self.first_stage, self.sentences = text, first_stage, sentences
        self._lazy = Lazy(reranker, bundle, device)

    def transform(self, inp: pandas.DataFrame) -> pandas.DataFrame:
        """The frame with new scores, ranks and sentences, best first within each query.

        Raises:
            pyterrier's InputValidationError: the frame lacks qid, query, docno or the text.
        """
        import pandas

        needed = ["query", self.text, *(["score"] if self.first_stage else [])]
        pt.validate.result_frame(inp, extra_columns=needed)
        frames = [self._query(frame) for _, frame in inp.groupby("qid", sort=False)]
        if not frames:
            return inp.assign(score=0.0, rank=0, sentences=None)
        return pandas.concat(frames, ignore_index=True)

    def _query(self, frame: pandas.DataFrame) -> pandas.DataFrame:
        names = {"docno": "id", self.text: "text", "title": "title"}
        names |= {"score": "score"} if self.first_stage else {}
        rows: list[dict[str, Any]] = (
            frame[[name for name in names if name in frame]].rename(columns=names).to_dict("records")
        )
        ranking = self._lazy.reranker.rerank(str(frame["query"].iloc[0]), rows)
        ranked = frame.iloc[[document.index for document in ranking.documents]].copy()
        ranked["score"] = [document.score for document in ranking.documents]
        ranked["rank"] = range(len(ranked))
        ranked["sentences"] = [details(document, self.sentences)["sentences"] for document in ranking.documents]
        return ranked

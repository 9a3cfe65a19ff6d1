"""Putting it together: documents in, a ranking out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, get_args

from mpir.errors import InputError, format_value
from mpir.models.cancellation import in_thread
from mpir.models.options import device_names, precision_name
from mpir.perspectives import Perspective, ScoreCache, open_bundle, score_pairs
from mpir.perspectives.agreement import Agreement
from mpir.perspectives.base import Level
from mpir.perspectives.bundle import Bundle
from mpir.rank.calibration import Relevance
from mpir.rank.candidates import Candidates
from mpir.rank.cascade import check_share
from mpir.rank.columns import Layout
from mpir.rank.inputs import DocumentLike, as_documents, documents_of_each
from mpir.rank.prepare import BM25, gather
from mpir.rank.ranking import Ranking, rank
from mpir.rank.score import check_cosines, fill_documents, fill_sentences, report_passages
from mpir.rank.validation import (
    a_cache,
    a_pair,
    all_beside,
    all_perspectives,
    check_even,
    check_names,
    check_options,
    check_several,
    several,
)
from mpir.rank.weight_selection import Given, check_models, choose_weights
from mpir.rank.weights import Weights
from mpir.text import Document
from mpir.text.split import Style
from mpir.text.types import Pair
from mpir.types import F64
from mpir.validation import check_choice, optional_whole_number

PAIRS_AT_ONCE = 16_384


class Reranker:
    """Loaded perspectives and the weights that blend them, for many queries.

    Many threads may use one at the same time. On one device they compute side by side; where several devices have
    processes of their own, one call after the other has all of these. A ``with`` block, or `close`, ends those
    processes and closes the cache; used again, both start anew. Pickled or copied, it opens its cache's folder anew.
    """

    def __init__(
        self,
        bundle: str | Path = "default",
        *,
        perspectives: Sequence[Perspective] | None = None,
        weights: Given = None,
        context: str | None = None,
        agreement: str | Literal[False] | None = None,
        device: str | None = None,
        precision: str | None = None,
        cache: ScoreCache | str | Path | None = None,
        cascade: float | None = None,
        tokens_per_batch: int | None = None,
        pairs_at_once: int = PAIRS_AT_ONCE,
        trust_code: bool = False,
        beside: Sequence[tuple[Perspective, float]] = (),
        style: Style = "abstract",
    ) -> None:
        """Load a bundle (a shipped name, or the path of a folder or a JSON file), or take `perspectives` of your own.

        `weights` is a `Weights` (or what its `to_dict` gave), a file, or a published name; by default the bundle's, or
        equal ones for your own perspectives. `context` overrides the weights' reading of S_CONTEXT. `agreement` names
        the perspective that agreement between documents rests on, a column of that name beside the perspectives' (see
        perspectives/agreement.py); by default the bundle's, and for your own perspectives there is no such column.
        False leaves it out, whatever the weights say, and weights that don't name it weigh it 0. `cascade` is the share
        of a question's sentences that a cheap first pass lets through to the perspectives (see rank/cascade.py; 0.6 is
        well tried); None scores all. `cache` is a folder (or an open cache) where scores are kept between runs; None
        keeps none.

        `device`, `precision` and `tokens_per_batch` are for the bundle's models: "auto", a torch device, or several
        with commas between them, each with a process of its own ("cuda:0,cuda:1", "cpu,cpu"); "auto", "fp32", "bf16"
        or "fp16"; and the size of a batch, by default one that suits the device. `pairs_at_once` bounds the memory that
        many queries take: so many (query, sentence) pairs are scored together, and those of one query more.
        `trust_code` lets a bundle run code that it names as ``module:attribute``.

        `beside` are perspectives that stand beside the bundle's or your own, each with the weight of its column where
        the weights don't name it. `style` says how documents are split: as an ``abstract`` or as a ``report``.

        Raises:
            ArtefactError: the bundle is missing or damaged.
            OutputError: the cache's folder cannot be written.
            InputError: weights for other perspectives, two perspectives of one name, an `agreement` that is none of
                them, no such device, a share that is none, a batch or `pairs_at_once` that is too small, code that is
                not trusted, or a model's option beside `perspectives`, which have their models already.
        """
        self.cascade = check_share(cascade)
        self.pairs_at_once = optional_whole_number("pairs_at_once", pairs_at_once) or PAIRS_AT_ONCE
        options = {"device": device, "precision": precision, "tokens_per_batch": tokens_per_batch}
        check_options(perspectives, options)
        opened = open_bundle(bundle) if perspectives is None else None
        if opened is not None and weights is None and opened.weights:
            weights = Weights.from_dict(opened.weights, f"{opened.folder}: weights")
        self.perspectives = all_perspectives(() if perspectives is None else perspectives)
        if opened is not None:
            self.perspectives = opened.perspectives(
                device=device_names(device),
                precision=precision_name(precision),
                tokens_per_batch=optional_whole_number("tokens_per_batch", tokens_per_batch),
                trust_code=trust_code,
            )
        self.perspectives += tuple(one for one, _ in all_beside(beside))
        check_choice("style", style, get_args(Style))
        self.style = style
        if agreement is None and opened is not None:
            agreement = opened.agreement
        self.derived = () if agreement is None or agreement is False else (Agreement(agreement),)
        check_names(self.perspectives, self.derived)
        self.cache = a_cache(cache)
        self.weights, source = choose_weights(
            weights, self.layout, context=context, beside=beside, without_agreement=agreement is False
        )
        check_models(self.weights, source, self.perspectives, self.derived)
        self.relevance = self._fitted(opened) if opened is not None else Relevance()

    def _fitted(self, bundle: Bundle) -> Relevance:
        """The bundle's maps to probabilities, if they were fitted with these weights; else plain logistic curves."""
        if not bundle.relevance:
            return Relevance()
        found = Relevance.from_dict(bundle.relevance, f"{bundle.folder}: relevance")
        return found if found.fits(self.weights) else Relevance()

    @property
    def layout(self) -> Layout:
        """The names of the columns: BM25 and the documents' perspectives; the sentences' perspectives and the derived.

        Documents that bring more first-stage scores than BM25 have columns of those, too.
        """
        sentences = [one.name for one in self._of("sentence")]
        documents = (BM25, *(one.name for one in self._of("document")))
        ordering = [one.name for one in (*self._of("sentence"), *self.derived) if not one.evidence]
        signed = [one.name for one in self.perspectives if one.signed]
        names = (*sentences, *(one.name for one in self.derived))
        return Layout(documents, names, frozenset(ordering), frozenset(signed))

    @property
    def identity(self) -> dict[str, Any]:
        """What the columns of `score` depend on besides questions and candidates; JSON-able."""
        unusual = {} if self.style == "abstract" else {"style": self.style}
        return {
            "perspectives": {one.name: one.model_fingerprint for one in self.perspectives},
            "scores": {one.name: one.fingerprint for one in self.perspectives},
            "derived": {one.name: dict(one.identity) for one in self.derived},
            "antecedents": True if self.cascade is None else "of all sentences",  # once, of those that a cascade kept
            "cascade": self.cascade,
            **unusual,
        }

    def _of(self, level: Level) -> list[Perspective]:
        return [perspective for perspective in self.perspectives if perspective.level == level]

    def close(self) -> None:
        """End the processes of several devices and close the cache; another call starts them anew."""
        for perspective in self.perspectives:
            perspective.close()
        if self.cache is not None:
            self.cache.close()

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the open cache: what is pickled or copied has its folder, wherever that process works."""
        cache = None if self.cache is None else (self.cache.folder.absolute(), self.cache.limit)
        return {**vars(self), "cache": cache}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Open the cache anew, as SQLite lets no two processes share one connection. Raises OutputError."""
        kept = state["cache"]
        vars(self).update(state, cache=None if kept is None else ScoreCache(kept[0], limit=kept[1]))

    def __enter__(self) -> Reranker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def rerank(
        self,
        query: str,
        docs: Iterable[DocumentLike],
        *,
        top_k: int | None = None,
        doc_ids: Sequence[Any] | None = None,
        metadata: Sequence[Mapping[str, Any]] | None = None,
    ) -> Ranking:
        """Rank documents, and the sentences inside them, for a query.

        `docs` are strings, dictionaries, Documents, or other libraries' documents (see `rank.inputs.as_documents`);
        their own first-stage scores count as S_BM25, and where they have none, BM25 among themselves does. `doc_ids`
        and `metadata` name and describe each of them, where they don't do so themselves. `top_k` keeps the best
        documents only. Of a query of more than 4,000 characters the beginning is read (`Ranking.unread`).

        Raises:
            InputError: a query that is no string, documents that are no documents, two of one id, or a top_k below 1.
        """
        documents = as_documents(docs, doc_ids=doc_ids, metadata=metadata)
        return self.rerank_batch([query], [documents], top_k=top_k)[0]

    async def arerank(
        self,
        query: str,
        docs: Iterable[DocumentLike],
        *,
        top_k: int | None = None,
        doc_ids: Sequence[Any] | None = None,
        metadata: Sequence[Mapping[str, Any]] | None = None,
    ) -> Ranking:
        """`rerank` in a thread of its own, so that an event loop goes on meanwhile.

        Where it is cancelled (by a time-out, say), the bundle's models stop after the batch that they read.
        """
        return await in_thread(lambda: self.rerank(query, docs, top_k=top_k, doc_ids=doc_ids, metadata=metadata))

    def score_pairs(self, pairs: Iterable[Pair], *, progress: bool = False) -> dict[str, F64]:
        """Every perspective's scores (N,) of N (query, text) pairs, by its name, each text read as it is.

        Raises:
            InputError: what is given are no pairs of texts.
        """
        given = [a_pair(pair, number) for number, pair in enumerate(several("pairs", pairs))]
        found = score_pairs(self.perspectives, given, cache=self.cache, progress=progress)
        report_passages(found.in_passages, "texts")
        return {one.name: found.values[:, column] for column, one in enumerate(self.perspectives)}

    def rerank_batch(
        self,
        queries: Iterable[str],
        docs: Iterable[Iterable[DocumentLike]],
        *,
        top_k: int | None = None,
        progress: bool = False,
    ) -> list[Ranking]:
        """`rerank` for many queries in one call, each with its own documents; the models see all pairs together."""
        top_k = optional_whole_number("top_k", top_k)
        asked = several("queries", queries)
        documents = list(documents_of_each(several("docs", docs)))  # all of them before anything is scored
        check_even(asked, documents)
        scored = self._stream(asked, documents, progress, blended=True)
        return [rank(one, self.weights, top_k=top_k) for one in scored]

    def stream(
        self,
        queries: Iterable[str],
        docs: Iterable[Iterable[DocumentLike]],
        *,
        top_k: int | None = None,
        progress: bool = False,
    ) -> Iterator[Ranking]:
        """`rerank` for any number of queries, which may come lazily, with their documents: one by one, in order.

        Queries are taken as results are asked for, until they have `pairs_at_once` pairs, which are scored together.

        Raises:
            InputError: as `rerank`, once it comes to the query; at once for a single query in place of several.
        """
        top_k = optional_whole_number("top_k", top_k)
        check_several("queries", queries)
        check_several("docs", docs)
        scored = self._stream(queries, documents_of_each(docs), progress, blended=True)
        return (rank(one, self.weights, top_k=top_k) for one in scored)

    def score(
        self, queries: Iterable[str], docs: Iterable[Iterable[DocumentLike]], *, progress: bool = False
    ) -> list[Candidates]:
        """Split and score, but don't blend: every column of every query, as tuning and ablation take them.

        Raises:
            InputError: a query that is no string, documents that are none, or other than one list of them for a query.
        """
        asked, documents = several("queries", queries), several("docs", docs)
        check_even(asked, documents)
        return list(self.stream_scored(asked, documents, progress=progress))

    def stream_scored(
        self, queries: Iterable[str], docs: Iterable[Iterable[DocumentLike]], *, progress: bool = False
    ) -> Iterator[Candidates]:
        """`score` for any number of queries, as `stream` is `rerank` for them. Raises InputError as `stream`."""
        check_several("queries", queries)
        check_several("docs", docs)
        return self._stream(queries, documents_of_each(docs), progress)

    def _stream(
        self, queries: Iterable[str], documents: Iterable[Sequence[Document]], progress: bool, *, blended: bool = False
    ) -> Iterator[Candidates]:
        """Scored queries; what is to be `blended` is refused before it is scored where the weights don't fit."""
        waiting: list[Candidates] = []
        count = 0
        for number, (query, docs) in enumerate(zip_longest(queries, documents)):
            if docs is None:
                raise InputError(f"query {number} has no list of documents; give one list for each query.")
            if not isinstance(query, str):
                raise InputError(f"query {number} is {format_value(query)}; expected a string.")
            waiting.append(gather(query, docs, self.cascade, self.style))
            if blended:
                self._check_columns(waiting[-1].columns.layout.documents)
            count += max(1, len(waiting[-1].sentences))
            if count >= self.pairs_at_once:
                yield from self.fill(waiting, progress=progress)
                waiting, count = [], 0
        yield from self.fill(waiting, progress=progress)

    def _check_columns(self, brought: Sequence[str]) -> None:
        """Raise InputError where the weights take a column that documents neither bring nor get from a perspective."""
        found = (one.name for one in self._of("document") if one.name not in brought)
        self.weights.check_columns(replace(self.layout, documents=(*brought, *found)))

    def fill(self, parts: Sequence[Candidates], *, progress: bool = False) -> list[Candidates]:
        """Queries that lack only the scores, with them."""
        check_cosines(parts, self._of("document"))
        kept: dict[str, Any] = {"cache": self.cache, "progress": progress}
        return fill_documents(
            fill_sentences(parts, self._of("sentence"), self.derived, **kept), self._of("document"), **kept
        )

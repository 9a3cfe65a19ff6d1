"""Putting it together: documents in, a ranking out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

from mpir.errors import InputError, shown
from mpir.models.options import device_names, precision_name, whole_number
from mpir.perspectives import Perspective, ScoreCache, open_bundle, score_pairs
from mpir.perspectives.agreement import Agreement
from mpir.perspectives.base import Booleans, Level
from mpir.perspectives.bundle import Bundle, bundle_state
from mpir.rank.candidates import Candidates
from mpir.rank.cascade import check_share
from mpir.rank.columns import Columns, Floats, Layout
from mpir.rank.gather import BM25, gather
from mpir.rank.inputs import DocumentLike, as_documents
from mpir.rank.ranking import Ranking, rank
from mpir.rank.relevance import Relevance
from mpir.rank.weights import Weights
from mpir.text import Document
from mpir.text.split import Style
from mpir.text.types import Pair

log = logging.getLogger(__name__)
PAIRS_AT_ONCE = 16_384


class Reranker:
    """Loaded perspectives and the weights that blend them, for many queries.

    Many threads may use one at the same time. On one device they compute side by side; where several devices have
    processes of their own, one call after the other has all of these. A ``with`` block, or `close`, ends those
    processes and closes the cache; used again, both start anew.
    """

    def __init__(
        self,
        bundle: str | Path = "default",
        *,
        perspectives: Sequence[Perspective] | None = None,
        weights: Weights | Mapping[str, Any] | str | Path | None = None,
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
        self.pairs_at_once = whole_number("pairs_at_once", pairs_at_once) or PAIRS_AT_ONCE
        options = {"device": device, "precision": precision, "tokens_per_batch": tokens_per_batch}
        _check_options(perspectives, options)
        opened = open_bundle(bundle) if perspectives is None else None
        if opened is not None and weights is None and opened.weights:
            weights = Weights.from_dict(opened.weights, f"{opened.folder}: weights")
        self.perspectives = tuple(map(_checked, perspectives or ()))
        if opened is not None:
            self.perspectives = opened.perspectives(
                device=device_names(device),
                precision=precision_name(precision),
                tokens_per_batch=whole_number("tokens_per_batch", tokens_per_batch),
                trust_code=trust_code,
            )
        self.perspectives += tuple(_checked(one) for one, _ in beside)
        self.style = style
        if agreement is None and opened is not None:
            agreement = opened.agreement
        self.derived = () if agreement is None or agreement is False else (Agreement(agreement),)
        self.cache = _opened(cache)
        self.weights = self._choose_weights(weights, context, beside, without_agreement=agreement is False)
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
        return Layout(documents, (*sentences, *(one.name for one in self.derived)), frozenset(ordering))

    def _of(self, level: Level) -> list[Perspective]:
        return [perspective for perspective in self.perspectives if perspective.level == level]

    def _choose_weights(
        self,
        weights: Weights | Mapping[str, Any] | str | Path | None,
        context: str | None,
        beside: Sequence[tuple[Perspective, float]],
        *,
        without_agreement: bool,
    ) -> Weights:
        layout = _checked_layout(self)
        source = "weights" if isinstance(weights, Weights | Mapping | None) else str(weights)
        chosen = Weights.equal(layout.sentences, layout.documents) if weights is None else weights
        if isinstance(chosen, Mapping):
            chosen = Weights.from_dict(chosen)
        chosen = chosen if isinstance(chosen, Weights) else Weights.load(chosen)
        if without_agreement:
            left = Agreement.name
            chosen = replace(chosen, alpha={name: one for name, one in chosen.alpha.items() if name != left})
        for one, weight in beside:
            if one.level == "sentence":
                chosen = replace(chosen, alpha={one.name: weight, **chosen.alpha})
            else:
                chosen = replace(chosen, beta={one.name: weight, **chosen.beta})
        if context is not None:
            chosen = replace(chosen, context=context)
        chosen = chosen.over(layout, source)
        self._check_models(chosen, source)
        return chosen

    def _check_models(self, weights: Weights, source: str) -> None:
        """Tuned weights belong to the models, and to the derived columns, whose scores they were tuned on."""
        tuned, derived = weights.made_by.get("perspectives", {}), weights.made_by.get("derived", {})
        for one in self.perspectives:
            _check_same(tuned.get(one.name), one.model_fingerprint, one.name, source)
        for column in self.derived if weights.made_by else ():
            expected = derived.get(column.name, weights.made_by.get(column.name))  # as it was once kept
            if weights.alpha.get(column.name):
                _check_same(expected, dict(column.identity), column.name, source)

    def close(self) -> None:
        """End the processes of several devices and close the cache; another call starts them anew."""
        for perspective in self.perspectives:
            perspective.close()
        if self.cache is not None:
            self.cache.close()

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
        documents only.

        Raises:
            InputError: a query that is no string, documents that are no documents, two of one id, or a top_k below 1.
        """
        documents = as_documents(docs, doc_ids=doc_ids, metadata=metadata)
        return self.rerank_batch([query], [documents], top_k=top_k)[0]

    async def arerank(self, query: str, docs: Iterable[DocumentLike], **options: Any) -> Ranking:
        """`rerank`, with the same options, in a thread of its own, so that an event loop goes on meanwhile."""
        return await asyncio.to_thread(self.rerank, query, docs, **options)

    def score_pairs(self, pairs: Iterable[Pair], *, progress: bool = False) -> dict[str, Floats]:
        """Every perspective's scores (N,) of N (query, text) pairs, by its name, each text read as it is.

        Raises:
            InputError: what is given are no pairs of texts.
        """
        given = [_pair(pair, number) for number, pair in enumerate(pairs)]
        found = score_pairs(self.perspectives, given, cache=self.cache, progress=progress).values
        return {one.name: found[:, column] for column, one in enumerate(self.perspectives)}

    def rerank_batch(
        self,
        queries: Iterable[str],
        docs: Iterable[Iterable[DocumentLike]],
        *,
        top_k: int | None = None,
        progress: bool = False,
    ) -> list[Ranking]:
        """`rerank` for many queries in one call, each with its own documents; the models see all pairs together."""
        top_k = whole_number("top_k", top_k)
        asked = _several(queries)
        documents = [as_documents(part) for part in _several(docs)]  # all of them before anything is scored
        _check_even(asked, documents)
        scored = self._stream(asked, documents, progress)
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
        top_k = whole_number("top_k", top_k)
        scored = self.stream_scored(queries, docs, progress=progress)
        return (rank(one, self.weights, top_k=top_k) for one in scored)

    def score(
        self, queries: Iterable[str], docs: Iterable[Iterable[DocumentLike]], *, progress: bool = False
    ) -> list[Candidates]:
        """Split and score, but don't blend: every column of every query, as tuning and ablation take them.

        Raises:
            InputError: a query that is no string, documents that are none, or other than one list of them for a query.
        """
        asked, documents = _several(queries), _several(docs)
        _check_even(asked, documents)
        return list(self.stream_scored(asked, documents, progress=progress))

    def stream_scored(
        self, queries: Iterable[str], docs: Iterable[Iterable[DocumentLike]], *, progress: bool = False
    ) -> Iterator[Candidates]:
        """`score` for any number of queries, as `stream` is `rerank` for them. Raises InputError as `stream`."""
        for given in (queries, docs):
            _check_several(given)
        return self._stream(queries, map(as_documents, docs), progress)

    def _stream(
        self, queries: Iterable[str], documents: Iterable[Sequence[Document]], progress: bool
    ) -> Iterator[Candidates]:
        waiting: list[Candidates] = []
        count = 0
        for number, (query, docs) in enumerate(zip_longest(queries, documents)):
            if docs is None:
                raise InputError(f"query {number} has no list of documents; give one list for each query.")
            if not isinstance(query, str):
                raise InputError(f"query {number} is {type(query).__name__}; expected a string.")
            waiting.append(gather(query, docs, self.cascade, self.style))
            count += max(1, len(waiting[-1].sentences))
            if count >= self.pairs_at_once:
                yield from self.fill(waiting, progress=progress)
                waiting, count = [], 0
        yield from self.fill(waiting, progress=progress)

    def fill(self, parts: Sequence[Candidates], *, progress: bool = False) -> list[Candidates]:
        """Queries that lack only the scores, with them."""
        return self._fill_documents(self._fill_sentences(parts, progress), progress)

    def _fill_sentences(self, parts: Sequence[Candidates], progress: bool) -> list[Candidates]:
        perspectives = self._of("sentence")
        ordering = [one.name for one in perspectives if not one.evidence]
        pairs = [(part.query, sentence.text) for part in parts for sentence in part.sentences]
        found = score_pairs(perspectives, pairs, cache=self.cache, progress=progress)
        _report_passages(found.in_passages, "sentences")
        filled, start = [], 0
        for part in parts:
            rows = slice(start, start := start + len(part.sentences))
            named = {one.name: found.values[rows, i] for i, one in enumerate(perspectives)}
            columns = self._derive(part, part.columns.with_sentences(named, ordering))
            filled.append(replace(part, columns=columns, in_passages=found.in_passages[rows]))
        return filled

    def _derive(self, part: Candidates, columns: Columns) -> Columns:
        """The columns with those that rest on others."""
        for one in self.derived:
            texts, scores = [sentence.text for sentence in part.sentences], columns.sentence(one.rests_on)
            values = one.derive(texts, columns.document_of, columns.first, scores)
            columns = columns.with_sentences({one.name: values}, () if one.evidence else (one.name,))
        return columns

    def _fill_documents(self, parts: Sequence[Candidates], progress: bool) -> list[Candidates]:
        """Document columns that the documents did not bring: an index may have known some without a model."""
        filled = list(parts)
        for one in self._of("document"):
            lacking = [number for number, part in enumerate(filled) if one.name not in part.columns.layout.documents]
            parts = [filled[number] for number in lacking]
            pairs = [(part.query, document.text) for part in parts for document in part.documents]
            found = score_pairs([one], pairs, cache=self.cache, progress=progress)
            _report_passages(found.in_passages, "documents")
            start = 0
            for number in lacking:
                part = filled[number]
                rows = slice(start, start := start + len(part.documents))
                columns = part.columns.with_documents({one.name: found.values[rows, 0]})
                long = part.documents_in_passages | found.in_passages[rows]
                filled[number] = replace(part, columns=columns, documents_in_passages=long)
        return filled


def _report_passages(in_passages: Booleans, what: str) -> None:
    if in_passages.any():
        message = "%d of %d %s were too long for a model and count with their best passage"
        log.warning(message, in_passages.sum(), len(in_passages), what)


def _check_same(expected: object, here: object, name: str, source: str) -> None:
    if expected not in (None, here):
        raise InputError(
            f"{source}: the weights were tuned on another model of {name!r} ({expected}, here {here}); use the "
            "bundle's own weights, or tune again."
        )


def _checked_layout(reranker: Reranker) -> Layout:
    """The names of a reranker's columns. Raises InputError where they cannot stand beside each other."""
    names = [perspective.name for perspective in reranker.perspectives]
    readers = [one.name for one in reranker.perspectives if one.level == "sentence"]
    if len(set(names)) != len(names) or not readers:
        raise InputError(f"perspectives: expected one or more of different names that read sentences, found {names}.")
    for column in reranker.derived:
        if column.name in names:
            raise InputError(f"perspectives: one is called {column.name!r}, which means another column; rename it.")
        if column.rests_on not in readers:
            raise InputError(f"{column.name} is {column.rests_on!r}; expected one of the perspectives {readers}.")
    return reranker.layout


def _check_options(perspectives: Sequence[Perspective] | None, options: Mapping[str, object]) -> None:
    given = [name for name, value in options.items() if value is not None]
    if perspectives is not None and given:
        raise InputError(
            f"{given[0]} is for a bundle's models, but perspectives are given, which have their models already; leave "
            "one of the two out."
        )


def _opened(cache: ScoreCache | str | Path | None) -> ScoreCache | None:
    if not isinstance(cache, ScoreCache | str | Path | None):
        raise InputError(f"cache is {shown(cache)}; expected the path of a folder, an open ScoreCache, or None.")
    return ScoreCache(cache) if isinstance(cache, str | Path) else cache


def _checked(perspective: Perspective) -> Perspective:
    if not isinstance(perspective, Perspective) or not isinstance(getattr(perspective, "name", None), str):
        raise InputError(
            f"perspectives: {shown(perspective)} is none; expected an instance of a subclass of mpir.Perspective with "
            "a name."
        )
    return perspective


def _pair(pair: Any, number: int) -> Pair:
    if isinstance(pair, str) or not isinstance(pair, Iterable):
        raise InputError(f"pairs[{number}] is {shown(pair)}; expected a query and a text.")
    found = tuple(pair)
    if len(found) != 2 or not all(isinstance(text, str) for text in found):
        raise InputError(f"pairs[{number}] is {shown(found)}; expected a query and a text.")
    return found[0], found[1]


def _several(given: Any) -> list[Any]:
    _check_several(given)
    return list(given)


def _check_several(given: Any) -> None:
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise InputError(f"{shown(given)} was given where several are expected; for one query use rerank.")


def _check_even(queries: Sequence[str], documents: Sequence[Iterable[DocumentLike]]) -> None:
    if len(queries) != len(documents):
        raise InputError(
            f"{len(queries)} queries came with {len(documents)} lists of documents; give one list for each query."
        )


KEPT = 2
"""So many bundles stay loaded for `rerank`."""
_loaded: dict[str | Path, tuple[tuple[object, ...], Reranker]] = {}
"""The rerankers of `rerank` by bundle, each with the state of the bundle's files when it was loaded."""


def _reranker(bundle: str | Path) -> Reranker:
    """The reranker of a bundle, loaded again where a file of the bundle has changed since."""
    state = bundle_state(bundle)
    known = _loaded.get(bundle)
    if known is None or known[0] != state:
        known = state, Reranker(bundle)
        _loaded[bundle] = known
        for oldest in list(_loaded)[:-KEPT]:
            _loaded.pop(oldest, None)
    return known[1]


def rerank(
    query: str,
    docs: Iterable[DocumentLike],
    *,
    top_k: int | None = None,
    doc_ids: Sequence[Any] | None = None,
    metadata: Sequence[Mapping[str, Any]] | None = None,
    bundle: str | Path = "default",
) -> Ranking:
    """Rank documents for a query with a bundle, which stays loaded for the next call. See `Reranker.rerank`."""
    return _reranker(bundle).rerank(query, docs, top_k=top_k, doc_ids=doc_ids, metadata=metadata)

"""Putting it together: documents in, a ranking out."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Literal

import numpy as np

from mpir.errors import InputError
from mpir.perspectives import Perspective, ScoreCache, open_bundle, score_pairs
from mpir.perspectives.agreement import agreement, identity
from mpir.perspectives.bundle import Bundle
from mpir.rank.blend import Columns, Floats
from mpir.rank.candidates import Candidates
from mpir.rank.cascade import check_share, first_pass
from mpir.rank.inputs import DocumentLike, as_documents
from mpir.rank.ranking import Ranking, rank
from mpir.rank.relevance import Relevance
from mpir.rank.weights import AGREEMENT, Context, Weights
from mpir.retrieve.memory import MemoryIndex
from mpir.text import Document
from mpir.text.split import sentences as split_sentences

log = logging.getLogger(__name__)


class Reranker:
    """Loaded perspectives and the weights that blend them, for many queries."""

    def __init__(
        self,
        bundle: str | Path = "default",
        *,
        perspectives: Sequence[Perspective] | None = None,
        weights: Weights | str | Path | None = None,
        context: Context | None = None,
        agreement: str | Literal[False] | None = None,
        device: str = "auto",
        precision: str = "auto",
        cache: ScoreCache | str | Path | None = None,
        cascade: float | None = None,
        tokens_per_batch: int | None = None,
        pairs_at_once: int = 16_384,
    ) -> None:
        """Load a bundle (a shipped name, a folder or a JSON file), or take `perspectives` of your own instead of one.

        `weights` is a `Weights`, a file, or a published name; by default the bundle's, or equal ones for your own
        perspectives. `context` overrides the weights' reading of S_CONTEXT. `agreement` names the perspective that
        agreement between documents rests on, a column of that name beside the perspectives' (see rank/agreement.py); by
        default the bundle's, and for your own perspectives there is no such column. False leaves it out, whatever the
        weights say, and weights that don't name it weigh it 0. `cascade` is the share of a question's sentences that a
        cheap first pass lets through to the perspectives (see rank/cascade.py; 0.6 is well tried); None scores all.
        `cache` is a folder (or an open cache) where scores are kept between runs; None keeps none.

        `device`, `precision` and `tokens_per_batch` are for the bundle's models: "auto", a torch device, or several
        with commas between them, each with a process of its own ("cuda:0,cuda:1", "cpu,cpu"); "auto", "fp32", "bf16"
        or "fp16"; and the size of a batch, by default one that suits the device. `pairs_at_once` bounds the memory that
        many queries take: so many (query, sentence) pairs are scored together, and those of one query more.

        Raises:
            ArtefactError: the bundle is missing or damaged.
            OutputError: the cache's folder cannot be written.
            InputError: weights for other perspectives, two perspectives of one name, an `agreement` that is none of
                them, no such device, a share that is none, or a batch or `pairs_at_once` that is too small.
        """
        self.cascade = check_share(cascade)
        if pairs_at_once < 1:
            raise InputError(f"pairs_at_once is {pairs_at_once}; expected at least 1.")
        self.pairs_at_once = pairs_at_once
        opened = open_bundle(bundle) if perspectives is None else None
        if opened is not None and weights is None and opened.weights:
            weights = Weights.from_dict(opened.weights, f"{opened.folder}: weights")
        self.perspectives = tuple(map(_checked, perspectives or ()))
        if opened is not None:
            self.perspectives = opened.perspectives(
                device=device, precision=precision, tokens_per_batch=tokens_per_batch
            )
        if agreement is None and opened is not None:
            agreement = opened.agreement
        self.agreement = None if agreement is False else agreement
        self.cache = ScoreCache(cache) if isinstance(cache, str | Path) else cache
        self.weights = self._choose_weights(weights, context, without_agreement=agreement is False)
        self.relevance = self._fitted(opened) if opened is not None else Relevance()

    def _fitted(self, bundle: Bundle) -> Relevance:
        """The bundle's maps to probabilities, which belong to the bundle's own weights; else plain logistic curves."""
        if not bundle.relevance or not bundle.weights:
            return Relevance()
        source = str(bundle.folder)
        own = Weights.from_dict(bundle.weights, f"{source}: weights").over(self.columns, source)
        found = Relevance.from_dict(bundle.relevance, f"{source}: relevance")
        return found if own == self.weights else Relevance()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of scores: the perspectives, and agreement where there is one."""
        names = tuple(perspective.name for perspective in self.perspectives)
        return names if self.agreement is None else (*names, AGREEMENT)

    def _check_columns(self) -> None:
        names = [perspective.name for perspective in self.perspectives]
        if len(set(names)) != len(names) or not names:
            raise InputError(f"perspectives: expected one or more of different names, found {names}.")
        if AGREEMENT in names:
            raise InputError(f"perspectives: one is called {AGREEMENT!r}, which means another column; rename it.")
        if self.agreement not in (None, *names):
            raise InputError(f"agreement is {self.agreement!r}; expected one of the perspectives {names}.")

    def _choose_weights(
        self, weights: Weights | str | Path | None, context: Context | None, *, without_agreement: bool
    ) -> Weights:
        self._check_columns()
        names = self.columns
        source = "weights" if isinstance(weights, Weights | None) else str(weights)
        chosen = Weights.equal(names) if weights is None else weights
        chosen = chosen if isinstance(chosen, Weights) else Weights.load(chosen)
        if without_agreement:
            chosen = replace(chosen, alpha={name: one for name, one in chosen.alpha.items() if name != AGREEMENT})
        chosen = chosen.over(names, source)
        self._check_models(chosen, source)
        return chosen if context is None else replace(chosen, context=context)

    def _check_models(self, weights: Weights, source: str) -> None:
        """Tuned weights belong to the models whose scores they were tuned on."""
        tuned = weights.made_by.get("perspectives", {})
        for perspective in self.perspectives if tuned else ():
            expected = tuned.get(perspective.name)
            if expected not in (None, perspective.model_fingerprint):
                raise InputError(
                    f"{source}: the weights were tuned on another model of {perspective.name!r} (fingerprint "
                    f"{expected}, here {perspective.model_fingerprint}); use the bundle's own weights, or tune again."
                )
        made, here = weights.made_by.get(AGREEMENT), identity(self.agreement)
        if weights.alpha.get(AGREEMENT) and made not in (None, here):
            raise InputError(
                f"{source}: the weights were tuned on another {AGREEMENT} ({made}, here {here}); use the bundle's own "
                "weights, or tune again."
            )

    def rerank(self, query: str, docs: Sequence[DocumentLike], *, top_k: int | None = None) -> Ranking:
        """Rank documents, and the sentences inside them, for a query.

        `docs` are strings, dictionaries or Documents; their own first-stage scores count as S_BM25, and where they have
        none, BM25 among themselves does. `top_k` keeps the best documents only.

        Raises:
            InputError: a query that is no string, documents that are no documents, or a top_k below 1.
        """
        return self.rerank_batch([query], [docs], top_k=top_k)[0]

    def rerank_batch(
        self,
        queries: Sequence[str],
        docs: Sequence[Sequence[DocumentLike]],
        *,
        top_k: int | None = None,
        progress: bool = False,
    ) -> list[Ranking]:
        """`rerank` for many queries in one call, each with its own documents; the models see all pairs together."""
        if top_k is not None and (not isinstance(top_k, int) or top_k < 1):
            raise InputError(f"top_k is {top_k!r}; expected a whole number of at least 1, or None for all documents.")
        documents = [as_documents(part) for part in docs]  # all of them before anything is scored
        _check_even(queries, documents)
        scored = self._stream(queries, documents, progress)
        return [rank(one, self.weights, top_k=top_k) for one in scored]

    def score(
        self, queries: Sequence[str], documents: Sequence[Sequence[DocumentLike]], *, progress: bool = False
    ) -> list[Candidates]:
        """Split, score and keep everything that blending needs: one `Candidates` for each query.

        Raises:
            InputError: a query that is no string, documents that are none, or other than one list of them for a query.
        """
        _check_even(queries, documents)
        return list(self.stream(queries, documents, progress=progress))

    def stream(
        self, queries: Iterable[str], documents: Iterable[Sequence[DocumentLike]], *, progress: bool = False
    ) -> Iterator[Candidates]:
        """`score` for any number of queries, which may come lazily, with their documents: one by one, in order.

        Queries are taken as results are asked for, until they have `pairs_at_once` pairs, which are scored together.

        Raises:
            InputError: as `score`, once it comes to the query.
        """
        return self._stream(queries, map(as_documents, documents), progress)

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
            waiting.append(_candidates(query, docs, self.cascade))
            count += max(1, len(waiting[-1].sentences))
            if count >= self.pairs_at_once:
                yield from self.fill(waiting, progress=progress)
                waiting, count = [], 0
        yield from self.fill(waiting, progress=progress)

    def fill(self, parts: Sequence[Candidates], *, progress: bool = False) -> list[Candidates]:
        """Queries that lack only the scores, with them; what scores they have is replaced."""
        pairs = [(part.query, sentence.text) for part in parts for sentence in part.sentences]
        found = score_pairs(self.perspectives, pairs, cache=self.cache, progress=progress)
        if found.in_passages.any():
            message = "%d of %d sentences were too long for a model and count with their best window"
            log.warning(message, found.in_passages.sum(), len(pairs))
        scored, start = [], 0
        for part in parts:
            rows = slice(start, start := start + len(part.sentences))
            scores = self._with_agreement(part, found.values[rows])
            columns = replace(part.columns, scores=scores, perspectives=self.columns)
            scored.append(replace(part, columns=columns, in_passages=found.in_passages[rows]))
        return scored

    def _with_agreement(self, part: Candidates, scores: Floats) -> Floats:
        """The perspectives' scores (N, P) of a query's sentences and, where it is wanted, their agreement beside it."""
        if self.agreement is None:
            return scores
        relevance = scores[:, self.columns.index(self.agreement)]
        words = MemoryIndex([sentence.text for sentence in part.sentences]).weights()
        return np.column_stack([scores, agreement(words, part.columns.document_of, part.columns.bm25, relevance)])


def _checked(perspective: Perspective) -> Perspective:
    if not isinstance(perspective, Perspective) or not isinstance(getattr(perspective, "name", None), str):
        raise InputError(
            f"perspectives: {perspective!r:.60} is none; expected an instance of a subclass of mpir.Perspective with a "
            "name."
        )
    return perspective


def _check_even(queries: Sequence[str], documents: Sequence[Sequence[DocumentLike]]) -> None:
    if len(queries) != len(documents) or isinstance(queries, str):
        raise InputError(
            f"{len(queries)} queries came with {len(documents)} lists of documents; give one list for each query."
        )


def _candidates(query: str, documents: Sequence[Document], cascade: float | None) -> Candidates:
    """A query with the sentences that go on to the perspectives, and no scores yet."""
    split = [(number, sentence) for number, document in enumerate(documents) for sentence in split_sentences(document)]
    document_of = np.array([number for number, _ in split], np.int64)
    lexical = MemoryIndex([sentence.text for _, sentence in split]).scores(query).astype(np.float64)
    bm25 = _bm25(query, documents)
    rows = first_pass(lexical, bm25, document_of, cascade)
    columns = Columns(bm25, np.zeros(len(documents), np.int64), document_of[rows], np.zeros((len(rows), 0)), ())
    kept, in_passages = tuple(split[row][1] for row in rows), np.zeros(len(rows), bool)
    return Candidates(query, tuple(documents), kept, columns, lexical[rows], in_passages, len(split) - len(rows))


def _bm25(query: str, documents: Sequence[Document]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """S_BM25 (D,): the documents' own first-stage scores, or BM25 among them where they have none."""
    if documents and documents[0].score is not None:
        return np.array([document.score for document in documents], np.float64)
    return MemoryIndex([document.text for document in documents]).scores(query).astype(np.float64)


@lru_cache(maxsize=2)
def _loaded(bundle: str) -> Reranker:
    return Reranker(bundle)


def rerank(
    query: str, docs: Sequence[DocumentLike], *, top_k: int | None = None, bundle: str | Path = "default"
) -> Ranking:
    """Rank documents for a query with a bundle, which stays loaded for the next call. See `Reranker.rerank`."""
    return _loaded(str(bundle)).rerank(query, docs, top_k=top_k)

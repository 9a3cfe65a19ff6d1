"""The reranker: documents in, a ranking out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

from mpir.core.cancellation import in_thread
from mpir.core.candidates import Candidates
from mpir.core.columns import Column, Layout
from mpir.core.text import Document
from mpir.core.text.types import Pair
from mpir.errors import InputError, format_value
from mpir.models.perspectives import Perspective, ScoreCache, score_pairs
from mpir.reranking.cascade import AUTO, Share
from mpir.reranking.inputs import DocumentLike, as_documents, documents_of_each
from mpir.reranking.models import ModelOptions, chat_models, derived_columns, load_models
from mpir.reranking.options import RunOptions
from mpir.reranking.prepare import BM25, prepare
from mpir.reranking.present import rank
from mpir.reranking.ranking import Ranking
from mpir.reranking.relevance import select_relevance
from mpir.reranking.score import Scorer, report_passages
from mpir.reranking.validation import (
    ModelsLike,
    as_cache,
    as_list,
    as_models,
    as_pair,
    as_perspectives,
    check_columns,
    check_is_list,
    check_same_length,
)
from mpir.reranking.weight_selection import WeightsLike, check_models, select_calibration, select_weights
from mpir.types import F64
from mpir.validation import optional_whole_number


class Reranker:
    """Loaded perspectives and the weights that blend their scores, for many queries.

    Threads may share one. On one device they compute side by side; several devices have processes of their own, which
    serve one call after the other. A ``with`` block, or `close`, ends those processes and closes the cache; used again,
    both start anew. A pickled or copied reranker opens its cache's folder anew.
    """

    def __init__(
        self,
        bundle: str | Path | None = None,
        *,
        models: ModelsLike = (),
        perspectives: Sequence[Perspective] = (),
        weights: WeightsLike = None,
        context: str | None = None,
        agreement: str | Literal[False] | None = None,
        device: str | None = None,
        precision: str | None = None,
        cache: ScoreCache | str | Path | None = None,
        run: RunOptions | None = None,
    ) -> None:
        """Load the perspectives of a bundle, and models by name; take `perspectives` of your own.

        `bundle` is a shipped name, the path of a folder or a JSON file, or a hub's ``org/name`` or ``org/name@COMMIT``.
        Without it the default bundle is loaded, unless there are `perspectives`:
        ``Reranker("default", perspectives=[P()])`` adds to the bundle, and ``Reranker(perspectives=[P()])`` takes those
        alone.

        `models` are rerankers by hub name or folder: one, several, or `NamedModels` with options, encoders or a chat
        model. They join the bundle's columns, or with ``NamedModels(only=True)`` order documents alone.

        `weights` is a `Weights` (or what its `to_dict` gave), a file, or a published name; by default the bundle's, or
        equal ones. A perspective that the weights do not name has its `default_weight`; added to a bundle without one,
        it has the mean weight of its level, and the log says so. `context` replaces the weights' S_CONTEXT. `agreement`
        names the perspective that the agreement column (models/perspectives/agreement.py) is computed from; by default
        the bundle's, and False leaves the column out.

        `device` and `precision` are for the bundle's models and those named: "auto", a torch device, or several with
        commas between them, each with a process of its own ("cuda:0,cuda:1", "cpu,cpu"); "auto", "fp32", "bf16" or
        "fp16". `cache` is a folder (or an open cache) where scores are kept between runs. `run` has further options.

        Raises:
            ArtefactError: the bundle is missing or damaged.
            OutputError: the cache's folder cannot be written.
            InputError: an invalid option, weights for other perspectives, two perspectives of one name, an `agreement`
                that names none of them, or a model option without a bundle.
        """
        self.run = RunOptions() if run is None else run
        choice = as_models(models)
        judges = chat_models(choice)
        if judges and bundle is None and not perspectives:
            bundle = "default"
        options = ModelOptions(device=device, precision=precision, run=self.run)
        loaded = load_models(bundle, [*as_perspectives(perspectives), *judges], options, choice)
        opened, self.perspectives, self._loaded = loaded.bundle, loaded.perspectives, loaded
        self.derived = derived_columns(agreement, opened)
        check_columns(self.perspectives, self.derived)
        self.cache = as_cache(cache)
        self.weights, source = select_weights(
            weights,
            opened,
            self.layout,
            added=loaded.callers,
            named=loaded.named,
            only_named=choice.only,
            context=context,
            without_agreement=agreement is False,
        )
        check_models(self.weights, source, self.perspectives, self.derived)
        self.calibration = select_calibration(opened, self.layout, self.perspectives)
        self.relevance = select_relevance(self.weights, loaded, has_own_weights=weights is not None)

    @property
    def _sentence_cascade(self) -> Share:
        """The share of sentences to score; None if all sentence columns come with whole documents, at no cost."""
        readers = [perspective for perspective in self.perspectives if perspective.level == "sentence"]
        has_pairs = any(perspective.documents_model is None for perspective in readers)
        return self.run.cascade if has_pairs or not readers else None

    @property
    def layout(self) -> Layout:
        """The columns: BM25 and the document perspectives'; the sentence perspectives' and the derived ones.

        Documents that bring more first-stage scores than BM25 have columns of those, too.
        """
        first_stage = Column(BM25, "document", "first_stage")
        perspectives = (perspective.column for perspective in self.perspectives)
        return Layout((first_stage, *perspectives, *(derived.column for derived in self.derived)))

    @property
    def identity(self) -> dict[str, Any]:
        """What the columns of `score` depend on besides queries and candidates; JSON-able."""
        unusual = {} if self.run.splitting == "abstract" else {"style": self.run.splitting}
        return {
            "perspectives": {perspective.name: perspective.model_fingerprint for perspective in self.perspectives},
            "scores": {perspective.name: perspective.fingerprint for perspective in self.perspectives},
            "derived": {column.name: dict(column.identity) for column in self.derived},
            # with a cascade, among the sentences before the first pass
            "antecedents": True if self.run.cascade is None else "of all sentences",
            "cascade": self.run.cascade,
            **unusual,
        }

    def save_pretrained(self, folder: str | Path) -> None:
        """Write a bundle with these perspectives and weights: ``Reranker("./folder")`` loads it.

        Models of a folder are copied into it, and a hub's are named with their commit. Weights, calibration and the
        agreement column are saved, options of a run (device, precision, cache, cascade, splitting) are not.

        Raises:
            InputError: a perspective that is an object of the caller's, which no file can declare.
            OutputError: the folder cannot be written, or something else stands there.
        """
        from mpir.reranking.save import save_bundle

        save_bundle(folder, self._loaded, self.weights, self.calibration, agreement=self.derived)

    def close(self) -> None:
        """End the processes of several devices and close the cache; another call starts them anew."""
        for perspective in self.perspectives:
            perspective.close()
        if self.cache is not None:
            self.cache.close()

    def forget_texts(self) -> None:
        """Drop the vectors of the texts read last, so that scores do not depend on earlier calls.

        The last digits of a vector depend on the texts that were read together with its own.
        """
        for perspective in self.perspectives:
            if forget := getattr(perspective, "forget_texts", None):
                forget()

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the open cache: a pickled or copied reranker has the cache's folder, wherever it works."""
        cache = None if self.cache is None else (self.cache.folder.absolute(), self.cache.limit)
        return {**vars(self), "cache": cache}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Open the cache anew, as SQLite lets no two processes share one connection. Raises OutputError."""
        cache = state["cache"]
        vars(self).update(state, cache=None if cache is None else ScoreCache(cache[0], limit=cache[1]))

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

        `docs` are texts, dictionaries, Documents, or other libraries' documents (see `reranking.inputs.as_documents`).
        Their own first-stage scores count as S_BM25, and without any BM25 among the documents does. `doc_ids` and
        `metadata` name and describe each of them, where they don't do so themselves. `top_k` keeps the best documents
        only. Of a query of more than 4,000 characters the beginning is read (`Ranking.unread`).

        Raises:
            InputError: a query that is no string, invalid documents, two of one id, or a top_k below 1.
        """
        top_k = optional_whole_number("top_k", top_k)
        documents = as_documents(docs, doc_ids=doc_ids, metadata=metadata)
        (ranking,) = self._rank([query], [documents], top_k=top_k)
        return ranking

    async def arerank(
        self,
        query: str,
        docs: Iterable[DocumentLike],
        *,
        top_k: int | None = None,
        doc_ids: Sequence[Any] | None = None,
        metadata: Sequence[Mapping[str, Any]] | None = None,
    ) -> Ranking:
        """`rerank` in a thread of its own, so that an event loop continues meanwhile.

        When it is cancelled (by a time-out, for example), the bundle's models stop after the present batch.
        """
        return await in_thread(lambda: self.rerank(query, docs, top_k=top_k, doc_ids=doc_ids, metadata=metadata))

    def score_pairs(self, pairs: Iterable[Pair], *, progress: bool = False) -> dict[str, F64]:
        """Return every perspective's scores (N,) of N (query, text) pairs, by name; each text is read whole.

        Raises:
            InputError: `pairs` are no pairs of texts.
        """
        checked = [as_pair(pair, number) for number, pair in enumerate(as_list("pairs", pairs))]
        scores = score_pairs(self.perspectives, checked, cache=self.cache, progress=progress)
        report_passages(scores.in_passages, "texts")
        return {perspective.name: scores.values[:, number] for number, perspective in enumerate(self.perspectives)}

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
        queries = as_list("queries", queries)
        documents = list(documents_of_each(as_list("docs", docs)))  # all of them before anything is scored
        check_same_length(queries, documents)
        return list(self._rank(queries, documents, top_k=top_k, progress=progress))

    def stream(
        self,
        queries: Iterable[str],
        docs: Iterable[Iterable[DocumentLike]],
        *,
        top_k: int | None = None,
        progress: bool = False,
    ) -> Iterator[Ranking]:
        """`rerank` for any number of queries and their documents (iterables): rankings one by one, in order.

        Queries are taken as results are asked for, until they have `pairs_at_once` pairs, which are scored together.

        Raises:
            InputError: as `rerank`, when it comes to the query; at once for one query instead of several.
        """
        top_k = optional_whole_number("top_k", top_k)
        check_is_list("queries", queries)
        check_is_list("docs", docs)
        return self._rank(queries, documents_of_each(docs), top_k=top_k, progress=progress)

    def score(
        self, queries: Iterable[str], docs: Iterable[Iterable[DocumentLike]], *, progress: bool = False
    ) -> list[Candidates]:
        """Split and score, but do not blend: every column of every query, for tuning and ablation.

        Raises:
            InputError: a query that is no string, invalid documents, or not one list of them for each query.
        """
        queries, documents = as_list("queries", queries), as_list("docs", docs)
        check_same_length(queries, documents)
        return list(self.stream_scored(queries, documents, progress=progress))

    def stream_scored(
        self, queries: Iterable[str], docs: Iterable[Iterable[DocumentLike]], *, progress: bool = False
    ) -> Iterator[Candidates]:
        """`score` for any number of queries, as `stream` is `rerank` for them. Raises InputError as `stream`.

        Batches after the first depend on their own texts alone (`forget_texts`).
        """
        check_is_list("queries", queries)
        check_is_list("docs", docs)
        return self._score(self._prepare(queries, documents_of_each(docs)), progress=progress, forgetting=True)

    def prepared_batches(
        self, queries: Iterable[str], docs: Iterable[Iterable[DocumentLike]]
    ) -> Iterator[list[Candidates]]:
        """Split queries' documents and group the queries as `stream_scored` scores them together, for `score_prepared`.

        Raises:
            InputError: as `stream`.
        """
        check_is_list("queries", queries)
        check_is_list("docs", docs)
        return self._batches(self._prepare(queries, documents_of_each(docs)))

    def score_prepared(self, candidates: Sequence[Candidates], *, progress: bool = False) -> list[Candidates]:
        """Score candidates that `reranking.prepare.prepare` made."""
        first_pass = self.weights if self.run.cascade == AUTO else None
        return Scorer(self.perspectives, self.derived, self.cache, first_pass).score(candidates, progress=progress)

    def _rank(
        self,
        queries: Iterable[str],
        documents: Iterable[Sequence[Document]],
        *,
        top_k: int | None,
        progress: bool = False,
    ) -> Iterator[Ranking]:
        """Run the pipeline: prepare, score, derive, blend, present."""
        scored = self._score(map(self._check_weighted, self._prepare(queries, documents)), progress=progress)
        return (
            rank(candidates, self.weights, top_k=top_k, calibration=self.calibration, relevance=self.relevance)
            for candidates in scored
        )

    def _prepare(self, queries: Iterable[str], documents: Iterable[Sequence[Document]]) -> Iterator[Candidates]:
        for number, (query, docs) in enumerate(zip_longest(queries, documents)):
            if docs is None:
                raise InputError(f"query {number} has no list of documents; give one list for each query.")
            if not isinstance(query, str):
                raise InputError(f"query {number} is {format_value(query)}; expected a string.")
            if not query.strip():
                raise InputError(f"query {number} is blank, so nothing can be ranked for it; give a question.")
            yield prepare(query, docs, cascade=self._sentence_cascade, splitting=self.run.splitting)

    def _check_weighted(self, candidates: Candidates) -> Candidates:
        """Raise InputError, before scoring, for weights of a column that neither documents nor perspectives give."""
        first_stage = candidates.columns.layout
        scored = [column for column in self.layout.columns if column.name not in first_stage.documents]
        self.weights.check_columns(first_stage.with_columns(scored))
        return candidates

    def _score(
        self, prepared: Iterable[Candidates], *, progress: bool, forgetting: bool = False
    ) -> Iterator[Candidates]:
        """Score queries batch by batch, one by one as results are asked for."""
        for number, batch in enumerate(self._batches(prepared)):
            if forgetting and number:
                self.forget_texts()
            yield from self.score_prepared(batch, progress=progress)

    def _batches(self, prepared: Iterable[Candidates]) -> Iterator[list[Candidates]]:
        """Group queries until they have `pairs_at_once` sentences; no group is empty."""
        batch: list[Candidates] = []
        count = 0
        for candidates in prepared:
            batch.append(candidates)
            count += max(1, len(candidates.sentences))
            if count >= self.run.pairs_at_once:
                yield batch
                batch, count = [], 0
        if batch:
            yield batch

"""The reranker: documents in, a ranking out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

from mpir.core.calibration import ranks_unread
from mpir.core.cancellation import in_thread
from mpir.core.candidates import Candidates
from mpir.core.columns import Column, Layout
from mpir.core.text import Document
from mpir.core.text.types import Pair
from mpir.models.perspectives import Perspective, ScoreCache, score_pairs
from mpir.models.perspectives.bm25 import Bm25Perspective
from mpir.reranking.deadline import check_deadline, deadline_in, score_until
from mpir.reranking.inputs import DocumentLike, as_documents, documents_of_each
from mpir.reranking.models import ModelOptions, chat_models, load_models
from mpir.reranking.options import AUTO, RunOptions
from mpir.reranking.prepare import BM25, Limit
from mpir.reranking.present import rank
from mpir.reranking.query_batches import batches_of, call_between, check_weighted, prepare_each, without_scores
from mpir.reranking.ranking import Ranking
from mpir.reranking.relevance import select_relevance
from mpir.reranking.resources import Resources
from mpir.reranking.score import Scorer, report_passages
from mpir.reranking.stages import FIRST_STAGE, READ
from mpir.reranking.validation import (
    ModelsLike,
    as_cache,
    as_list,
    as_models,
    as_pair,
    as_perspectives,
    as_run,
    check_columns,
    check_is_list,
    check_same_length,
)
from mpir.reranking.weight_selection import WeightsLike, check_models, select_calibration, select_weights
from mpir.types import F64
from mpir.validation import optional_whole_number


class Reranker(Resources):
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
        it has the mean weight of its level, and the log says so. `context` replaces the weights' S_CONTEXT.

        `device` and `precision` are for the bundle's models and those named: "auto", a torch device, or several with
        commas between them, each with a process of its own ("cuda:0,cuda:1", "cpu,cpu"); "auto", "fp32", "bf16" or
        "fp16". `cache` is a folder (or an open cache) where scores are kept between runs. `run` has further options.

        Raises:
            ArtefactError: the bundle is missing or damaged.
            OutputError: the cache's folder cannot be written.
            InputError: an invalid option, weights for other perspectives, two perspectives of one name, or a model
                option without a bundle.
        """
        self.run = as_run(run)
        choice = as_models(models)
        judges = chat_models(choice)
        if judges and bundle is None and not perspectives:
            bundle = "default"
        options = ModelOptions(device=device, precision=precision, run=self.run)
        loaded = load_models(bundle, [*as_perspectives(perspectives), *judges], options, choice)
        opened, self.perspectives, self._loaded = loaded.bundle, loaded.perspectives, loaded
        check_columns(self.perspectives)
        self._words = next((item.name for item in self.perspectives if isinstance(item, Bm25Perspective)), None)
        self.cache = as_cache(cache)
        self.weights, source = select_weights(
            weights,
            opened,
            self.layout,
            added=loaded.callers,
            named=loaded.named,
            only_named=choice.only,
            context=context,
        )
        check_models(self.weights, source, self.perspectives)
        self.calibration = select_calibration(opened, self.layout, self.perspectives, self.weights)
        self.relevance = select_relevance(self.weights, loaded, has_own_weights=weights is not None)

    @cached_property
    def layout(self) -> Layout:
        """The columns: BM25 and the document perspectives'; the sentence perspectives'.

        Documents that bring more first-stage scores than BM25 have columns of those, too.
        """
        first_stage = Column(BM25, "document", "first_stage")
        return Layout((first_stage, *(perspective.column for perspective in self.perspectives)))

    @property
    def identity(self) -> dict[str, Any]:
        """What the columns of `score` depend on besides queries and candidates; JSON-able."""
        unusual = {} if self.run.splitting == "abstract" else {"style": self.run.splitting}
        return {
            "perspectives": {perspective.name: perspective.model_fingerprint for perspective in self.perspectives},
            "scores": {perspective.name: perspective.fingerprint for perspective in self.perspectives},
            "cascade": self.run.cascade,
            **unusual,
        }

    def save_pretrained(self, folder: str | Path) -> None:
        """Write a bundle with these perspectives and weights: ``Reranker("./folder")`` loads it.

        Models of a folder are copied into it, and a hub's are named with their commit. Weights and calibration
        are saved, options of a run (device, precision, cache, cascade, splitting) are not.

        Raises:
            InputError: a perspective that is an object of the caller's, which no file can declare.
            OutputError: the folder cannot be written, or something else stands there.
        """
        from mpir.reranking.save import save_bundle

        save_bundle(folder, self._loaded, self.weights, self.calibration)

    def rerank(
        self,
        query: str,
        docs: Iterable[DocumentLike],
        *,
        top_k: int | None = None,
        doc_ids: Sequence[Any] | None = None,
        metadata: Sequence[Mapping[str, Any]] | None = None,
        within: float | None = None,
    ) -> Ranking:
        """Rank documents, and the sentences inside them, for a query.

        `docs` are texts, dictionaries, Documents, or other libraries' documents (see `reranking.inputs.as_documents`).
        Their own first-stage scores count as S_BM25, and without any BM25 among the documents does. `doc_ids` and
        `metadata` name and describe each of them, where they don't do so themselves. `top_k` keeps the best documents
        only. Of a query of more than 4,000 characters the beginning is read (`Ranking.unread`).

        `within` is the number of seconds in which to answer (reranking/deadline.py): documents that are not reached are
        `left_out` or `in_part`, with a probability by what is known. The first call loads the models meanwhile.

        Raises:
            InputError: a query that is no string, invalid documents, two of one id, a top_k below 1, or a `within` that
                is no positive number or asks for what the bundle cannot do.
        """
        until = None if within is None else deadline_in(within)
        top_k = optional_whole_number("top_k", top_k)
        documents = as_documents(docs, doc_ids=doc_ids, metadata=metadata)
        (ranking,) = self._rank([query], [documents], top_k=top_k, until=until)
        return ranking

    async def arerank(
        self,
        query: str,
        docs: Iterable[DocumentLike],
        *,
        top_k: int | None = None,
        doc_ids: Sequence[Any] | None = None,
        metadata: Sequence[Mapping[str, Any]] | None = None,
        within: float | None = None,
    ) -> Ranking:
        """`rerank` in a thread of its own, so that an event loop continues meanwhile.

        When it is cancelled (by a time-out, for example), the bundle's models stop after the present batch.
        """
        return await in_thread(
            lambda: self.rerank(query, docs, top_k=top_k, doc_ids=doc_ids, metadata=metadata, within=within)
        )

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
        return self._score(call_between(self.prepared_batches(queries, docs), self.forget_texts), progress=progress)

    def prepared_batches(
        self, queries: Iterable[str], docs: Iterable[Iterable[DocumentLike]]
    ) -> Iterator[list[Candidates]]:
        """Split queries' documents and group the queries as `stream_scored` scores them together, for `score_prepared`.

        Raises:
            InputError: as `stream`.
        """
        check_is_list("queries", queries)
        check_is_list("docs", docs)
        return batches_of(self._prepare(queries, documents_of_each(docs)), self.run.pairs_at_once)

    def score_prepared(self, candidates: Sequence[Candidates], *, progress: bool = False) -> list[Candidates]:
        """Score candidates that `reranking.prepare.prepare` made."""
        return self._scorer.score(candidates, progress=progress)

    @property
    def _scorer(self) -> Scorer:
        return Scorer(perspectives=self.perspectives, cache=self.cache, weights=self.weights, cascade=self.run.cascade)

    def _rank(
        self,
        queries: Iterable[str],
        documents: Iterable[Sequence[Document]],
        *,
        top_k: int | None,
        progress: bool = False,
        until: float | None = None,
    ) -> Iterator[Ranking]:
        """Run the pipeline: prepare, score, blend, present; with `until`, score as far as time allows."""
        weights, prepared = self.weights, self._prepare(queries, documents, has_lexical=False)
        checked = map(partial(check_weighted, weights=weights, layout=self.layout), prepared)
        if until is None:
            scored = self._score(batches_of(checked, self.run.pairs_at_once), progress=progress)
        else:
            check_deadline(self.perspectives, ranks_unread=ranks_unread(self.calibration, weights, self._words))
            scored = map(partial(score_until, self._scorer, until=until), checked)
        fitted: dict[str, Any] = {"calibration": self.calibration, "relevance": self.relevance}
        return map(partial(rank, weights=weights, top_k=top_k, **fitted), scored)

    def _prepare(
        self, queries: Iterable[str], documents: Iterable[Sequence[Document]], *, has_lexical: bool = True
    ) -> Iterator[Candidates]:
        """Prepare queries; documents beyond a limit are not read, if words alone give them a probability."""
        is_limited = self.run.cascade == AUTO and ranks_unread(self.calibration, self.weights, self._words)
        limit = Limit(READ, FIRST_STAGE) if is_limited else None
        options: dict[str, Any] = {"splitting": self.run.splitting, "words": self._words, "limit": limit}
        computed = {item.name for item in self.perspectives if item.documents_model is not None}
        computed |= {self._words} if self._words else set()
        documents = (without_scores(docs, computed) if docs and docs[0].scores else docs for docs in documents)
        return prepare_each(queries, documents, has_lexical=has_lexical, **options)

    def _score(self, batches: Iterable[list[Candidates]], *, progress: bool) -> Iterator[Candidates]:
        """Score queries batch by batch, one by one as results are asked for."""
        return chain.from_iterable(map(partial(self.score_prepared, progress=progress), batches))

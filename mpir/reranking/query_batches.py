"""The queries of a call: checked and prepared one by one, and grouped into batches that are scored together."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from mpir.core.candidates import Candidates
from mpir.core.columns import Layout
from mpir.core.text import Document
from mpir.core.text.split import Splitting
from mpir.core.weights import Weights
from mpir.errors import InputError, format_value
from mpir.reranking.prepare import Limit, prepare

log = logging.getLogger(__name__)


def prepare_each(
    queries: Iterable[str],
    documents: Iterable[Sequence[Document]],
    *,
    splitting: Splitting,
    words: str | None,
    limit: Limit | None,
    has_lexical: bool,
) -> Iterator[Candidates]:
    """Yield each query's candidates, with the arguments of `prepare`.

    Raises:
        InputError: a query that is no string or blank, or not one list of documents for each query.
    """
    for number, (query, docs) in enumerate(zip_longest(queries, documents)):
        if docs is None:
            raise InputError(f"query {number} has no list of documents; give one list for each query.")
        if not isinstance(query, str):
            raise InputError(f"query {number} is {format_value(query)}; expected a string.")
        if not query.strip():
            raise InputError(f"query {number} is blank, so nothing can be ranked for it; give a question.")
        yield prepare(query, docs, splitting=splitting, words=words, limit=limit, has_lexical=has_lexical)


def without_scores(documents: Sequence[Document], names: Collection[str]) -> Sequence[Document]:
    """Return documents without the scores of these columns, which a bundle computes itself, and log their names.

    The documents of another bundle's ranking have scores of the same names. Every document has the same scores.
    """
    computed = sorted(set(names).intersection(documents[0].scores))
    if not computed:
        return documents
    log.warning("scores of the documents that the bundle computes itself are not used: %s", ", ".join(computed))
    return [
        replace(document, scores={name: score for name, score in document.scores.items() if name not in computed})
        for document in documents
    ]


def check_weighted(candidates: Candidates, *, weights: Weights, layout: Layout) -> Candidates:
    """Return prepared candidates; raise InputError for weights of a column that neither they nor the layout have."""
    first_stage = candidates.columns.layout
    scored = [column for column in layout.columns if column.name not in first_stage.documents]
    weights.check_columns(first_stage.with_columns(scored))
    return candidates


def batches_of(prepared: Iterable[Candidates], pairs_at_once: int) -> Iterator[list[Candidates]]:
    """Group queries until they have `pairs_at_once` sentences; no group is empty."""
    batch: list[Candidates] = []
    count = 0
    for candidates in prepared:
        batch.append(candidates)
        count += max(1, len(candidates.sentences))
        if count >= pairs_at_once:
            yield batch
            batch, count = [], 0
    if batch:
        yield batch


def call_between(batches: Iterable[list[Candidates]], action: Callable[[], None]) -> Iterator[list[Candidates]]:
    """Yield the batches, and call `action` before each of them but the first."""
    for number, batch in enumerate(batches):
        if number:
            action()
        yield batch

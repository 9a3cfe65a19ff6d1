"""Candidates for the negatives of triples: from a search, from a TREC run, or drawn at random."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from mpir.errors import InputError, format_value
from mpir.files.corpora.text_store import Texts
from mpir.files.corpora.trec import stream_run
from mpir.lab.train.clicks import Judged
from mpir.lab.train.triple_judgements import answered, known_to
from mpir.lab.train.triple_settings import TripleSettings

if TYPE_CHECKING:
    from mpir.search import Retriever

Item = TypeVar("Item")
QUERIES_PER_CHUNK = 5000
SEARCHED_AT_ONCE = 64
Chunk = Sequence[tuple[str, list[str]]]
"""Query ids with the ids of their candidates, best first."""
Find = Callable[[], Chunk]
"""Returns the candidates of a chunk; called on demand."""


def candidates(
    settings: TripleSettings, judged: Mapping[str, Judged], index: Retriever | None, corpus: Texts | None
) -> Iterator[Find]:
    """Yield chunks of questions with their candidates."""
    if settings.run_file:
        yield from (partial(list, chunk) for chunk in _chunks(stream_run(settings.run_file)))
        return
    names = (name for name, grades in judged.items() if answered(grades))
    if corpus is not None and settings.random:
        find = draw(settings, corpus)
    elif index is not None and settings.questions is not None:
        find = partial(search, settings, index, Texts.of_queries(settings.questions))
    else:
        raise InputError("no candidates to sample from; expected an index with questions, a run, or random documents.")
    yield from (partial(find, chunk) for chunk in _chunks(names))


def search(settings: TripleSettings, index: Retriever, texts: Texts, names: Sequence[str]) -> Chunk:
    """Return the first-stage results of questions. Raises InputError for a question without a text."""
    known, ids_of = texts.find(names), []
    for name in names:
        if name not in known:
            raise InputError(f"{texts.source}: has no question {format_value(name)}, which has judgements; add it.")
    for start in range(0, len(names), SEARCHED_AT_ONCE):
        batch = names[start : start + SEARCHED_AT_ONCE]
        hits = index.search_batch([known[name] for name in batch], settings.depth)
        ids_of += [(name, [document.id for document in documents]) for name, documents in zip(batch, hits, strict=True)]
    return ids_of


def draw(settings: TripleSettings, corpus: Texts) -> Callable[[Sequence[str]], Chunk]:
    """Return a function that draws documents for questions; the draw depends on the question, not on its position."""

    def drawn(name: str) -> list[str]:
        """Draw the ids of a question's documents."""
        generator = np.random.default_rng([settings.seed, zlib.crc32(name.encode()), 1])
        chosen = generator.choice(len(corpus), min(settings.depth, len(corpus)), replace=False)
        return corpus.names(chosen.tolist())

    return lambda names: [(name, drawn(name)) for name in names]


def with_texts(chunk: Chunk, corpus: Texts | None) -> tuple[Chunk, int]:
    """Return a chunk without the candidates that lack a text in a corpus, and the number of the latter.

    Without a corpus all are kept, because hits of an index have a text.
    """
    if corpus is None:
        return chunk, 0
    known, present_ids = known_to(None, corpus), []
    for query, ids in chunk:
        present = known(ids)
        present_ids.append((query, [name for name in ids if name in present]))
    return present_ids, sum(len(ids) for _, ids in chunk) - sum(len(ids) for _, ids in present_ids)


def _chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    items = iter(items)
    while chunk := list(islice(items, QUERIES_PER_CHUNK)):
        yield chunk

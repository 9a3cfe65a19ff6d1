"""The paper's methods, one step each, over items from QASC or from language models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice

from mpir.errors import InputError
from mpir.lab.sia import facts, similar
from mpir.lab.sia.entities import EntityFinder, TermEntities
from mpir.lab.sia.qasc import read_items as read_qasc
from mpir.lab.sia.rows import SiaRow
from mpir.lab.sia.steps import Steps, as_records, items_of, source_identity, with_items
from mpir.lab.sia.swaps import swap_rows
from mpir.lab.sia.vectors import Neighbours
from mpir.lab.sia.workspace import Step
from mpir.search import LuceneIndex, index_matches


def read_items(steps: Steps) -> Step:
    """Read QASC rows as items, and check them."""
    counts: Counter[str] = Counter()
    settings, source = steps.settings, steps.settings.qasc
    items = islice(read_qasc(source, skip_bad=settings.skip_bad, counts=counts), settings.limit)
    identity = {"file": source_identity(source), "limit": settings.limit, "skip_bad": settings.skip_bad}
    step = steps.run("items", items, lambda batch: as_records(batch, {}), identity, counts=counts)
    if not step.chunks:
        raise InputError(f"{source}: there are no valid rows; expected rows in QASC's format.")
    return step


def combined(steps: Steps, prefix: str, items: Step) -> Step:
    """Make rows from the facts that answer."""
    seed = steps.settings.seed
    return steps.over_items(prefix + "combined", items, lambda batch: (facts.combined_rows(batch, seed), {}))


def partial(steps: Steps, prefix: str, items: Step) -> Step:
    """Make rows from the facts that answer partly."""
    relevance, seed = steps.perspective("relevance"), steps.settings.seed
    identity = {"relevance": relevance.fingerprint}
    return steps.over_items(
        prefix + "partial",
        items,
        lambda batch: facts.partial_rows(batch, relevance, seed),
        identity,
        divided=True,
    )


def similar_rows(steps: Steps, prefix: str, items: Step) -> Step:
    """Make rows from the facts of similar questions."""
    models = similar.Models(steps.perspective("sts"), steps.perspective("relevance"))
    settings, folder = steps.settings, steps.space.path(prefix + "questions")
    source = {"items": items.fingerprint}
    if not index_matches(folder, source):
        similar.index_items(items_of(items), folder, source)
    with LuceneIndex(folder) as index:
        step = steps.over_items(
            prefix + "similar",
            items,
            lambda batch: similar.similar_rows(batch, index, models, settings.threshold, settings.seed),
            {"models": [models.sts.fingerprint, models.relevance.fingerprint], "threshold": settings.threshold},
            divided=True,
        )
    if steps.space.shard.count == 1:
        similar.check_found(step.counts, settings.threshold)
    steps.counts[step.name] = dict(similar.public(step.counts))
    return step


def swap(
    steps: Steps, prefix: str, items: Step, rows: Sequence[Step], swapping: tuple[EntityFinder, Neighbours]
) -> Step:
    """Make rows about other entities from rows of `combined` and `partial`."""
    settings, (finder, neighbours) = steps.settings, swapping
    if isinstance(finder, TermEntities):
        finder.count(item.full for item in items_of(items))
    paired = ((SiaRow.from_dict(record), item.answer) for step in rows for item, record in with_items(items, step))
    identity = {"entities": finder.identity, **neighbours.identity, "probability": settings.probability}
    return steps.run(
        prefix + "swap",
        paired,
        lambda batch: as_records(*swap_rows(batch, finder, neighbours, settings.probability, settings.seed)),
        {"rows": [step.fingerprint for step in rows], **identity, "seed": settings.seed},
    )

"""The method `generated`: train two writers, and let them write a query and a partial fact for each source sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from mpir.errors import InputError
from mpir.lab.sia.filters import asks
from mpir.lab.sia.item_steps import partial
from mpir.lab.sia.settings import Decoding, GenerationSettings, Training
from mpir.lab.sia.steps import Steps, as_records, items_of, source_identity, with_items
from mpir.lab.sia.workspace import Step
from mpir.models.device import choose_device, choose_dtype


def generate(steps: Steps, items: Step, gold: Step | None) -> Step:
    """Train both writers, then write a query and a partial fact for every source sentence.

    Both learn from the items; the query writer also learns from BioASQ's gold sentences, where `gold` has them.
    """
    from mpir.lab.sia.generated import PER_CHUNK, Writers, generate_items, read_sources
    from mpir.lab.sia.writer import CUES, Writer

    settings, sampling = steps.settings, Decoding(**steps.settings.decoding)
    training = asdict(Training(checkpoint=steps.settings.writer, **steps.settings.training))
    trained = {target: train(steps, target, items, gold) for target in CUES}
    shared = {"max_length": training["max_length"], "device": settings.device, "precision": settings.precision}
    writers = Writers(**{target: Writer(folder, target, **shared) for target, folder in trained.items()})
    limit = settings.limit if settings.sentences is None else settings.sentences
    sources = islice(read_sources(settings.sources, steps.evaluation()), limit)
    relevance = steps.perspective("relevance")
    identity = {
        "training": [training, items.fingerprint, gold.fingerprint if gold else ""],
        "decoding": decoding(settings),
        "filters": [asdict(settings.filters), relevance.fingerprint],
        "sources": [source_identity(path) for path in settings.sources],
        "limit": limit,
        "seed": settings.seed,
    }
    step = steps.run(
        "generated-items",
        sources,
        lambda batch: as_records(
            *generate_items(batch, writers, relevance, sampling, settings.filters, seed=settings.seed)
        ),
        identity,
        size=PER_CHUNK,
    )
    if not any(True for _ in step.records()):
        raise InputError(
            f"generated: the filters removed every query ({dict(step.counts)}); train longer, use a better "
            "checkpoint, or relax the filters."
        )
    return step


def train(steps: Steps, target: str, items: Step, gold: Step | None) -> Path:
    """Train the writer of queries or of partial facts, and return its folder."""
    from mpir.core.checksum import fingerprint
    from mpir.lab.sia.writer import train_writer

    settings = steps.settings
    training = Training(checkpoint=settings.writer, **settings.training)
    facts, gold = partial(steps, "", items), gold if target == "query" else None
    rows = [step.fingerprint for step in (facts, gold) if step]
    identity = fingerprint({"kind": target, "rows": rows, "training": asdict(training), "seed": settings.seed})
    folder = steps.space.prepare(f"writer-{target}", identity)

    def examples() -> Iterator[tuple[str, str]]:
        """Yield (source, target) of all training examples for this kind of writer."""
        if target == "partial":
            yield from ((item.full, record["sentence"]) for item, record in with_items(items, facts))
            return
        yield from ((item.full, item.question) for item in items_of(items) if asks(item.question))
        for record in gold.records() if gold else ():
            if record["method"] == "golden" and asks(record["query"]):
                yield record["sentence"], record["query"]

    return train_writer(
        target,
        examples,
        training,
        folder,
        seed=settings.seed,
        device=settings.device,
        precision=settings.precision,
        progress=steps.space.progress,
    )


def decoding(settings: GenerationSettings) -> dict[str, Any]:
    """Return how text is sampled, including the number format, which may depend on the hardware."""
    dtype = choose_dtype(settings.precision, [choose_device(settings.device)])
    return {**asdict(Decoding(**settings.decoding)), "precision": str(dtype).removeprefix("torch.")}

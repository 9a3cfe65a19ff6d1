"""The method `generated`: train two writers, and let them write a query and a partial fact for each source sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.core.text.split import sentences, split
from mpir.errors import InputError
from mpir.files.corpora import read_corpus, read_questions
from mpir.lab.sia.filters import Filters, asks
from mpir.lab.sia.item_steps import partial
from mpir.lab.sia.rows import Item, one_line, random_of
from mpir.lab.sia.settings import Decoding, GenerationSettings, Training
from mpir.lab.sia.steps import Steps, as_records, items_of, source_identity, with_items
from mpir.lab.sia.workspace import Step
from mpir.lab.train.leakage import EvaluationQuestions
from mpir.models.devices.device import choose_device, choose_dtype
from mpir.models.perspectives import Perspective, score_pairs

if TYPE_CHECKING:
    from mpir.lab.sia.writer import Writer


def generate(steps: Steps, items: Step, gold: Step | None) -> Step:
    """Train both writers, then write a query and a partial fact for every source sentence.

    Both learn from the items; the query writer also learns from BioASQ's gold sentences, where `gold` has them.
    """
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


ORIGIN = "generated-"
PER_CHUNK = 32
Source = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Writers:
    """The model that writes queries, and the one that writes partial facts."""

    query: Writer
    partial: Writer


def read_sources(paths: Iterable[str], evaluation: EvaluationQuestions) -> Iterator[Source]:
    """Stream (id, sentence) from corpora and from BioASQ question files (``.json``: their gold snippets).

    Snippets of questions reserved for evaluation are left out.
    """
    for path in paths:
        if not path.endswith(".json"):
            for document in read_corpus([path]):
                yield from ((f"{s.document}-{s.section}-{s.begin}", one_line(s.text)) for s in sentences(document))
            continue
        for question in read_questions(path):
            if not evaluation.holds(question.id, question.body):
                for number, snippet in enumerate(question.snippets or ()):
                    spans = split(snippet.text)
                    texts = [one_line(snippet.text[begin:end]) for begin, end in spans]
                    yield from ((f"{question.id}-{number}-{n}", text) for n, text in enumerate(texts))


def generate_items(
    sources: Sequence[Source],
    writers: Writers,
    relevance: Perspective,
    decoding: Decoding,
    filters: Filters,
    *,
    seed: int,
) -> tuple[list[Item], Counter[str]]:
    """Yield an item for every sentence whose query passes the filters, with its partial fact if that passes, too.

    `relevance` is the perspective by which the filters judge whether a sentence answers its own query.
    """
    texts = [text for _, text in sources]
    purpose = [identity for identity, _ in sources]
    queries = writers.query.write(texts, decoding, random_of(seed, "query", *purpose).getrandbits(62))
    facts = writers.partial.write(texts, decoding, random_of(seed, "partial", *purpose).getrandbits(62))
    back = score_pairs([relevance], [(query.text, text) for query, text in zip(queries, texts, strict=True)])
    items, counts = [], Counter[str]()
    for (identity, text), query, fact, value in zip(sources, queries, facts, back.values[:, 0].tolist(), strict=True):
        counts["sentences"] += 1
        if fault := filters.query_fault(query.text, text, query.loss, value):
            counts[f"query removed: {fault}"] += 1
            continue
        fault = filters.fact_fault(fact.text, text, fact.loss)
        if fault:
            counts[f"partial fact removed: {fault}"] += 1
        items.append(
            Item(
                id=identity,
                question=query.text,
                full=text,
                partial=() if fault else (fact.text,),
                answer="",
                origin=ORIGIN,
            )
        )
    return items, counts

"""The steps that make rows: the paper's methods over items, and graded rows of BioASQ questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

from mpir.core.text import Document, Question
from mpir.errors import InputError
from mpir.files.corpora import corpus_fingerprint, read_questions
from mpir.files.corpora.corpus import corpus_content
from mpir.lab.sia import facts, graded, similar
from mpir.lab.sia.answers import Answer
from mpir.lab.sia.entities import EntityFinder, TermEntities
from mpir.lab.sia.qasc import read_items as read_qasc
from mpir.lab.sia.rows import SiaRow
from mpir.lab.sia.steps import Steps, as_records, items_of, source_identity, with_items
from mpir.lab.sia.swaps import swap_rows
from mpir.lab.sia.vectors import Neighbours
from mpir.lab.sia.workspace import Record, Step
from mpir.models.perspectives import Perspective, score_pairs
from mpir.search import LuceneIndex, index_files, index_matches


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


NEAR = 10
QUESTIONS_PER_CHUNK = 64


def bioasq_rows(steps: Steps, answers: Mapping[str, Answer]) -> Step:
    """Graded rows of BioASQ questions, without those reserved for evaluation."""
    settings, counts = steps.settings, Counter[str]()
    folder, source = steps.space.path("corpus"), corpus_fingerprint(settings.corpus)
    if not index_matches(folder, source):
        index_files(settings.corpus, folder, source=source, progress=steps.space.progress)
    relevance = steps.perspective("relevance")
    chosen = [name for name in ("graded", "coverage") if steps.has(name)]
    identity = {
        "files": [source_identity(path) for path in (*settings.bioasq, *settings.exclude)],
        "corpus": corpus_content(source),
        "methods": chosen,
        "relevance": relevance.fingerprint,
        "limit": settings.limit,
        "seed": settings.seed,
    }
    makers = {"graded": graded.graded_rows, "coverage": graded.coverage_rows}
    with LuceneIndex(folder) as index:

        def work(questions: Sequence[Question]) -> tuple[list[Record], dict[str, int]]:
            """Return the rows of some questions, and no counts of omissions."""
            evidence_list = _evidence(questions, index, answers, relevance)
            rows = [
                asdict(row)
                for evidence in evidence_list
                for name in chosen
                for row in makers[name](evidence, settings.seed)
            ]
            return rows, {}

        questions = islice(_questions(steps, counts), settings.limit)
        how: dict[str, Any] = {"size": QUESTIONS_PER_CHUNK, "divided": True}
        return steps.run("bioasq", questions, work, identity, counts=counts, **how)


def _questions(steps: Steps, counts: Counter[str]) -> Iterator[Question]:
    evaluation, known_texts = steps.evaluation(), set[str]()
    for question in (q for path in steps.settings.bioasq for q in read_questions(path)):
        if evaluation.holds(question.id, question.body):
            counts["questions kept for evaluation, left out"] += 1
        elif question.id not in known_texts:
            known_texts.add(question.id)
            counts["questions"] += 1
            yield question


def _evidence(
    questions: Sequence[Question], index: LuceneIndex, answers: Mapping[str, Any], relevance: Perspective
) -> Iterator[graded.Evidence]:
    pairs = [(question.body, text) for question in questions for text in graded.gold_sentences(question)]
    scores = dict(zip(pairs, score_pairs([relevance], pairs).values[:, 0].tolist(), strict=True))
    results = index.search_batch([question.body for question in questions], NEAR + 1)
    for question, near in zip(questions, results, strict=True):
        gold = [document for name in question.documents or () if (document := _known(index, name))]
        names = set(question.documents or ())
        wrong = [document for document in near if document.id not in names]
        values = {text: scores[question.body, text] for text in graded.gold_sentences(question)}
        yield graded.Evidence(
            question=question,
            gold=gold,
            wrong=wrong,
            answer=answers.get(question.id, ()),
            relevance=values,
        )


def _known(index: LuceneIndex, name: str) -> Document | None:
    """A gold document, or None if the corpus lacks it."""
    try:
        return index.document(name)
    except InputError:
        return None

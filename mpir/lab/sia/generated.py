"""Items without annotation: for any sentence, a model writes a query and another a partial fact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mpir.core.text.split import sentences, split
from mpir.files.corpora import read_corpus, read_questions
from mpir.lab.sia.filters import Filters
from mpir.lab.sia.rows import Item, one_line, random_of
from mpir.lab.sia.settings import Decoding
from mpir.lab.sia.writer import Writer
from mpir.lab.train.leakage import EvaluationQuestions
from mpir.models.perspectives import Perspective, score_pairs

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

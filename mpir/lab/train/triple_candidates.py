"""Settings for sampling triples, judgements without evaluation queries, and candidates for negatives."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from mpir.errors import InputError, format_value
from mpir.files.corpora.bioasq import read_questions
from mpir.files.corpora.queries import read_queries
from mpir.files.corpora.text_store import Texts
from mpir.files.corpora.trec import read_qrels, stream_run
from mpir.lab.train.clicks import Judged, Recipe
from mpir.lab.train.leakage import EvaluationQuestions
from mpir.validation import whole_number

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


Known = Callable[[Collection[str]], Collection[str]]
"""A function that returns those of the given documents that have a text."""


def relevant(settings: TripleSettings) -> dict[str, Judged]:
    """Judgements by question, from several files or the questions' own. Raises InputError if nothing is relevant."""
    judged: dict[str, Judged] = {}
    for path in settings.qrels:
        for query, grades in read_qrels(path).items():
            judged[query] = {**judged.get(query, {}), **grades}
    if not settings.qrels and settings.questions and settings.questions.suffix == ".json":
        judged = {
            question.id: dict.fromkeys(question.documents or (), 1) for question in read_questions(settings.questions)
        }
    if not any(map(answered, judged.values())):
        source = next(iter(settings.qrels), settings.questions) or "qrels"
        raise InputError(f"{source}: no document has a grade above 0; expected judgements, such as clicks.")
    return judged


def answered(grades: Judged) -> bool:
    """Whether a question has a relevant document."""
    return any(grade > 0 for grade in grades.values())


def known_to(index: Retriever | None, corpus: Texts | None) -> Known:
    """Return a test for documents with a text in the corpus, or else in the index; without both, all pass."""
    if corpus is not None:
        return lambda ids: {name for name, text in corpus.find(ids).items() if text.strip()}
    return set if index is None else lambda ids: {name for name in ids if _stored(index, name).strip()}


def _stored(index: Retriever, name: str) -> str:
    """The text of a document, or "" if the index lacks it."""
    try:
        return index.document(name).text
    except InputError:
        return ""


def leave_out_absent(judged: dict[str, Judged], known: Known, source: str) -> tuple[int, int]:
    """Remove relevant documents without a text; return the numbers of all and of the removed ones.

    Raises:
        InputError: none of them has a text.
    """
    before = after = 0
    for query, grades in judged.items():
        relevant = [name for name, grade in grades.items() if grade > 0]
        present = known(relevant)
        judged[query] = {name: grade for name, grade in grades.items() if grade <= 0 or name in present}
        before, after = before + len(relevant), after + len(present)
    if not after:
        raise InputError(
            f"{source}: has no text for any of the {before} relevant documents; give the documents that were judged."
        )
    return before, before - after


def refuse_evaluation(settings: TripleSettings, judged: Mapping[str, Judged]) -> None:
    """Raise InputError if a training question is reserved for evaluation."""
    if not settings.evaluation or settings.questions is None:
        return
    pairs = [pair for path in settings.evaluation for pair in read_queries(path)]
    evaluation_questions = EvaluationQuestions(pairs)
    for identifier, text in read_queries(settings.questions):
        if identifier in judged:
            evaluation_questions.refuse(identifier, text)
    for identifier, text in pairs:
        if identifier in judged:  # and --questions, which may be of another part, lacks it
            evaluation_questions.refuse(identifier, text)


NAMES = {"skip": "negatives.skip", "negatives": "negatives.most", "evaluation": "exclude"}
"""The command line's names of settings whose values are checked here."""


@dataclass(frozen=True, kw_only=True)
class TripleSettings:
    """The source of candidates (index, run_file or random), the judgements, and the number of triples.

    `depth` is the number of candidates of a query, `skip` the number of best ones to exclude, `negatives` the
    maximum for each relevant document, and `number` the maximum number of triples. `search` has options for searching
    `index`.
    """

    output: Path
    index: str | None = None
    run_file: Path | None = None
    random: bool = False
    questions: Path | None = None
    qrels: Sequence[Path] = ()
    corpus: Sequence[str] | None = None
    evaluation: Sequence[Path] = ()
    depth: int = 500
    skip: int = 0
    negatives: int = 20
    number: int = 10_000_000
    recipe: Recipe = "filtered"
    keep_judged: bool = False
    seed: int = 1
    search: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise InputError for a number that is too small, or an option that lacks another."""
        for option, lowest in (("depth", 1), ("skip", 0), ("negatives", 1), ("number", 1), ("seed", 0)):
            whole_number(NAMES.get(option, option), getattr(self, option), minimum=lowest)
        for option, needed in (("index", "questions"), ("random", "corpus"), ("evaluation", "questions")):
            if getattr(self, option) and not getattr(self, needed):
                raise InputError(f"{NAMES.get(option, option)} needs {needed}; give them, or leave it out.")

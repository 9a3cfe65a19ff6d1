"""Negatives that are right about something else: gold sentences of other questions, conclusions of other abstracts.

    python data_scripts/topic_negatives.py --data DATA --encoder ENCODER --output runs/data

In-document negatives teach which sentence of a gold abstract answers; they never show a good answer to *another*
question, which a search brings up all the time. topics.train.jsonl has, for each `train` question, gold sentences as
positives and as negatives the gold sentences of other questions that are nearest by BM25 (kind "topic-bm25") and by a
sentence encoder's vectors ("topic-vector"), sentences of BM25's candidates ("bm25") and random gold ones ("random").
titles.train.jsonl asks with titles of abstracts: their own last sentences against the nearest last sentences of others
("title-bm25", "title-vector"). Positives and negatives of a question come from the same kind of record, so that length
says nothing. titles.dev.jsonl holds titles that are not trained on.

Left out as likely answers: what contains, is contained in or nearly repeats a gold sentence, or is as near to one by
the vectors as `--same`; and the gold sentences of a question as near as `--alike`. Evaluation questions are refused
by id and by text, their gold sentences are no negatives, and their gold documents lend no titles. No negative
stands twice in a question.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from mined_negatives import may_be_gold
from training_data import (
    BioASQ,
    Example,
    candidate_rows,
    check_outputs,
    complete_groups,
    gold_sentences,
    load,
    row,
    write,
)

from mpir.cli import guarded
from mpir.cli.path_options import file_path, text_path
from mpir.corpora.bioasq import read_questions
from mpir.io.read import read_json
from mpir.io.write import check_folder
from mpir.models.encoder import Encoder
from mpir.retrieve.memory import MemoryIndex
from mpir.text import Document, Question
from mpir.text.normalise import normalise
from mpir.text.split import sentences
from mpir.types import F32

DEPTH = 60
"""Nearest sentences that are looked at, by BM25 and by vectors each."""
POSITIVES, NEAR, RANDOM = 12, 10, 2
"""Rows of a question at most: positives, negatives of either nearest kind, random ones."""
SHORTEST, LONGEST = 40, 500
"""Characters of a sentence of an abstract."""
CONCLUSIONS = 2
"""Last sentences of an abstract that answer its title."""


@dataclass(frozen=True)
class Pool:
    """S sentences with the questions (or abstracts) whose they are, to find negatives in by words and by vectors."""

    texts: list[str]
    owners: list[set[str]]
    index: MemoryIndex
    vectors: F32

    @classmethod
    def build(cls, owned: Iterable[tuple[str, str]], encoder: Encoder) -> Pool:
        """The pool of (owner, text) pairs; a text that several own is there once."""
        documents: dict[str, set[str]] = {}
        for owner, text in owned:
            documents.setdefault(text, set()).add(owner)
        return cls(
            list(documents), list(documents.values()), MemoryIndex(list(documents)), encode(encoder, list(documents))
        )

    def nearest(self, query: str, vector: F32) -> dict[str, list[int]]:
        """The numbers of the sentences nearest to a query, best first, by way of search."""
        words = self.index.scores(query)
        return {"bm25": [i for i in top(words) if words[i] > 0], "vector": top(self.vectors @ vector)}


def top(scores: npt.NDArray[np.float32]) -> list[int]:
    """The numbers of the DEPTH highest scores, best first."""
    best = np.argpartition(-scores, min(DEPTH, len(scores) - 1))[:DEPTH]
    return [int(i) for i in best[np.argsort(-scores[best], kind="stable")]]


def encode(encoder: Encoder, texts: Sequence[str]) -> F32:
    """Unit vectors (N, W) of texts; of one in several passages, the first one's."""
    if not texts:
        return np.zeros((0, encoder.backend.hidden_size), np.float32)
    vectors, text_of = encoder.vectors(texts, progress=sys.stderr.isatty())
    return vectors[np.searchsorted(text_of, np.arange(len(texts)))]


@dataclass(frozen=True)
class Filter:
    """What is too likely an answer to be a negative."""

    same: float
    """Cosine with an own sentence from which on another says the same."""
    gold_texts: Sequence[str]
    vectors: F32
    alike: frozenset[str]
    """The owner itself and those that ask nearly the same."""

    def keeps(self, number: int, pool: Pool) -> bool:
        """Whether a sentence of the pool is another matter."""
        return not pool.owners[number] & self.alike and self.differs(pool.texts[number], pool.vectors[number])

    def differs(self, text: str, vector: F32) -> bool:
        """Whether a text, whose vector (W,) is given, says something else than the own sentences."""
        if may_be_gold(text, self.gold_texts):
            return False
        return not len(self.vectors) or float((self.vectors @ vector).max()) < self.same


def negatives(question: Question, vector: F32, pool: Pool, keep: Filter, subset: str) -> Iterator[Example]:
    """The nearest sentences of others by each way of search, each once, without likely answers."""
    used: set[int] = set()
    for ranking, numbers in pool.nearest(question.body, vector).items():
        chosen = [i for i in numbers if i not in used and keep.keeps(i, pool)][:NEAR]
        used.update(chosen)
        yield from (row(question, pool.texts[i], 0.0, f"{subset}-{ranking}") for i in chosen)


def topic_rows(bioasq: BioASQ, encoder: Encoder, arguments: argparse.Namespace) -> Iterator[Example]:
    """The rows of every `train` question."""
    gold = {q.id: [t for t in gold_sentences(q) if normalise(t) not in bioasq.held] for q in bioasq.train}
    pool = Pool.build(((name, text) for name, texts in gold.items() for text in texts), encoder)
    number, vectors = {text: i for i, text in enumerate(pool.texts)}, encode(encoder, [q.body for q in bioasq.train])
    candidates: list[tuple[Example, Filter]] = []
    for position, question in enumerate(bioasq.train):
        gold_texts = gold[question.id]
        near = np.flatnonzero(vectors @ vectors[position] >= arguments.alike)
        alike = frozenset({question.id, *(bioasq.train[i].id for i in near)})
        keep = Filter(
            arguments.same, [normalise(t) for t in gold_texts], pool.vectors[[number[t] for t in gold_texts]], alike
        )
        for text in bioasq.random.sample(gold_texts, min(POSITIVES, len(gold_texts))):
            yield row(question, text, 1.0, "golden")
        rows = list(negatives(question, vectors[position], pool, keep, "topic"))
        rows += random_rows(bioasq, question, pool, keep, {item["sentence"] for item in rows})
        yield from rows
        used = {item["sentence"] for item in rows}.union(*(gold[name] for name in alike))
        candidates += [(item, keep) for item in searched(bioasq, question, used)]
    # All at once, since an encoder reads many texts faster than a few.
    vectors = encode(encoder, [item["sentence"] for item, _ in candidates])
    for (item, keep), vector in zip(candidates, vectors, strict=True):
        if keep.differs(item["sentence"], vector):
            yield item


def random_rows(bioasq: BioASQ, question: Question, pool: Pool, keep: Filter, used: set[str]) -> list[Example]:
    """Some sentences of the pool at random, but none that was `seen` and no likely answer."""
    drawn = bioasq.random.sample(range(len(pool.texts)), min(4 * RANDOM, len(pool.texts)))
    chosen = [i for i in drawn if pool.texts[i] not in used and keep.keeps(i, pool)][:RANDOM]
    return [row(question, pool.texts[i], 0.0, "random") for i in chosen]


def searched(bioasq: BioASQ, question: Question, used: set[str]) -> list[Example]:
    """Sentences of BM25's candidates, each once, that are not `taken`."""
    barred = {normalise(text) for text in used}
    drawn = {item["sentence"]: item for item in candidate_rows(bioasq, question) if item["kind"] == "bm25"}
    return [item for text, item in drawn.items() if normalise(text) not in barred]


def conclusions(document: Document) -> list[str]:
    """The last sentences of an abstract that are neither very short nor very long."""
    texts = [s.text for s in sentences(document) if s.section == "abstract" and SHORTEST <= len(s.text) <= LONGEST]
    return texts[-CONCLUSIONS:]


def title_rows(documents: Sequence[Document], encoder: Encoder, same: float) -> Iterator[Example]:
    """Titles against the last sentences of their own and of other abstracts."""
    conclusions_of = {document.id: conclusions(document) for document in documents}
    pool = Pool.build(((name, text) for name, texts in conclusions_of.items() for text in texts), encoder)
    number, titles = {text: i for i, text in enumerate(pool.texts)}, encode(encoder, [d.title for d in documents])
    for document, vector in zip(documents, titles, strict=True):
        texts = conclusions_of[document.id]
        keep = Filter(
            same,
            [normalise(text) for text in texts],
            pool.vectors[[number[text] for text in texts]],
            frozenset({document.id}),
        )
        question = Question(f"title-{document.id}", document.title)
        yield from (row(question, text, 1.0, "title") for text in texts)
        yield from negatives(question, vector, pool, keep, "title")


def titled(bioasq: BioASQ, barred: set[str]) -> list[Document]:
    """The documents with a title of some words and an abstract to take sentences of, less the barred ones."""
    with_titles = [
        d for d in bioasq.pool if d.id not in barred and len(d.title.split()) >= 5 and len(d.abstract) >= 400
    ]
    return [d for d in with_titles if not bioasq.evaluation.holds(d.id, d.title)]


def evaluation_documents(data: Path) -> set[str]:
    """The gold documents of the `dev` and `test` questions."""
    splits = read_json(data / "bioasq/splits.json")
    held = {*splits["dev"], *splits["test"]}
    paths = [data / "bioasq/training.json", *sorted((data / "bioasq").glob("*_golden.json"))]
    return {name for path in paths for q in read_questions(path) if q.id in held for name in q.documents or ()}


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=file_path, required=True, help="the folder with bioasq/ and pubmed/")
    parser.add_argument(
        "--encoder", type=text_path, required=True, help="sentence encoder whose vectors find the nearest sentences"
    )
    parser.add_argument("--output", type=file_path, required=True, help="folder of the training files")
    parser.add_argument("--titles", type=int, default=1100, help="abstracts that lend their titles (%(default)s)")
    parser.add_argument("--dev-titles", type=int, default=100, help="of them not trained on (%(default)s)")
    parser.add_argument("--same", type=float, default=0.85, help="cosine of sentences that say the same (%(default)s)")
    parser.add_argument("--alike", type=float, default=0.8, help="cosine of questions that ask the same (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    return guarded("topic_negatives", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Build the files."""
    check_folder(arguments.output)
    check_outputs([arguments.output / f"{name}.jsonl" for name in ("topics.train", "titles.train", "titles.dev")])
    bioasq, encoder = load(arguments.data, arguments.seed), Encoder(arguments.encoder)
    topics = complete_groups(topic_rows(bioasq, encoder, arguments))
    write(arguments.output / "topics.train.jsonl", topics, bioasq.evaluation)
    documents = titled(bioasq, evaluation_documents(arguments.data))
    documents = random.Random(arguments.seed).sample(documents, min(arguments.titles, len(documents)))
    rows = complete_groups(title_rows(documents, encoder, arguments.same))
    dev = {f"title-{document.id}" for document in documents[: arguments.dev_titles]}
    write(arguments.output / "titles.train.jsonl", (r for r in rows if r["id"] not in dev), bioasq.evaluation)
    write(arguments.output / "titles.dev.jsonl", (r for r in rows if r["id"] in dev), bioasq.evaluation)
    return 0


if __name__ == "__main__":
    sys.exit(main())

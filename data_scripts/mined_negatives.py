"""Hard negatives that a trained model finds itself: a second round of relevance training.

    python data_scripts/mined_negatives.py --data DATA --bundle default --output runs/data/mined.train.jsonl

For every `train` question, a bundle scores the sentences of BM25's best documents that are not known relevant, and the
highest-scored ones become negatives (kind "mined"), beside some gold sentences as positives (kind "golden"). False
negatives are what to fear, so left out are sentences that contain, are contained in, or nearly repeat a gold snippet,
the `--skip` best-scored ones, and those that the model scores above a part (`--below`) of the question's gold
sentences' mean (Moreira et al., "NV-Retriever: Improving text embedding models with effective hard-negative mining",
2024); the rest of that part is taken off the mean's size, as logits may be negative. Evaluation questions are refused
by id and by text. Scored questions are kept in OUTPUT.scores.jsonl: the same command goes on with the same data.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm
from training_data import POSITIVES, BioASQ, Example, check_outputs, gold_sentences, load, row, write

from mpir.cli import guarded
from mpir.cli.model_options import add_model_options
from mpir.cli.path_options import file_path
from mpir.errors import InputError
from mpir.io.hash import fingerprint, sha256
from mpir.io.journal import Journal
from mpir.perspectives import open_bundle, score_pairs
from mpir.sia.graded import is_gold
from mpir.text import Question
from mpir.text.normalise import normalise
from mpir.text.split import sentences

if TYPE_CHECKING:
    from mpir.perspectives import Perspective

SHORTEST, LONGEST = 30, 600
"""Characters of a sentence."""
NEAR = 0.8
"""Share of the words of the shorter of two texts from which on one nearly repeats the other."""
QUESTIONS_AT_ONCE = 16
SOURCES = ("bioasq/training.json", "pubmed/abstracts.jsonl")
"""What gold sentences and candidates are taken from."""


def main() -> int:
    """Score, choose, write."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=file_path, required=True, help="the folder with bioasq/ and pubmed/")
    parser.add_argument("--output", type=file_path, required=True, help="the training file to write")
    parser.add_argument("--perspective", default="relevance", help="whose scores count (%(default)s)")
    parser.add_argument("--documents", type=int, default=6, help="BM25 candidates of each question (%(default)s)")
    parser.add_argument("--negatives", type=int, default=8, help="for each question, at most (%(default)s)")
    parser.add_argument("--skip", type=int, default=1, help="of the best-scored, likely unknown answers (%(default)s)")
    parser.add_argument("--below", type=float, default=0.95, help="part of the gold sentences' mean (%(default)s)")
    parser.add_argument("--questions", type=int, metavar="N", help="only the first N")
    parser.add_argument("--seed", type=int, default=1)
    add_model_options(parser, weights=False)
    arguments = parser.parse_args()
    return guarded("mined_negatives", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole round."""
    check_outputs([arguments.output], [("--data", arguments.data / name) for name in SOURCES])
    perspective = find(arguments)
    bioasq = load(arguments.data, arguments.seed)
    settings = {"perspective": perspective.fingerprint, "documents": arguments.documents, "seed": arguments.seed}
    settings |= {"data": [sha256(arguments.data / name) for name in SOURCES], "held": fingerprint(sorted(bioasq.held))}
    journal = Journal(f"{arguments.output}.scores.jsonl", settings)
    questions = bioasq.train[: arguments.questions]
    score(bioasq, questions, perspective, journal, arguments)
    rows = [r for q in questions for r in mined_rows(q, journal.records[q.id], arguments)]
    write(arguments.output, rows, bioasq.evaluation)
    return 0


def find(arguments: argparse.Namespace) -> Perspective:
    """The bundle's perspective of that name."""
    loaded = open_bundle(arguments.bundle).perspectives(device=arguments.device, precision=arguments.precision)
    for perspective in loaded:
        if perspective.name == arguments.perspective:
            return perspective
    names = ", ".join(perspective.name for perspective in loaded)
    raise InputError(f"bundle {arguments.bundle!r} has no perspective {arguments.perspective!r}; choose from {names}.")


def score(
    bioasq: BioASQ,
    questions: Sequence[Question],
    perspective: Perspective,
    journal: Journal,
    arguments: argparse.Namespace,
) -> None:
    """Score the gold sentences and the candidates of every question that the journal lacks."""
    missing = [question for question in questions if question.id not in journal.records]
    with tqdm(total=len(missing), desc="mining", unit="question", disable=not sys.stderr.isatty()) as bar:
        for start in range(0, len(missing), QUESTIONS_AT_ONCE):
            batch = missing[start : start + QUESTIONS_AT_ONCE]
            texts = [(gold(q, arguments.seed), candidates(bioasq, q, arguments.documents)) for q in batch]
            pairs = [(q.body, text) for q, both in zip(batch, texts, strict=True) for group in both for text in group]
            values = iter(score_pairs([perspective], pairs).values[:, 0].round(5).tolist())
            for question, (positives, negatives) in zip(batch, texts, strict=True):
                scored = [[[text, next(values)] for text in group] for group in (positives, negatives)]
                journal.add(question.id, {"golden": scored[0], "candidates": scored[1]})
            bar.update(len(batch))


def gold(question: Question, seed: int) -> list[str]:
    """Some gold sentences of a question."""
    texts = gold_sentences(question)
    return random.Random(f"{seed} {question.id}").sample(texts, min(POSITIVES, len(texts)))


def candidates(bioasq: BioASQ, question: Question, documents: int) -> list[str]:
    """The sentences of BM25's best documents that are not gold, without those that may be relevant themselves."""
    snippets = [normalise(snippet.text) for snippet in question.snippets or ()]
    texts = dict.fromkeys(s.text for document in bioasq.near(question)[:documents] for s in sentences(document))
    fit = [text for text in texts if SHORTEST <= len(text) <= LONGEST and normalise(text) not in bioasq.held]
    return [text for text in fit if not may_be_gold(text, snippets)]


def may_be_gold(text: str, snippets: Sequence[str]) -> bool:
    """Whether a text contains, is contained in, or nearly repeats one of the normalised gold snippets."""
    words = set(normalise(text).split())

    def repeats(snippet: str) -> bool:
        snippet_words = set(snippet.split())
        return len(words & snippet_words) >= NEAR * max(1, min(len(words), len(snippet_words)))

    return is_gold(text, snippets) or any(repeats(snippet) for snippet in snippets)


def mined_rows(question: Question, record: dict[str, Any], arguments: argparse.Namespace) -> Iterator[Example]:
    """A question's positives and mined negatives; none where either is missing."""
    positives = record["golden"]
    if not positives:
        return
    mean = float(np.mean([value for _, value in positives]))
    highest = mean - (1 - arguments.below) * abs(mean)
    ranked = sorted(record["candidates"], key=lambda item: -item[1])[arguments.skip :]
    negatives = [text for text, value in ranked if value < highest][: arguments.negatives]
    if negatives:
        yield from (row(question, text, 1.0, "golden") for text, _ in positives)
        yield from (row(question, text, 0.0, "mined") for text in negatives)


if __name__ == "__main__":
    sys.exit(main())

"""The negation column on questions of another field: does it help or hurt the default bundle?

Two word lists: the sample's findings of chest X-rays, and the topics of MedQuAD's questions, most of them diseases.
The column is added to what `mpir score` wrote of questions with gold, at the weight that `mpir rerank --lexicon` gives.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from tabulate import tabulate

from mpir.annotate import Lexicon
from mpir.corpora.corpus import read_corpus
from mpir.errors import InputError
from mpir.evaluate import bootstrap_interval, holm, randomisation_test
from mpir.io.read import read_lines
from mpir.perspectives.base import Level
from mpir.perspectives.bundle import open_bundle
from mpir.perspectives.negation import WEIGHT, NegationPerspective
from mpir.rank.weights import Weights
from mpir.tune.dataset import Dataset
from mpir.tune.objective import Objective
from mpir.types import F64

MEASURES: Mapping[Level, tuple[str, ...]] = {
    "document": ("document-map",),
    "sentence": ("document-map", "sentence-map"),
}
SHORTEST = 4
"""Letters of a topic: shorter ones are abbreviations of many things."""


def run(data: Path, lexicon: Path, scored: Path | None) -> int:
    """Print what the column changes, for both word lists and on both levels."""
    if scored is None:
        raise InputError(
            "the part bioasq needs questions that `mpir score` has scored; name their folder with --scored."
        )
    given = Dataset.load(scored)
    texts = _texts(given, data / "pubmed/abstracts.jsonl")
    weights = Weights.from_dict(open_bundle("default").weights or {})
    lists = {
        "findings of chest X-rays": Lexicon.load(lexicon),
        "MedQuAD's topics": topics(data / "medquad/medquad.jsonl"),
    }
    rows, p_values = [], []
    for name, phrases in lists.items():
        perspective = NegationPerspective(phrases)
        asked = sum(bool(perspective.mentions(question.body)) for question in given.questions)
        for level, measures in MEASURES.items():
            changed, weighed = _with(given, texts, perspective, level, weights)
            for measure in measures:
                before = Objective(given, measure).per_question(weights)
                after = Objective(changed, measure).per_question(weighed)
                counted = ~np.isnan(before)
                rows.append(
                    (name, len(phrases.concepts), asked, level, measure, *_figures(before[counted], after[counted]))
                )
                p_values.append(randomisation_test(after[counted], before[counted]))
    heads = (
        "word list",
        "concepts",
        "questions with one",
        "level",
        "measure",
        "without",
        "with",
        "difference, 95 %",
        "moved",
        "p",
    )
    table = [(*row, f"{p:.4f}") for row, p in zip(rows, holm(p_values), strict=True)]
    print(tabulate(table, heads, tablefmt="github", disable_numparse=True))
    return 0


def topics(path: Path) -> Lexicon:
    """A lexicon of what MedQuAD's questions are about: every topic is a concept with itself as its phrase."""
    names = {" ".join(json.loads(line)["focus"].lower().replace("-", " ").split()) for _, line in read_lines(path)}
    return Lexicon.of({name: [name] for name in sorted(names) if len(name) >= SHORTEST})


def _texts(given: Dataset, corpus: Path) -> dict[str, dict[str, str]]:
    """The sections of every candidate, by its id; "text" is the whole."""
    wanted = set(given.documents.tolist())
    found = {one.id: {**one.sections, "text": one.text} for one in read_corpus([corpus]) if one.id in wanted}
    if missing := sorted(wanted - set(found)):
        raise InputError(f"{corpus}: lacks the document {missing[0]!r} that was scored; give the corpus of the index.")
    return found


def _with(
    given: Dataset,
    texts: Mapping[str, Mapping[str, str]],
    perspective: NegationPerspective,
    level: Level,
    weights: Weights,
) -> tuple[Dataset, Weights]:
    """The scored questions with the column, and weights that name it."""
    columns, values = given.columns, []
    for number, question in enumerate(given.questions):
        documents = np.flatnonzero(columns.question_of == number)
        if level == "document":
            parts = [texts[given.documents[one]]["text"] for one in documents]
        else:
            rows = np.flatnonzero(np.isin(columns.document_of, documents))
            parts = [_sentence(given, texts, row) for row in rows]
        values.append(perspective.score(question.body, parts))
    columns = columns.with_columns({replace(perspective.column, level=level): np.concatenate(values)})
    if level == "document":
        weighed = replace(weights, beta={**weights.beta, perspective.name: WEIGHT})
        return replace(given, columns=columns), weighed
    weighed = replace(weights, alpha={**weights.alpha, perspective.name: WEIGHT})
    return replace(given, columns=columns), weighed


def _sentence(given: Dataset, texts: Mapping[str, Mapping[str, str]], row: int) -> str:
    section = texts[given.documents[given.columns.document_of[row]]][given.sections[row]]
    return section[given.begin[row] : given.end[row]]


def _figures(before: F64, after: F64) -> tuple[str, ...]:
    """Both means, the interval of the difference over questions, and how many questions it moves."""
    low, high = bootstrap_interval(after - before)
    moved = int((np.abs(after - before) > 1e-12).sum())
    return f"{before.mean():.4f}", f"{after.mean():.4f}", f"{low:+.4f} to {high:+.4f}", str(moved)

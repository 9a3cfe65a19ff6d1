"""Compare NegEx, negspacy and the majority class on human judgements of negation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tabulate import tabulate

from experiments.common.significance import p_against
from experiments.radiology.reports import Judged, read_judged
from mpir.extras import needs
from mpir.lab.annotate import NegEx
from mpir.types import Bool

RESAMPLES = 2000
MPIR = "mpir, negation.txt"
HEADS = ("", "precision", "recall", "F", "95 %", "accuracy", "95 %", "F, half", "p")
NAMED = {"PREN": "preceding", "PREP": "preceding", "POST": "following", "POSP": "following", "PSEU": "pseudo"}


def run(folder: Path) -> int:
    """Print the table; the published triggers are read from the data and do not ship with mpir."""
    rows, triggers = read_judged(folder / "rsAnnotations-1-120-random.txt"), folder / "negex_triggers.txt"
    gold = np.array([row.negated for row in rows])
    test = np.array([row.half == "test" for row in rows])
    _, sentence_of = np.unique([row.sentence.casefold() for row in rows], return_inverse=True)
    predictions = dict(systems(rows, triggers))
    adjusted = p_against({name: errors(said, gold, sentence_of) for name, said in predictions.items()}, MPIR)
    print(f"{len(rows)} mentions in {sentence_of.max() + 1} sentences, {gold.sum()} of them negated")
    table = [
        (name, *figures(said, gold, sentence_of), f"{f_score(said[test], gold[test]):.4f}", _shown(adjusted.get(name)))
        for name, said in predictions.items()
    ]
    print(tabulate(table, HEADS, tablefmt="github", disable_numparse=True))
    return 0


def systems(rows: Sequence[Judged], triggers: Path) -> Iterator[tuple[str, Bool]]:
    """Return the negated spans (N,) by system."""
    yield "all affirmed", np.zeros(len(rows), bool)
    yield "negspacy, its triggers", negspacy(rows, None)
    yield "negspacy, published triggers", negspacy(rows, NegEx.load(triggers))
    published, default = NegEx.load(triggers), NegEx.load()
    rules = {"mpir, published triggers": published, MPIR: NegEx.load("negation"), "mpir, default": default}
    for name, rule_set in rules.items():
        yield name, np.array([row.is_negated(rule_set) for row in rows])
    yield "mpir, default, possible as affirmed", np.array([row.is_negated(default, possible=False) for row in rows])


def negspacy(rows: Sequence[Judged], rules: NegEx | None) -> Bool:
    """Return negspacy's results for the same spans, one sentence per row, with its own triggers or `rules`."""
    with needs("experiments", "the comparison with negspacy"):
        import negspacy.negation  # noqa: F401  (registers the pipe)
        import spacy
        from negspacy.termsets import termset

    pipeline = spacy.blank("en")
    terms: Mapping[str, Any] = termset("en_clinical").get_patterns() if rules is None else _as_termset(rules)
    judge = pipeline.create_pipe("negex", config={"neg_termset": dict(terms)})
    said = []
    for row in rows:
        document = pipeline.make_doc(row.sentence)
        for token in document:
            token.is_sent_start = token.i == 0
        span = document.char_span(*row.span, label="CONDITION", alignment_mode="expand") if row.span else None
        document.ents = [] if span is None else [span]
        said.append(any(entity._.negex for entity in judge(document).ents))
    return np.array(said)


def _as_termset(rules: NegEx) -> dict[str, list[str]]:
    terms: dict[str, list[str]] = {f"{name}_negations": [] for name in ("pseudo", "preceding", "following")} | {
        "termination": []
    }
    for phrase, trigger_types in rules.triggers.items():
        for trigger_type in trigger_types:
            terms[f"{NAMED[trigger_type]}_negations" if trigger_type in NAMED else "termination"].append(phrase)
    return terms


def f_score(said: Bool, gold: Bool) -> float:
    """F1 of "negated"; 0 where nothing is right."""
    return 2 * float((said & gold).sum()) / max(1, said.sum() + gold.sum())


def errors(said: Bool, gold: Bool, sentence_of: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Wrong judgements (S,) in each sentence: those of one sentence are not independent."""
    return np.bincount(sentence_of, said != gold).astype(np.float64)


def figures(said: Bool, gold: Bool, sentence_of: npt.NDArray[np.int64]) -> tuple[str, ...]:
    """Precision, recall, F and accuracy, the last two with bootstrap intervals over sentences."""
    right = float((said & gold).sum())
    bounds = np.quantile(list(_resampled(said, gold, sentence_of)), [0.025, 0.975], axis=0)
    shown = [f"{low:.3f}-{high:.3f}" for low, high in bounds.T]
    return (
        f"{right / said.sum():.4f}" if said.any() else "",
        f"{right / gold.sum():.4f}",
        f"{f_score(said, gold):.4f}",
        shown[0],
        f"{(said == gold).mean():.4f}",
        shown[1],
    )


def _resampled(said: Bool, gold: Bool, sentence_of: npt.NDArray[np.int64]) -> Iterator[tuple[float, float]]:
    counts = np.stack([np.bincount(sentence_of, column) for column in (said & gold, said, gold, said == gold)])
    sizes = np.bincount(sentence_of)
    generator = np.random.default_rng(0)
    for _ in range(RESAMPLES):
        drawn = generator.integers(0, len(sizes), len(sizes))
        both, positive, true, same = counts[:, drawn].sum(axis=1)
        yield 2 * both / max(1.0, positive + true), same / sizes[drawn].sum()


def _shown(p: float | None) -> str:
    return "" if p is None else f"{p:.4f}"

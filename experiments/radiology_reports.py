"""Part B of experiments/radiology.py: reports found by findings that people named; everything is chosen on dev."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from free_baselines import Start
from radiology_data import HALVES, Half, read_openi
from tabulate import tabulate

from mpir.annotate import Lexicon, NegEx
from mpir.evaluate import bootstrap_interval, evaluate_queries, holm, randomisation_test
from mpir.perspectives.negation import NegationPerspective, Several
from mpir.rank.blend import blend
from mpir.rank.reranker import Reranker
from mpir.retrieve import MemoryIndex
from mpir.retrieve.fusion import scaled_sum
from mpir.text.split import sentences

Floats = npt.NDArray[np.float64]
MEASURES = ("AP", "Rprec", "nDCG@10", "P@10")
TRIGGERS = (("negation",), ("negation", "hedges"), ("negation", "hedges", "radiology"))
LIKENESS = (None, 0.6, 0.75)
RULES: tuple[Several, ...] = ("any", "mean", "last")
WEIGHTS = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
BM25, MINUS, START = "BM25", "BM25 minus negated", "start encoder, best sentence"
FREE = "BM25 + start encoder, z-scores"
LEXICON, PLAIN, BLEND = "lexicon alone", "BM25 + negation", "default bundle"
WITH = "default bundle + negation"
BLENDS = {PLAIN: BM25, WITH: BLEND}
CASCADE = 0.2
TABLE: dict[str, Any] = {"tablefmt": "github", "disable_numparse": True}
Scores = dict[str, Floats]
Choice = tuple[tuple[str, ...], float | None, Several]


@dataclass(frozen=True, slots=True)
class Scored:
    """One half: its queries in order, and scores (Q, D) by system."""

    half: Half
    scores: Scores

    def measured(self, values: Floats) -> dict[str, Floats]:
        """Each measure (Q,) of the rankings that scores (Q, D) give; equal ones in the order of ids."""
        ids = [report.id for report in self.half.reports]
        run = {
            label: dict(zip(ids, row.tolist(), strict=True))
            for label, row in zip(self.half.queries, values, strict=True)
        }
        found = evaluate_queries(self.half.judged, run, MEASURES)
        return {name: np.array(list(by_query.values())) for name, by_query in found.items()}

    def mean_ap(self, values: Floats) -> float:
        """The mean of AP."""
        return float(self.measured(values)["AP"].mean())


def run(data: Path, lexicon: Path, cache: Path | None) -> int:
    """Choose on dev, measure on test, print."""
    halves, phrases = read_openi(data / "indiana_reports.csv"), Lexicon.load(lexicon)
    reranker = Reranker(cache=cache, cascade=CASCADE, style="report")
    start = Start(folder=None if cache is None else cache / "vectors")
    found = {name: Scored(halves[name], scored(halves[name], reranker, start)) for name in HALVES}
    dev = found["dev"]
    chosen = _choose_rules(dev, phrases)
    dev.scores[LEXICON] = polarity(dev.half, chosen)
    weights = {name: _choose_weight(dev, base) for name, base in BLENDS.items()}
    for name, one in found.items():
        one.scores.update(with_negation(one, polarity(one.half, chosen), weights))
        print_figures(name, one)
    return 0


def scored(half: Half, reranker: Reranker, start: Start) -> Scores:
    """The scores (Q, D) of what needs no lexicon."""
    queries, texts = list(half.queries.values()), [report.text for report in half.reports]
    index = MemoryIndex(texts)
    found = [sentences(report, style="report") for report in half.reports]
    cosines = start.cosines(queries, [one.text for several in found for one in several])
    first = np.cumsum([0, *map(len, found[:-1])])
    blended = reranker.stream_scored(queries, (half.reports for _ in queries))
    lexical = np.stack([index.scores(query) for query in queries]).astype(np.float64)
    nearest = np.maximum.reduceat(cosines, first, axis=1)
    return {
        BM25: lexical,
        START: nearest,
        FREE: np.stack([scaled_sum(np.column_stack(both), (1, 1)) for both in zip(lexical, nearest, strict=True)]),
        BLEND: np.stack([blend(one.columns, reranker.weights).documents for one in blended]),
    }


def polarity(half: Half, perspective: NegationPerspective) -> Floats:
    """The negation column (Q, D) of documents."""
    texts = [report.text for report in half.reports]
    return np.stack([perspective.score(query, texts) for query in half.queries.values()])


def with_negation(one: Scored, column: Floats, weights: Mapping[str, float]) -> Scores:
    """What the negation column (Q, D) makes of the others."""
    blends = {name: one.scores[base] + weights[name] * column for name, base in BLENDS.items()}
    return {LEXICON: column, MINUS: np.where(column < 0, -1.0, one.scores[BM25]), **blends}


def _choose_rules(dev: Scored, phrases: Lexicon) -> NegationPerspective:
    """The triggers and the rule for several mentions, then the likeness, with which the lexicon ranks dev best."""
    exact: list[Choice] = [(triggers, None, rule) for triggers, rule in product(TRIGGERS, RULES)]
    triggers, _, rule = _best(dev, phrases, exact)
    best = _best(dev, phrases, [(triggers, likeness, rule) for likeness in LIKENESS])
    return _perspective(phrases, best)


def _perspective(phrases: Lexicon, choice: Choice) -> NegationPerspective:
    triggers, likeness, rule = choice
    return NegationPerspective(phrases, negation=NegEx.load(*triggers), likeness=likeness, several=rule)


def _best(dev: Scored, phrases: Lexicon, choices: Sequence[Choice]) -> Choice:
    values = [dev.mean_ap(polarity(dev.half, _perspective(phrases, choice))) for choice in choices]
    rows = [
        (" ".join(triggers), likeness or "exact", rule, f"{value:.4f}")
        for (triggers, likeness, rule), value in zip(choices, values, strict=True)
    ]
    print(tabulate(rows, ("triggers", "words", "several", "AP, dev"), **TABLE), end="\n\n")
    return choices[int(np.argmax(values))]


def _choose_weight(dev: Scored, base: str) -> float:
    values = [dev.mean_ap(dev.scores[base] + weight * dev.scores[LEXICON]) for weight in WEIGHTS]
    rows = [(f"{weight:g}", f"{value:.4f}") for weight, value in zip(WEIGHTS, values, strict=True)]
    print(tabulate(rows, (f"{base}, weight of negation", "AP, dev"), **TABLE), end="\n\n")
    return WEIGHTS[int(np.argmax(values))]


def print_figures(name: str, one: Scored) -> None:
    """Every measure of every system, AP with its interval, and p of AP against the full blend after Holm."""
    measured = {system: one.measured(values) for system, values in one.scores.items()}
    others = [system for system in measured if system != WITH]
    tests = [randomisation_test(measured[WITH]["AP"], measured[system]["AP"]) for system in others]
    p_values = dict(zip(others, holm(tests), strict=True))
    rows = [
        (
            system,
            *(f"{values[measure].mean():.4f}" for measure in MEASURES),
            "{:.3f}-{:.3f}".format(*bootstrap_interval(values["AP"])),
            f"{p_values[system]:.5f}" if system in p_values else "",
        )
        for system, values in measured.items()
    ]
    half = one.half
    print(f"{name}: {len(half.queries)} queries, {len(half.reports)} reports; p against {WITH!r}, after Holm")
    print(tabulate(rows, ("", *MEASURES, "AP, 95 %", "p"), **TABLE), end="\n\n")

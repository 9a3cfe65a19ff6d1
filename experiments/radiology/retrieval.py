"""Retrieve reports by annotated findings; all choices are made on dev."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
from tabulate import tabulate

from experiments.common.baselines import Start
from experiments.common.significance import p_against
from experiments.radiology.reports import HALVES, TABLE, read_openi
from experiments.radiology.systems import (
    BM25,
    LEXICON,
    MEASURES,
    MINUS,
    START,
    TRAINED,
    Scored,
    Summed,
    polarity,
    scored,
    sums,
)
from mpir.evaluate import bootstrap_interval
from mpir.lab.annotate import Lexicon, NegEx
from mpir.lab.annotate.negation_perspective import NegationPerspective, Several
from mpir.reranking.options import RunOptions
from mpir.reranking.reranker import Reranker

TRIGGERS = (("negation",), ("negation", "hedges"), ("negation", "hedges", "radiology"))
LIKENESS = (None, 0.6, 0.75)
RULES: tuple[Several, ...] = ("any", "mean", "last")
WEIGHTS = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
AT_ONCE = 100_000
"""Pairs: a half together, so that each report is read once."""
Choice = tuple[tuple[str, ...], float | None, Several]


def run(data: Path, lexicon: Path, cache: Path | None, trained: Path | None, *, without_bundle: bool = False) -> int:
    """Choose on dev, measure on test, print. `trained` is the checkpoint of an encoder that has seen dev's reports."""
    halves, phrases = read_openi(data / "indiana_reports.csv"), Lexicon.load(lexicon)
    options = RunOptions(splitting="report", pairs_at_once=AT_ONCE)
    reranker = None if without_bundle else Reranker(cache=cache, run=options)
    vectors = None if cache is None else cache / "vectors"
    encoders = {START: Start(folder=vectors)} | ({TRAINED: Start(trained, vectors)} if trained else {})
    scored_halves = {name: Scored(halves[name], *scored(halves[name], reranker, encoders)) for name in HALVES}
    dev = scored_halves["dev"]
    chosen = _choose_rules(dev, phrases)
    summed = sums(chosen, reranker and reranker.weights, dev.scores)
    weights = {name: _choose_weight(dev, name, scored_half) for name, scored_half in summed.items()}
    for name, scored_half in scored_halves.items():
        column = polarity(scored_half.half, chosen)
        minus = np.where(column < 0, -1.0, scored_half.scores[BM25])
        scored_half.scores.update(
            {LEXICON: column, MINUS: minus, **{n: summed[n](scored_half, weights[n]) for n in summed}}
        )
        print_figures(name, scored_half)
    return 0


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


def _choose_weight(dev: Scored, name: str, summed: Summed) -> float:
    values = [dev.mean_ap(summed(dev, weight)) for weight in WEIGHTS]
    rows = [(f"{weight:g}", f"{value:.4f}") for weight, value in zip(WEIGHTS, values, strict=True)]
    print(tabulate(rows, (f"{name}, its weight", "AP, dev"), **TABLE), end="\n\n")
    return WEIGHTS[int(np.argmax(values))]


def print_figures(name: str, scored_half: Scored) -> None:
    """Every measure of every system, AP with its interval, and p of AP against the last system after Holm."""
    last = next(reversed(scored_half.scores))
    measured = {system: scored_half.measured(values) for system, values in scored_half.scores.items()}
    p_values = p_against({system: values["AP"] for system, values in measured.items()}, last)
    rows = [
        (
            system,
            *(f"{values[measure].mean():.4f}" for measure in MEASURES),
            "{:.3f}-{:.3f}".format(*bootstrap_interval(values["AP"])),
            f"{p_values[system]:.5f}" if system in p_values else "",
        )
        for system, values in measured.items()
    ]
    half = scored_half.half
    print(f"{name}: {len(half.queries)} queries, {len(half.reports)} reports; p against {last!r}, after Holm")
    print(tabulate(rows, ("", *MEASURES, "AP, 95 %", "p"), **TABLE), end="\n\n")

"""Folds of findings, as in the paper, which measure agreement with the annotator.

Findings are halved by hash. A bi-encoder trains on the entries of one half, and ranks sentences for the unseen findings
of the other: "edema" and "no edema" should retrieve the sentences that affirm and deny it according to the annotator.
All sampling methods use the same entries of a seed, once each. Finished runs are kept in a journal, seed by seed, so
that an interrupted comparison resumes.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tabulate import tabulate

from experiments.common.baselines import Start
from experiments.common.significance import p_against
from experiments.radiology.reports import HALVES, TABLE, half_of
from experiments.radiology.training import read_entries, train
from mpir.core.checksum import fingerprint
from mpir.core.text.characters import normalise
from mpir.evaluate import bootstrap_interval, evaluate_queries
from mpir.files.journal import Journal
from mpir.lab.train.examples import Example
from mpir.lab.train.sampling import Sampling
from mpir.lab.train.settings import TrainingSettings
from mpir.models.encoder import Encoder
from mpir.search import MemoryIndex
from mpir.types import F64

Rows = Iterator[tuple[str, F64]]
Record = Mapping[str, Mapping[str, float]]
"""Measure → query → figure."""
QUERY_TYPES: Mapping[str, Callable[[str], bool]] = {
    "findings": lambda query: not query.startswith("no "),
    "denials": lambda query: query.startswith("no "),
    "all": lambda query: True,
}
FEWEST = 5
MEASURES = ("AP", "Rprec")


@dataclass(frozen=True, slots=True)
class Plan:
    """Training runs, their data and what they rank; `settings` are those of a training run.

    All systems are tested against the first two `samplings`, the plain ones. Sentences have at most `longest` words,
    `sentences` of them are ranked, and training sees `entries` of a fold, others for each seed (None: all). It starts
    from `checkpoint`, by default from the base encoder.
    """

    samplings: Sequence[Sampling]
    seeds: Sequence[int]
    sentences: int
    settings: Mapping[str, Any]
    checkpoint: Path | None = None
    entries: int | None = None
    longest: int | None = None

    def drawn(self, entries: Sequence[Example], seed: int) -> list[Example]:
        """The entries that a seed trains on, in random order."""
        order = np.random.default_rng(seed).permutation(len(entries))
        return [entries[i] for i in order[: self.entries]]


def run(data: Path, lexicon: Path, folder: Path, plan: Plan) -> int:
    """Train and rank for every seed, fold and sampling, and print the means over seeds."""
    start, entries = Start(plan.checkpoint), read_entries(data / "openi/indiana_reports.csv", lexicon)
    entries = [entry for entry in entries if plan.longest is None or len(entry.sentence.split()) <= plan.longest]
    texts = texts_of(entries, plan.sentences)
    said = fingerprint([[entry.question, entry.sentence] for entry in entries])
    made_by = {"settings": dict(plan.settings), "texts": texts, "entries": [plan.entries, said]}
    journal = Journal(folder / "folds.jsonl", {**made_by, "start": start.encoder.identity})
    measured: dict[str, Record] = {}
    for seed, fold in product(plan.seeds, HALVES):
        judged = _judged([entry for entry in entries if _fold(entry) != fold], texts)
        target = Target(tuple(judged), texts)
        mine = plan.drawn([entry for entry in entries if _fold(entry) == fold], seed)
        settings = TrainingSettings(checkpoint=start.encoder.checkpoint, seed=seed, **plan.settings)
        for name, ranked in chain(
            _free(start, target), _sampled(mine, plan.samplings, folder / fold, settings, target)
        ):
            if (key := f"{fold}: {name}") not in journal.records:
                rankings = {query: {str(i): float(score) for i, score in enumerate(row)} for query, row in ranked()}
                journal.add(key, evaluate_queries(judged, rankings, MEASURES))
                print(key, f"{np.mean(list(journal.records[key]['AP'].values())):.4f}", flush=True)
            measured[key] = journal.records[key]
    print(f"{len(entries)} entries, {plan.entries or 'all'} of a fold trained on, {len(texts)} sentences ranked")
    show(measured, [str(sampling) for sampling in plan.samplings[:2]])
    return 0


def texts_of(entries: Iterable[Example], count: int) -> list[str]:
    """Choose this number of sentences, the same in every run."""
    texts = sorted({entry.sentence for entry in entries}, key=lambda text: (normalise(text), text))
    return [texts[i] for i in np.random.default_rng(0).permutation(len(texts))[:count]]


class Target(NamedTuple):
    """The queries that were never trained on, and the texts to rank for them."""

    queries: Sequence[str]
    texts: Sequence[str]


def _fold(entry: Example) -> str:
    return half_of(normalise(entry.question.removeprefix("no ")))


def _judged(entries: Sequence[Example], texts: Sequence[str]) -> dict[str, dict[str, int]]:
    """The texts, by number, that each query of a fold is answered by; queries of five answers or more."""
    number = {text: str(row) for row, text in enumerate(texts)}
    judgements: dict[str, dict[str, int]] = {}
    for entry in entries:
        if entry.sentence in number:
            judgements.setdefault(entry.question, {})[number[entry.sentence]] = 1
    return {query: answers for query, answers in judgements.items() if len(answers) >= FEWEST}


def _free(start: Start, target: Target) -> Iterator[tuple[str, Callable[[], Rows]]]:
    """Return untrained systems by name, each with a function that scores texts (N,) for each query."""
    index = MemoryIndex(target.texts, stop_words="not-no")
    yield 'BM25 that keeps "no"', lambda: ((query, index.scores(query).astype(np.float64)) for query in target.queries)
    yield "start encoder", lambda: _cosines(start.encoder, target)


def _sampled(
    entries: Sequence[Example], samplings: Sequence[Sampling], folder: Path, settings: TrainingSettings, target: Target
) -> Iterator[tuple[str, Callable[[], Rows]]]:
    """Return the trained systems in the same form."""
    for sampling in samplings:
        output = folder / f"{sampling.negatives}-{sampling.among}-{settings.seed}"
        yield f"{sampling}, seed {settings.seed}", partial(_trained, entries, sampling, output, settings, target)


def _trained(
    entries: Sequence[Example], sampling: Sampling, folder: Path, settings: TrainingSettings, target: Target
) -> Rows:
    rankings = list(_cosines(Encoder(train(entries, sampling, folder, settings)), target))
    shutil.rmtree(folder)  # its figures are all that is wanted of dozens of models
    yield from rankings


def _cosines(encoder: Encoder, target: Target) -> Rows:
    count = len(target.queries)
    vectors, text_of = encoder.vectors([*target.queries, *target.texts])
    first = vectors[np.searchsorted(text_of, np.arange(count + len(target.texts)))]
    for query, row in zip(target.queries, first[:count] @ first[count:].T, strict=True):
        yield query, row.astype(np.float64)


@dataclass(frozen=True, slots=True)
class Measured:
    """A system's figures (S, Q) by measure, for its seeds and for the queries of both folds."""

    figures: Mapping[str, F64]
    queries: Sequence[str]

    @property
    def precision(self) -> F64:
        """AP (Q,), a query's mean over seeds."""
        return self.figures["AP"].mean(axis=0)

    def row(self) -> tuple[str, ...]:
        """AP by kind of query, its interval over queries, the lowest and highest of the seeds, and R-precision."""
        masks = [np.array([is_type(query) for query in self.queries]) for is_type in QUERY_TYPES.values()]
        low, high = bootstrap_interval(self.precision)
        seeds = self.figures["AP"].mean(axis=1)
        spread = f"{seeds.min():.3f}-{seeds.max():.3f}" if len(seeds) > 1 else ""
        means = (f"{self.precision[is_type].mean():.3f}" for is_type in masks)
        return *means, f"{low:.3f}-{high:.3f}", spread, f"{self.figures['Rprec'].mean():.3f}"


def show(records: Mapping[str, Record], against: Sequence[str]) -> None:
    """AP of findings, denials and all, both folds together, with p against the systems that are named."""
    seeds: dict[str, dict[str, dict[str, Record]]] = {}
    for key, record in records.items():
        fold, name = key.split(": ", 1)
        system, _, seed = name.partition(", seed ")
        seeds.setdefault(system, {}).setdefault(seed, {})[fold] = record
    measured = {system: _measured(list(by_seed.values())) for system, by_seed in seeds.items()}
    p_values = [_tested(measured, base) for base in against]
    rows = [(system, *figures.row(), *(p.get(system, "") for p in p_values)) for system, figures in measured.items()]
    print(f"{len(next(iter(measured.values())).queries)} queries; p after Holm")
    heads = ("AP", *QUERY_TYPES, "all, 95 %", "seeds", "R-precision", *(f"p against {base}" for base in against))
    print(tabulate(rows, heads, **TABLE))


def _measured(seeds: Sequence[Mapping[str, Record]]) -> Measured:
    """A system's figures from the records of its seeds, each by fold."""
    both = [
        {
            name: {q: v for seed_measured in by_fold.values() for q, v in seed_measured[name].items()}
            for name in MEASURES
        }
        for by_fold in seeds
    ]
    queries = list(both[0]["AP"])
    return Measured(
        {name: np.array([[seed_measured[name][q] for q in queries] for seed_measured in both]) for name in MEASURES},
        queries,
    )


def _tested(measured: Mapping[str, Measured], base: str) -> dict[str, str]:
    """p of AP of every other system against one, after Holm."""
    p_values = p_against({name: figures.precision for name, figures in measured.items()}, base)
    return {name: f"{p:.4f}" for name, p in p_values.items()}

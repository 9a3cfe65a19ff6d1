"""Part C of experiments/radiology.py: folds of findings, as in the paper. It measures agreement with the annotator.

Findings are halved by hash. A bi-encoder trains on the entries of one half, and ranks sentences for the findings of the
other, which it never saw: "edema" and "no edema" shall bring up what the annotator says affirms and denies it. Finished
runs are kept in a journal, so that an interrupted comparison goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from free_baselines import Start
from radiology_data import HALVES, half_of
from radiology_training import TABLE, read_entries, train
from tabulate import tabulate

from mpir.evaluate import bootstrap_interval, evaluate_queries, holm, randomisation_test
from mpir.io.journal import Journal
from mpir.models.encoder import Encoder
from mpir.retrieve import MemoryIndex
from mpir.text.normalise import normalise
from mpir.train.rows import Example
from mpir.train.sampling import Sampling
from mpir.train.settings import TrainingSettings

Floats = npt.NDArray[np.float64]
Rows = Iterator[tuple[str, Floats]]
KINDS: Mapping[str, Callable[[str], bool]] = {
    "findings": lambda query: not query.startswith("no "),
    "denials": lambda query: query.startswith("no "),
    "all": lambda query: True,
}
LEAST = 5


@dataclass(frozen=True, slots=True)
class Plan:
    """What is trained, how often, and on how many sentences it is measured; `settings` are those of a training run.

    Training starts from `checkpoint`, by default from the start encoder.
    """

    samplings: Sequence[Sampling]
    seeds: Sequence[int]
    sentences: int
    settings: Mapping[str, Any]
    checkpoint: Path | None = None


def run(data: Path, lexicon: Path, folder: Path, plan: Plan) -> int:
    """Train and rank for every fold, sampling and seed, and print the means over seeds."""
    start, entries = Start(plan.checkpoint), read_entries(data / "openi/indiana_reports.csv", lexicon)
    texts = sorted({entry.sentence for entry in entries}, key=normalise)
    texts = [texts[i] for i in np.random.default_rng(0).permutation(len(texts))[: plan.sentences]]
    made_by = {"settings": dict(plan.settings), "sentences": plan.sentences, "entries": len(entries)}
    journal = Journal(folder / "folds.jsonl", made_by)
    for fold in HALVES:
        judged = _judged([entry for entry in entries if _fold(entry) != fold], texts)
        mine = [entry for entry in entries if _fold(entry) == fold]
        for name, ranked in _systems(start, mine, folder / fold, plan, Target(tuple(judged), texts)):
            if (key := f"{fold} {name}") not in journal.records:
                found = {q: dict(zip(map(str, range(len(texts))), map(float, row), strict=True)) for q, row in ranked()}
                journal.add(key, {"ap": evaluate_queries(judged, found, ["AP"])["AP"]})
                print(key, f"{np.mean(list(journal.records[key]['ap'].values())):.4f}", flush=True)
    show({key: record["ap"] for key, record in journal.records.items()})
    return 0


class Target(NamedTuple):
    """The queries that were never trained on, and the texts to rank for them."""

    queries: Sequence[str]
    texts: Sequence[str]


def _fold(entry: Example) -> str:
    return half_of(normalise(entry.question.removeprefix("no ")))


def _judged(entries: Sequence[Example], texts: Sequence[str]) -> dict[str, dict[str, int]]:
    """The texts, by number, that each query of a fold is answered by; queries of five answers or more."""
    number = {text: str(place) for place, text in enumerate(texts)}
    found: dict[str, dict[str, int]] = {}
    for entry in entries:
        if entry.sentence in number:
            found.setdefault(entry.question, {})[number[entry.sentence]] = 1
    return {query: answers for query, answers in found.items() if len(answers) >= LEAST}


def _systems(
    start: Start, entries: Sequence[Example], folder: Path, plan: Plan, target: Target
) -> Iterator[tuple[str, Callable[[], Rows]]]:
    """Every system by name, and what scores the texts (N,) for each query once it is asked."""
    index = MemoryIndex(target.texts, stop_words="not-no")
    yield 'BM25 that keeps "no"', lambda: ((query, index.scores(query).astype(np.float64)) for query in target.queries)
    yield "start encoder", lambda: _cosines(start.encoder, target)
    for seed in plan.seeds:
        settings = TrainingSettings(start.encoder.checkpoint, seed=seed, **plan.settings)
        for sampling in plan.samplings:
            place = folder / f"{sampling.negatives}-{sampling.among}-{seed}"
            yield f"{sampling}, seed {seed}", partial(_trained, entries, sampling, place, settings, target)


def _trained(
    entries: Sequence[Example], sampling: Sampling, folder: Path, settings: TrainingSettings, target: Target
) -> Rows:
    return _cosines(Encoder(train(entries, sampling, folder, settings)), target)


def _cosines(encoder: Encoder, target: Target) -> Rows:
    count = len(target.queries)
    vectors, text_of = encoder.vectors([*target.queries, *target.texts])
    first = vectors[np.searchsorted(text_of, np.arange(count + len(target.texts)))]
    for query, row in zip(target.queries, first[:count] @ first[count:].T, strict=True):
        yield query, row.astype(np.float64)


def show(found: Mapping[str, Mapping[str, float]]) -> None:
    """AP of findings, denials and all, both folds together, a query's mean over seeds; p against random sampling."""
    systems: dict[str, dict[str, list[float]]] = {}
    for key, by_query in found.items():
        name = key.split(" ", 1)[1].split(", seed")[0]
        for query, value in by_query.items():
            systems.setdefault(name, {}).setdefault(query, []).append(value)
    means = {name: {query: float(np.mean(values)) for query, values in one.items()} for name, one in systems.items()}
    base = next((name for name in means if name.startswith("random")), next(iter(means)))
    queries = sorted(set.intersection(*(set(one) for one in means.values())))
    others = [name for name in means if name != base]
    values = {name: np.array([one[query] for query in queries]) for name, one in means.items()}
    p_values = dict(zip(others, holm([randomisation_test(values[base], values[n]) for n in others]), strict=True))
    rows = []
    for name in means:
        kinds = [np.mean([means[name][q] for q in queries if kind(q)]) for kind in KINDS.values()]
        low, high = bootstrap_interval(values[name])
        p = f"{p_values[name]:.5f}" if name in p_values else ""
        rows.append((name, *(f"{value:.4f}" for value in kinds), f"{low:.3f}-{high:.3f}", p))
    print(f"{len(queries)} queries; p against {base!r}, after Holm")
    print(tabulate(rows, ("", *KINDS, "all, 95 %", "p"), **TABLE))

"""Rank the unread documents again after every ten decisions: how much reading does that save at 95 % recall?

    python -m experiments.stopping.reranking --data DATA --plot reranking.png

Three systems read the same candidates, those of `experiments.stopping.simulate`, and begin with BM25's first ten.
"BM25" keeps its order. "naive Bayes" follows the published default of ASReview 1 (TF-IDF, multinomial naive Bayes
with alpha 3.822, relevant rows weighted up), by scikit-learn. "mixed" is `mpir.evaluate.screening`: the same
classifier, mixed with BM25's order, as the explain page offers it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from experiments.stopping.simulate import COLLECTIONS, STEP, Screening
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, positive
from mpir.evaluate import bootstrap_interval, randomisation_test
from mpir.evaluate.screening import DecisionRanker
from mpir.types import F64, I64, Bool

RECALL, ALPHA = 0.95, 3.822
"""The target; ASReview's alpha."""
Ranker = Callable[[I64, Bool], F64]
"""Scores of all candidates (D,) from the positions read and whether each is relevant."""


def rankers(texts: list[str], scores: F64) -> dict[str, Ranker]:
    """The systems for the candidates of one query."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.naive_bayes import MultinomialNB

    words: Any = TfidfVectorizer().fit_transform(texts)

    def bayes(read: I64, relevant: Bool) -> F64:
        weights = np.where(relevant, len(relevant) / relevant.sum(), 1.0)
        model = MultinomialNB(alpha=ALPHA).fit(words[read], relevant, sample_weight=weights)
        probabilities: F64 = model.predict_proba(words)[:, 1]
        return probabilities

    return {"BM25": lambda *_: scores, "naive Bayes": bayes, "mixed": DecisionRanker(texts, scores).scores}


def documents_read(screening: Screening, ranker: Ranker) -> tuple[int, list[float]]:
    """Return how many documents are read until the recall is reached, and the recall after each step."""
    order = np.argsort(-screening.scores, kind="stable")
    read, needed = order[:STEP], RECALL * screening.relevant.sum()
    recalls = []
    while True:
        found = screening.relevant[read].cumsum()
        recalls.append(float(found[-1] / screening.relevant.sum()))
        if found[-1] >= needed:
            return 1 + int(np.argmax(found >= needed)), recalls
        can_learn = 0 < found[-1] < len(read)
        scores = ranker(read, screening.relevant[read]) if can_learn else screening.scores
        unread = np.setdiff1d(np.arange(len(order)), read)
        read = np.append(read, unread[np.argsort(-scores[unread], kind="stable")[:STEP]])


def main() -> int:
    """Simulate, print, draw."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the folder with the collections")
    parser.add_argument("--collections", nargs="+", choices=COLLECTIONS, default=list(COLLECTIONS))
    parser.add_argument("--limit", type=positive, default=60, help="most queries of a collection (60)")
    parser.add_argument("--plot", type=file_path, metavar="FILE", help="draw recall over the documents read there")
    arguments = parser.parse_args()
    return guarded("reranking", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """A row for each collection and system: work saved at 95 % recall, and p against BM25."""
    rows, curves = [], {}
    for name in arguments.collections:
        outcomes: dict[str, list[tuple[float, list[float]]]] = {}
        for screening in COLLECTIONS[name](arguments.data, arguments.limit):
            for system, ranker in rankers(list(screening.texts), screening.scores).items():
                read, recalls = documents_read(screening, ranker)
                outcomes.setdefault(system, []).append((1 - read / len(screening.scores), recalls))
        saved = {system: np.array([share for share, _ in of]) for system, of in outcomes.items()}
        for system, values in saved.items():
            curves[name, system] = _mean_curve([recalls for _, recalls in outcomes[system]])
            low, high = bootstrap_interval(values)
            against = [f"{randomisation_test(saved[other], values):.4f}" for other in ("BM25", "naive Bayes")]
            rows.append([name, len(values), system, f"{values.mean():.3f} ({low:.3f}–{high:.3f})", *against])
            print(tabulate(rows[-1:], tablefmt="pipe", disable_numparse=True), flush=True)
    heads = ["collection", "queries", "system", "work saved at 95 % recall", "p against BM25", "p against naive Bayes"]
    print("\n" + tabulate(rows, heads, tablefmt="pipe", disable_numparse=True))
    if arguments.plot:
        draw(curves, arguments.plot)
    return 0


def _mean_curve(curves: list[list[float]]) -> F64:
    """The mean recall after each step; a finished query keeps its last recall."""
    length = max(map(len, curves))
    mean: F64 = np.array([curve + [curve[-1]] * (length - len(curve)) for curve in curves]).mean(axis=0)
    return mean


def draw(curves: dict[tuple[str, str], F64], path: Path) -> None:
    """Draw the mean recall over the documents read, a panel for each collection."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    names = list(dict.fromkeys(name for name, _ in curves))
    figure, panels = plt.subplots(1, len(names), figsize=(5 * len(names), 4), squeeze=False)
    for (name, system), curve in curves.items():
        axes = panels[0][names.index(name)]
        axes.plot(STEP * np.arange(1, len(curve) + 1), curve, label=system)
        axes.set(title=name, xlabel="documents read", ylabel="recall", ylim=(0, 1))
        axes.legend()
    figure.savefig(path, dpi=110, bbox_inches="tight")


if __name__ == "__main__":
    sys.exit(main())

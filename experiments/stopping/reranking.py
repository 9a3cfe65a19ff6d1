"""Rank the unread documents again after every ten decisions: how much reading does that save at 95 % recall?

    python -m experiments.stopping.reranking --data DATA --plot reranking.png

Three systems read the same collection. "BM25" keeps its order. "TF-IDF, naive Bayes" follows the published default of
ASReview 1 (TF-IDF, multinomial naive Bayes with alpha 3.822, relevant rows weighted up). "layer" is a logistic
regression on the BM25 score and 100 latent dimensions of TF-IDF, mixed with BM25's order: its weight grows with the
relevant documents found. All begin with BM25's first ten. Both classifiers are scikit-learn's.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from experiments.common.test_sets import read_med, read_smart
from experiments.stopping.simulate import COLLECTIONS, STEP, Screening
from mpir.app.cli import guarded
from mpir.app.cli.number_options import positive
from mpir.app.cli.path_options import file_path
from mpir.evaluate import bootstrap_interval, randomisation_test
from mpir.types import F64, I64

RECALL, ALPHA, DIMENSIONS, TRUST = 0.95, 3.822, 100, 5
"""The target; ASReview's alpha; latent dimensions; relevant documents at which the layer and BM25 weigh the same."""
Ranker = Callable[[Screening, I64], F64]


def texts_of(name: str, data: Path) -> list[str]:
    """The texts of a collection, in the order of its rows."""
    if name == "med":
        return [document.text for document in read_med(data / "med").documents]
    return [text for _, text in read_smart(data / "cranfield" / "cran.all.1400")]


def rankers(texts: list[str]) -> dict[str, Ranker]:
    """The systems: each scores all candidates (D,) from the positions that were read."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import MultinomialNB

    words: Any = TfidfVectorizer().fit_transform(texts)
    latent = TruncatedSVD(DIMENSIONS, random_state=0).fit_transform(words)

    def bm25(screening: Screening, _: I64) -> F64:
        return screening.scores

    def bayes(screening: Screening, read: I64) -> F64:
        model = MultinomialNB(alpha=ALPHA)
        rows, labels = screening.rows, screening.relevant[read]
        model.fit(words[rows[read]], labels, sample_weight=np.where(labels, len(labels) / labels.sum(), 1.0))
        scores: F64 = model.predict_proba(words[rows])[:, 1]
        return scores

    def layer(screening: Screening, read: I64) -> F64:
        first = _standard(screening.scores)
        features = np.column_stack([first, latent[screening.rows] * np.sqrt(DIMENSIONS)])
        labels = screening.relevant[read]
        model = LogisticRegression(class_weight="balanced", max_iter=200).fit(features[read], labels)
        share = labels.sum() / (labels.sum() + TRUST)
        return share * _standard(model.decision_function(features)) + (1 - share) * first

    return {"BM25": bm25, "TF-IDF, naive Bayes": bayes, "layer": layer}


def _standard(values: F64) -> F64:
    scaled: F64 = (values - values.mean()) / (values.std() or 1.0)
    return scaled


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
        scores = ranker(screening, read) if can_learn else screening.scores
        unread = np.setdiff1d(np.arange(len(order)), read)
        read = np.append(read, unread[np.argsort(-scores[unread], kind="stable")[:STEP]])


def main() -> int:
    """Simulate, print, draw."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=file_path, required=True, help="the folder with the collections")
    parser.add_argument("--collections", nargs="+", choices=("med", "cranfield"), default=["med", "cranfield"])
    parser.add_argument("--limit", type=positive, default=60, help="most queries of a collection (60)")
    parser.add_argument("--plot", type=file_path, metavar="FILE", help="draw recall over the documents read there")
    arguments = parser.parse_args()
    return guarded("reranking", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """A row for each collection and system: work saved at 95 % recall, and p against BM25."""
    rows, curves = [], {}
    for name in arguments.collections:
        screenings = list(COLLECTIONS[name](arguments.data, arguments.limit))
        saved: dict[str, F64] = {}
        for system, ranker in rankers(texts_of(name, arguments.data)).items():
            outcomes = [documents_read(screening, ranker) for screening in screenings]
            saved[system] = np.array(
                [1 - read / len(s.scores) for (read, _), s in zip(outcomes, screenings, strict=True)]
            )
            curves[name, system] = _mean_curve([recalls for _, recalls in outcomes])
            low, high = bootstrap_interval(saved[system])
            p = "" if system == "BM25" else f"{randomisation_test(saved['BM25'], saved[system]):.4f}"
            rows.append([name, len(screenings), system, f"{saved[system].mean():.3f} ({low:.3f}–{high:.3f})", p])
            print(tabulate(rows[-1:], tablefmt="pipe", disable_numparse=True), flush=True)
    heads = ["collection", "queries", "system", "work saved at 95 % recall", "p against BM25"]
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

"""Figures of training by hand: F1, mean average precision, correlation, and the order of pairs."""

import numpy as np
import pytest

from mpir.lab.train.examples import Example
from mpir.lab.train.losses import LOSSES, f1_score, mean_average_precision, pair_figures


def test_f1_by_hand() -> None:
    rows = [Example(group="q", question="?", sentence="s", label=label) for label in (1.0, 1.0, 0.0, 0.0)]
    assert f1_score(rows, np.array([2.0, -1.0, 0.5, -0.5])) == pytest.approx(0.5)  # precision and recall 1/2
    assert f1_score(rows, np.full(4, -1.0)) == 0


def test_pairs_by_hand() -> None:
    groups, labels = ["a", "a", "b", "b", "b"], np.array([1.0, 0.0, 0.0, 1.0, 0.0])
    scores = np.array([0.9, 0.4, 0.2, 0.2, 0.6])
    # Margins: 0.5, 0, -0.4; of three pairs one is right and one a tie.
    assert pair_figures(groups, labels, scores) == {"accuracy": 0.5, "margin": pytest.approx(0.0333, abs=1e-4)}
    assert pair_figures(["a", "b"], np.array([1.0, 0.0]), np.array([1.0, 0.0])) == {}


def test_constant_scores_correlate_with_nothing() -> None:
    data = [
        Example(group="a", question="", sentence="", label=1),
        Example(group="b", question="", sentence="", label=0),
    ]
    assert LOSSES["mse5"].metric(data, np.zeros(2)) == LOSSES["mse4"].metric(data, np.zeros(2)) == 0.0


def test_mean_average_precision_by_hand() -> None:
    data = [
        Example(group="a", question="", sentence="", label=1),
        Example(group="a", question="", sentence="", label=0),
        Example(group="a", question="", sentence="", label=1),
        Example(group="b", question="", sentence="", label=0),
    ]
    assert mean_average_precision(data, np.array([3.0, 2.0, 1.0, 9.0])) == pytest.approx((1 + 2 / 3) / 2)

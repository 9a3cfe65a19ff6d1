"""Map scores to probabilities: fit a logistic curve to judged scores, and measure the calibration error."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from mpir.types import Bool, Float


def fit_logistic(scores: Float, targets: Float) -> tuple[float, float]:
    """The (slope, intercept) of sigmoid(slope·score + intercept) that minimise log loss on targets (N,) from 0 to 1.

    Platt, "Probabilistic outputs for support vector machines" (1999). Scores are standardised for the search, so that
    their scale doesn't matter.
    """
    centre, width = float(scores.mean()), float(scores.std()) or 1.0
    standard = (scores - centre) / width

    def loss(at: Float) -> tuple[float, Float]:
        """Return the log loss and its gradient at a slope and intercept."""
        logit = at[0] * standard + at[1]
        value = -np.mean(targets * log_expit(logit) + (1 - targets) * log_expit(-logit))
        error = expit(logit) - targets
        return float(value), np.array([np.mean(error * standard), np.mean(error)])

    how = {"ftol": 1e-14, "gtol": 1e-10}
    slope, intercept = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", options=how).x
    return float(slope / width), float(intercept - slope * centre / width)


def fit_platt(scores: Float, positive: Bool) -> tuple[float, float]:
    """The (slope, intercept) of `fit_logistic` for scores (N,) labelled `positive` (N,); both labels must occur.

    Targets are Platt's, slightly inside 0 and 1, so that perfectly separating scores don't make the slope infinite.
    """
    hits = np.count_nonzero(positive)
    return fit_logistic(scores, np.where(positive, (hits + 1) / (hits + 2), 1 / (len(scores) - hits + 2)))


def calibration_error(probabilities: Float, labels: Float, bins: int = 10) -> float:
    """Expected calibration error over bins of equal width (Naeini et al. 2015)."""
    bin_of = np.minimum((probabilities * bins).astype(int), bins - 1)
    counts = np.bincount(bin_of, minlength=bins)
    gap = np.bincount(bin_of, probabilities - labels, minlength=bins)
    return float(np.abs(gap).sum() / counts.sum())

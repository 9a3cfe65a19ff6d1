"""Map scores to probabilities: fit a logistic curve to judged scores, and measure the calibration error."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from mpir.types import Bool, Float


def fit_logistic_regression(
    features: Float, targets: Float, *, penalty: float = 1.0, rising: bool = False
) -> tuple[float, list[float]]:
    """The intercept and coefficients (F,) that minimise log loss of features (N, F) on targets (N,) from 0 to 1.

    The loss of all N rows has `penalty` / 2 times the squared coefficients of standardised features added, as in ridge
    regression: it divides the weight among features that say nearly the same. Features are standardised for the search,
    so that their scale doesn't matter. With `rising`, no coefficient is below 0.
    """
    centre, width = features.mean(axis=0), features.std(axis=0)
    width = np.where(width > 0, width, 1.0)
    standard, strength = (features - centre) / width, penalty / len(features)

    def loss(at: Float) -> tuple[float, Float]:
        """Return the penalised mean log loss and its gradient at an intercept and coefficients."""
        logit = at[0] + standard @ at[1:]
        value = -np.mean(targets * log_expit(logit) + (1 - targets) * log_expit(-logit))
        error = (expit(logit) - targets) / len(targets)
        gradient = np.array([error.sum(), *(error @ standard + strength * at[1:])])
        return float(value + strength / 2 * (at[1:] ** 2).sum()), gradient

    how = {"ftol": 1e-14, "gtol": 1e-10, "maxiter": 10_000}
    start = np.zeros(1 + features.shape[1])
    bounds = [(None, None), *[(0.0 if rising else None, None)] * features.shape[1]]
    at = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=how).x
    coefficients = at[1:] / width
    return float(at[0] - coefficients @ centre), coefficients.tolist()


def fit_logistic(scores: Float, targets: Float) -> tuple[float, float]:
    """The (slope, intercept) of sigmoid(slope·score + intercept) that minimise log loss on targets (N,) from 0 to 1.

    Platt, "Probabilistic outputs for support vector machines" (1999).
    """
    intercept, (slope,) = fit_logistic_regression(scores[:, None], targets, penalty=0.0)
    return slope, intercept


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

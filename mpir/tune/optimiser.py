"""Optimisers that maximise a function on the unit cube: ask for a point, tell its value.

Each proposal depends only on the told points, the seed and its own number. An interrupted search therefore resumes
exactly: the logged points are told again, and no point is evaluated twice.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from mpir.extras import needs
from mpir.types import F64
from mpir.validation import check_choice, whole_number

Acquisition = Literal["EI", "PI", "LCB"]


class Optimiser(ABC):
    """A search on the unit cube for the highest value. Subclasses implement `propose`."""

    def __init__(self, dimensions: int, calls: int, seed: list[int]) -> None:
        """Start a search of `calls` evaluations."""
        self.dimensions, self.calls, self.seed = dimensions, calls, seed
        self.points: list[F64] = []
        self.values: list[float] = []
        self.known = 0
        """The number of told points that were known before the search."""

    def ask(self) -> F64:
        """The next point (d,) to evaluate."""
        return self.propose(len(self.points) - self.known)

    def tell(self, point: F64, value: float, *, proposed: bool = True) -> None:
        """Record the value of a point, which was `proposed` or known before."""
        self.points.append(np.asarray(point, np.float64))
        self.values.append(float(value))
        self.known += not proposed

    @abstractmethod
    def propose(self, number: int) -> F64:
        """Propose point `number`, from 0, given the told `points` and `values`."""

    def random(self, number: int) -> np.random.Generator:
        """Return the random generator of a proposal."""
        return np.random.default_rng([*self.seed, number])


class RandomSearch(Optimiser):
    """Random search with uniform points, the baseline of other searches (Bergstra & Bengio 2012)."""

    def propose(self, number: int) -> F64:
        """A uniform point."""
        return self.random(number).random(self.dimensions)


@dataclass(frozen=True, slots=True)
class Bayesian:
    """Settings of a Bayesian search: a Gaussian process (scikit-optimize) after `initial` points of a Latin hypercube.

    `acquisition` is the expected improvement, the probability of one, or the lower confidence bound.

    Raises:
        InputError: fewer than one initial point, or an unknown acquisition.
    """

    initial: int = 8
    acquisition: Acquisition = "EI"

    def __post_init__(self) -> None:
        whole_number("the number of initial points", self.initial)
        check_choice("the acquisition", self.acquisition, get_args(Acquisition))

    def __call__(self, dimensions: int, calls: int, seed: list[int]) -> Optimiser:
        """Start a search. Raises MissingExtraError if scikit-optimize is not installed."""
        with needs("tune", "tuning"):
            import skopt  # noqa: F401  (fail before the first trial)
        return BayesianSearch(dimensions, calls, seed, self)


class BayesianSearch(Optimiser):
    """A Gaussian process with a Matérn 5/2 kernel and noise, fitted for each proposal."""

    def __init__(self, dimensions: int, calls: int, seed: list[int], how: Bayesian) -> None:
        """Start a search with these settings."""
        super().__init__(dimensions, calls, seed)
        self.how = how

    def propose(self, number: int) -> F64:
        """Propose a point of the hypercube first, then the point with the best acquisition."""
        if number < self.how.initial:
            return np.asarray(self._hypercube()[number])
        if np.ptp(self.values) == 0:  # equal values cannot be scaled or modelled
            return self.random(number).random(self.dimensions)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about fits that stop at a bound
            return self._best_acquisition(int(self.random(number).integers(2**31 - 1)))

    def _hypercube(self) -> F64:
        from scipy.stats.qmc import LatinHypercube

        hypercube = LatinHypercube(self.dimensions, seed=np.random.default_rng(self.seed))
        points: F64 = hypercube.random(self.how.initial)
        return points

    def _best_acquisition(self, state: int) -> F64:
        from skopt import Optimizer

        optimizer = Optimizer(
            [(0.0, 1.0)] * self.dimensions,
            base_estimator=_gaussian_process(self.dimensions, state),
            acq_func=self.how.acquisition,
            acq_optimizer="lbfgs",
            acq_optimizer_kwargs={"n_points": 500, "n_restarts_optimizer": 3},
            n_initial_points=0,
            random_state=state,
        )
        optimizer.tell([point.tolist() for point in self.points], [-value for value in self.values])
        return np.array(optimizer.ask(), np.float64)


def _gaussian_process(dimensions: int, state: int) -> Any:
    """skopt's default without restarts, which take most of the time for hardly better points."""
    from skopt.learning import GaussianProcessRegressor
    from skopt.learning.gaussian_process.kernels import ConstantKernel, Matern

    kernel = ConstantKernel(1.0, (0.01, 1000.0)) * Matern(np.ones(dimensions), [(0.01, 100.0)] * dimensions, nu=2.5)
    return GaussianProcessRegressor(
        kernel=kernel, normalize_y=True, noise="gaussian", n_restarts_optimizer=0, random_state=state
    )


MakeOptimiser = Callable[[int, int, list[int]], Optimiser]

"""Optimisers that maximise a function on the unit cube: ask for a point, tell its value.

Each question is answered from the told points, the seed and its own number alone. A search that was interrupted goes on
exactly as if it had not been: the logged points are told again, and nothing is asked twice.
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
    """A search on the unit cube of some dimensions, higher values better. A new one implements `propose`."""

    def __init__(self, dimensions: int, calls: int, seed: list[int]) -> None:
        """Start a search that will ask `calls` times."""
        self.dimensions, self.calls, self.seed = dimensions, calls, seed
        self.points: list[F64] = []
        self.values: list[float] = []
        self.known = 0
        """How many of the told points were there before the search: not answers to its questions."""

    def ask(self) -> F64:
        """The next point (d,) to evaluate."""
        return self.propose(len(self.points) - self.known)

    def tell(self, point: F64, value: float, *, proposed: bool = True) -> None:
        """Take the value of a point, or (not `proposed`) of one that was known before."""
        self.points.append(np.asarray(point, np.float64))
        self.values.append(float(value))
        self.known += not proposed

    @abstractmethod
    def propose(self, number: int) -> F64:
        """The point of question `number`, counted from 0, given the told `points` and `values`."""

    def random(self, number: int) -> np.random.Generator:
        """The random numbers of a question."""
        return np.random.default_rng([*self.seed, number])


class RandomSearch(Optimiser):
    """Uniform points: the baseline that any search must beat (Bergstra & Bengio 2012)."""

    def propose(self, number: int) -> F64:
        """A uniform point."""
        return self.random(number).random(self.dimensions)


class GridSearch(Optimiser):
    """The finest regular grid needed for the number of calls, in random order (so a part of it is spread evenly)."""

    def propose(self, number: int) -> F64:
        """The next point of the shuffled grid."""
        levels = 2
        while levels**self.dimensions < self.calls:
            levels += 1
        order = np.random.default_rng(self.seed).permutation(levels**self.dimensions)
        level_numbers = np.unravel_index(order[number % len(order)], (levels,) * self.dimensions)
        return np.array(level_numbers, np.float64) / (levels - 1)


@dataclass(frozen=True, slots=True)
class Bayesian:
    """How to make a Bayesian search: a Gaussian process (scikit-optimize) after `initial` points of a Latin hypercube.

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
        """A search of its own. Raises MissingExtraError where scikit-optimize is not installed."""
        with needs("tune", "tuning"):
            import skopt  # noqa: F401  (before the first trial, not after the initial ones)
        return BayesianSearch(dimensions, calls, seed, self)


class BayesianSearch(Optimiser):
    """A Gaussian process with a Matérn 5/2 kernel and noise, fitted once for each point that is asked."""

    def __init__(self, dimensions: int, calls: int, seed: list[int], how: Bayesian) -> None:
        """Start a search as `how` says."""
        super().__init__(dimensions, calls, seed)
        self.how = how

    def propose(self, number: int) -> F64:
        """A point of the hypercube first, then where the acquisition is best."""
        if number < self.how.initial:
            return np.asarray(self._hypercube()[number])
        if np.ptp(self.values) == 0:  # nothing to learn from yet, and nothing to scale by
            return self.random(number).random(self.dimensions)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that stop at a bound, which is no fault of the user's
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
    """skopt's own default without restarts, which take most of the time for hardly better points."""
    from skopt.learning import GaussianProcessRegressor
    from skopt.learning.gaussian_process.kernels import ConstantKernel, Matern

    kernel = ConstantKernel(1.0, (0.01, 1000.0)) * Matern(np.ones(dimensions), [(0.01, 100.0)] * dimensions, nu=2.5)
    return GaussianProcessRegressor(
        kernel=kernel, normalize_y=True, noise="gaussian", n_restarts_optimizer=0, random_state=state
    )


MakeOptimiser = Callable[[int, int, list[int]], Optimiser]

"""The standard measures of information retrieval, significance tests, and benchmarks on test collections."""

from mpir.evaluate.ir import evaluate_queries, evaluate_run
from mpir.evaluate.screening import DecisionRanker
from mpir.evaluate.significance import bootstrap_interval, grouped_t_test, holm, randomisation_test
from mpir.evaluate.stopping import StoppingTest, stopping_test

__all__ = [
    "DecisionRanker",
    "StoppingTest",
    "bootstrap_interval",
    "evaluate_queries",
    "evaluate_run",
    "grouped_t_test",
    "holm",
    "randomisation_test",
    "stopping_test",
]

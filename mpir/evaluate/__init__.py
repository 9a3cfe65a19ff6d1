"""The standard measures of information retrieval, significance tests, and benchmarks on test collections."""

from typing import TYPE_CHECKING

from mpir.lazy_names import lazy_names

if TYPE_CHECKING:
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

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "DecisionRanker": "mpir.evaluate.screening",
        "StoppingTest": "mpir.evaluate.stopping",
        "bootstrap_interval": "mpir.evaluate.significance",
        "evaluate_queries": "mpir.evaluate.ir",
        "evaluate_run": "mpir.evaluate.ir",
        "grouped_t_test": "mpir.evaluate.significance",
        "holm": "mpir.evaluate.significance",
        "randomisation_test": "mpir.evaluate.significance",
        "stopping_test": "mpir.evaluate.stopping",
    },
)

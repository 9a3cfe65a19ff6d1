"""Measures: BioASQ's official ones, the standard ones of information retrieval, and significance tests."""

from mpir.evaluate.bioasq import QuestionMeasures, evaluate, question_measures
from mpir.evaluate.ir import evaluate_queries, evaluate_run
from mpir.evaluate.significance import bootstrap_interval, grouped_t_test, holm, randomisation_test

__all__ = [
    "QuestionMeasures",
    "bootstrap_interval",
    "evaluate",
    "evaluate_queries",
    "evaluate_run",
    "grouped_t_test",
    "holm",
    "question_measures",
    "randomisation_test",
]

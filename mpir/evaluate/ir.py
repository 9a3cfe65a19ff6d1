"""The standard measures of information retrieval, computed by ir_measures (trec_eval's definitions)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from subprocess import CalledProcessError
from typing import Any

from mpir.errors import InputError, shortened, shown

Qrels = Mapping[str, Mapping[str, int]]
Run = Mapping[str, Mapping[str, float]]

DEFAULT_MEASURES = ("nDCG@10", "RR", "R@100", "P@10", "AP")


def evaluate_run(qrels: Qrels, run: Run, measures: Sequence[str] = DEFAULT_MEASURES) -> dict[str, float]:
    """The mean of each measure over the judged queries; a query that the run leaves out counts zero.

    Args:
        qrels: query id → document id → grade; a grade of 1 or more is relevant.
        run: query id → document id → score; queries without judgements are passed over. Equal scores are ranked by
            document id, last first, as trec_eval does.
        measures: names as ir_measures writes them, such as ``nDCG@10``, ``RR``, ``R@100``, ``P@10``, ``AP``.

    Raises:
        InputError: a measure that ir_measures does not know or cannot compute, no measure, no judgements, or a run of
            other queries.
    """
    by_query = evaluate_queries(qrels, run, measures)
    return {name: sum(values.values()) / len(values) for name, values in by_query.items()}


def evaluate_queries(qrels: Qrels, run: Run, measures: Sequence[str] = DEFAULT_MEASURES) -> dict[str, dict[str, float]]:
    """The measures of each judged query: measure → query id → value, in the order of `measures` and `qrels`.

    Arguments and errors are those of `evaluate_run`.
    """
    import ir_measures

    parsed = {name: _parse(name) for name in measures}
    if not parsed or not any(qrels.values()):
        raise InputError(
            f"{len(parsed)} measures and {len(qrels)} judged queries were given; give at least one of each."
        )
    if run and not qrels.keys() & run.keys():
        raise InputError(
            f"none of the run's {len(run)} queries is among the {len(qrels)} judged ones; give the judgements of the "
            "same queries."
        )
    values: dict[Any, dict[str, float]] = {measure: dict.fromkeys(qrels, 0.0) for measure in parsed.values()}
    try:
        for metric in ir_measures.iter_calc(list(values), qrels, run):
            values[metric.measure][metric.query_id] = metric.value
    except (OSError, CalledProcessError) as error:
        raise InputError(
            f"one of {shortened(', '.join(parsed))} is computed by a program that failed "
            f"({shortened(str(error))}); leave it out, or give what "
            "it needs (gdeval, for ERR, needs perl and query ids that are numbers)."
        ) from error
    return {name: values[measure] for name, measure in parsed.items()}


def _parse(name: str) -> Any:
    import ir_measures

    try:
        measure = ir_measures.parse_measure(name)
        # trec_eval ends the whole process over a cutoff of 0
        known = ir_measures.DefaultPipeline.supports(measure) and measure.params.get("cutoff", 1) > 0
    except (ValueError, NameError, SyntaxError, AssertionError):  # what ir_measures raises for a name, its parameters
        known = False
    if not known:
        examples = ", ".join(DEFAULT_MEASURES)
        raise InputError(
            f"the measure {shown(name)} cannot be computed by ir_measures; write it like one of {examples}."
        )
    return measure

"""The standard measures of information retrieval, computed by ir_measures (trec_eval's definitions)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from subprocess import CalledProcessError
from typing import Any

import numpy as np

from mpir.errors import InputError, format_value, shortened
from mpir.evaluate.comparison import Comparison
from mpir.evaluate.groupings import group_queries
from mpir.files.corpora.trec import GRADES
from mpir.validation import is_finite

Qrels = Mapping[str, Mapping[str, int]]
Run = Mapping[str, Mapping[str, float]]

DEFAULT_MEASURES = ("nDCG@10", "RR", "R@100", "P@10", "AP")

FAILURES = (ArithmeticError, CalledProcessError, KeyError, OSError, SystemError, TypeError, ValueError)
"""The exceptions that the programs behind ir_measures raise for measures they cannot compute."""


def evaluate_run(qrels: Qrels, run: Run, measures: Sequence[str] = DEFAULT_MEASURES) -> dict[str, float]:
    """Each measure of all judged queries, aggregated as ir_measures does: a mean, or a sum for counts such as NumRet.

    A query that the run leaves out counts zero. A query without a value, as for Accuracy without a retrieved relevant
    document, does not count; if no query has one, the result is NaN.

    Args:
        qrels: query id → document id → grade; a grade of 1 or more is relevant.
        run: query id → document id → score; queries without judgements are ignored. Scores are compared as 32-bit
            floats, and ties are broken by document id in descending order, as trec_eval does.
        measures: names as ir_measures writes them, such as ``nDCG@10``, ``RR``, ``R@100``, ``P@10``, ``AP``.

    Raises:
        InputError: a measure that ir_measures does not know or cannot compute, no measure, no judgements, a run for
            other queries, an id that is not a string, a grade that is not an integer, or a score that is not finite.
    """
    by_query = evaluate_queries(qrels, run, measures)
    return {name: _aggregated(name, values.values()) for name, values in by_query.items()}


def _aggregated(name: str, values: Iterable[float]) -> float:
    aggregator = _parse(name).aggregator()
    for value in values:
        aggregator.add(value)
    return float(aggregator.result())


def compare_runs(
    qrels: Qrels,
    runs: Mapping[str, Run],
    measures: Sequence[str] = DEFAULT_MEASURES,
    *,
    groupings: Sequence[str] = (),
    texts: Mapping[str, str] | None = None,
) -> Comparison:
    """Compare runs by name over the judged queries; `groupings` ("relevant", "length") break the result down.

    `texts` are the queries by id, for "length". Other arguments and errors are those of `evaluate_run`.
    """
    names = list(dict.fromkeys(measures))
    by_query = {name: evaluate_queries(qrels, run, names) for name, run in runs.items()}
    relevant = {query: sum(grade > 0 for grade in grades.values()) for query, grades in qrels.items()}
    return Comparison(
        queries=list(qrels),
        systems={
            name: {
                measure: np.array([values.get(query, np.nan) for query in qrels]) for measure, values in figures.items()
            }
            for name, figures in by_query.items()
        },
        groups=group_queries(groupings, list(qrels), relevant=relevant, texts=texts),
        sums=[name for name in names if _is_count(name)],
    )


def _is_count(name: str) -> bool:
    """Whether ir_measures adds a measure's values up, as for NumQ, NumRet and NumRel."""
    return type(_parse(name).aggregator()).__name__ == "SumAgg"


def evaluate_queries(qrels: Qrels, run: Run, measures: Sequence[str] = DEFAULT_MEASURES) -> dict[str, dict[str, float]]:
    """The measures of each judged query: measure → query id → value, in the order of `measures` and `qrels`.

    A query has no value where a measure is undefined. Arguments and errors are those of `evaluate_run`.
    """
    import ir_measures

    parsed = {name: _parse(name) for name in measures}
    if not parsed or not any(qrels.values()):
        raise InputError(
            f"{len(parsed)} measures and {len(qrels)} judged queries were given; give at least one of each."
        )
    _check("grade", qrels, "a whole number, such as 0, 1 or 2", _is_grade)
    _check("score", run, "a finite number", is_finite)
    if run and not qrels.keys() & run.keys():
        raise InputError(
            f"none of the run's {len(run)} queries is among the {len(qrels)} judged ones; give the judgements of the "
            "same queries."
        )
    grades = {
        query: {document: int(grade) for document, grade in grades_of_query.items()}
        for query, grades_of_query in qrels.items()
    }
    ranked = {query: _positions(run[query]) for query in qrels if run.get(query)}
    values: dict[Any, dict[str, float]] = {measure: {} for measure in parsed.values()}
    try:
        evaluator = ir_measures.evaluator(list(values), _with_grade_of_zero(grades, ranked))
        for program in getattr(evaluator, "evaluators", [evaluator]):  # together they would give undefined values as 0
            for metric in program.iter_calc(ranked):
                values[metric.measure][metric.query_id] = metric.value
    except FAILURES as error:
        raise InputError(
            f"the program that computes one of {shortened(', '.join(parsed))} failed "
            f"({shortened(str(error))}); leave it out, or give what "
            "it needs (gdeval, for ERR, needs perl and query ids that are numbers)."
        ) from error
    return {
        name: {query: values[measure][query] for query in qrels if query in values[measure]}
        for name, measure in parsed.items()
    }


def _with_grade_of_zero(grades: Mapping[str, dict[str, int]], ranked: Run) -> dict[str, dict[str, int]]:
    """Add a document without relevance to queries with negative grades only (spam, or pooled and not judged).

    The document is in no ranking, so no measure changes. Without a grade of 0 or more, trec_eval's nDCG without a
    cut-off reads memory before an array: its value may be any, and it may never end.
    """
    result = dict(grades)
    for query, of_documents in grades.items():
        if of_documents and max(of_documents.values()) < 0:
            longest = max(map(len, (*of_documents, *ranked.get(query, ()))))
            result[query] = {**of_documents, "0" * (longest + 1): 0}
    return result


def _check(name: str, table: Mapping[str, Mapping[str, Any]], expected: str, fits: Callable[[Any], bool]) -> None:
    for query, values in table.items():
        for document, value in values.items():
            if odd := [identifier for identifier in (query, document) if not isinstance(identifier, str)]:
                raise InputError(
                    f"query {format_value(query)}, document {format_value(document)}: an id is not a string; expected "
                    f"a string, such as {format_value(str(odd[0]))}."
                )
            if not fits(value):
                raise InputError(
                    f"query {shortened(query)}, document {shortened(document)}: the {name} is {format_value(value)}; "
                    f"expected {expected}."
                )


def _is_grade(value: Any) -> bool:
    return isinstance(value, Integral) and int(value) in GRADES


def _positions(scores: Mapping[str, float]) -> dict[str, float]:
    """Give documents decreasing scores in trec_eval's order, because other programs break ties differently."""
    with np.errstate(over="ignore"):  # trec_eval, too, treats values beyond 32 bits as infinite
        rounded = np.array(list(scores.values()), np.float64).astype(np.float32).tolist()
    worst_first = sorted(zip(rounded, scores, strict=True))
    return {document: float(position) for position, (_, document) in enumerate(worst_first, 1)}


def _parse(name: str) -> Any:
    import ir_measures

    try:
        measure = ir_measures.parse_measure(name)
        is_supported, is_computable = ir_measures.DefaultPipeline.supports(measure), _computable(measure)
    # ir_measures raises these for names and for parameters
    except (ValueError, NameError, SyntaxError, AssertionError, TypeError):
        is_computable = False
    if not is_computable:
        examples = ", ".join(DEFAULT_MEASURES)
        raise InputError(
            f"the measure {format_value(name)} cannot be computed by ir_measures; write it like one of {examples}."
        )
    if not is_supported:
        raise InputError(_unsupported(name, measure))
    return measure


def _unsupported(name: str, measure: Any) -> str:
    """Return why ir_measures knows a measure but cannot compute it, for an error."""
    import ir_measures

    programs = [
        program
        for program in ir_measures.DefaultPipeline.providers
        if any(form.NAME == measure.NAME for form in program.SUPPORTED_MEASURES)
    ]
    if not programs or any(program.is_available() for program in programs):
        return (
            f"the measure {format_value(name)} is known to ir_measures, but no program computes it with these "
            "parameters. Change them, or leave the measure out."
        )
    instructions = ((program.NAME, program.install_instructions()) for program in programs)
    needed = " or ".join(f"{program} ({how})" if how else program for program, how in instructions)
    return (
        f"the measure {format_value(name)} needs a program that is not installed: {needed}. Install it, or leave the "
        "measure out."
    )


def _computable(measure: Any) -> bool:
    """Whether trec_eval can compute a measure: a cutoff of 0 ends the whole process, and cutoffs must fit 32 bits."""
    hash(measure)  # measures are identified by their names, and some parameters cannot be named
    limits = (measure.params.get(name, 1) for name in ("cutoff", "rel"))
    return all(isinstance(limit, int) and not isinstance(limit, bool) and 1 <= limit < 2**31 for limit in limits)

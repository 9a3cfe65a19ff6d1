"""``mpir rerank --grades``: the stopping test on decisions, in the order in which they were made if it is known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mpir.app.explain.decision import HIGHEST, read_grades
from mpir.app.explain.library import only_reviewer
from mpir.app.explain.review import Review
from mpir.errors import InputError, format_names, format_value
from mpir.evaluate.stopping import StoppingTest, stopping_test
from mpir.files.corpora.formula_guard import without_guards
from mpir.files.corpora.trec import read_qrels
from mpir.files.csv_rows import csv_table
from mpir.reranking.ranking import Ranking


class Grades:
    """The grades of a review, of an explain page's exports or of judgements, and the options of the test."""

    def __init__(self, path: str, *, recall: float, confidence: float) -> None:
        """Read the file. Raises InputError for an invalid file, recall or confidence."""
        stopping_test([], 1, recall=recall, confidence=confidence)  # refuses an invalid option before any work
        self.path, self._options = path, {"recall": recall, "confidence": confidence}
        decisions = _decisions(Path(path))
        self.order = "ranking" if decisions is None else "decisions"
        table = _table_grades(Path(path)) if Path(path).suffix.lower() == ".csv" else None
        self._grades = (
            {"": decisions} if decisions is not None else {"": table} if table is not None else read_qrels(path)
        )

    def test(self, identifier: str, ranking: Ranking) -> StoppingTest:
        """Test the decisions about a ranking of all candidates. Judgements without times follow the ranking.

        Raises:
            InputError: the file has no grades for this query, or grades a document that is not among the candidates.
        """
        grades = self._of(identifier)
        ranked = {str(document.id) for document in ranking}
        if absent := [name for name in grades if name not in ranked]:
            raise InputError(
                f"{self.path}: grades the document {format_value(absent[0])}, which is not among the "
                f"{len(ranking)} candidates; give the documents that were graded."
            )
        order = [str(document.id) for document in ranking] if self.order == "ranking" else grades
        decisions = [grades[name] > 0 for name in order if name in grades]
        return stopping_test(decisions, ranking.candidates, **self._options)

    def note(self, result: StoppingTest) -> str:
        """The sentences below the table: the outcome, and the order that it assumes."""
        order = "that of the ranking" if self.order == "ranking" else "that in which they were made"
        return f"{result} The order of the decisions is taken to be {order}."

    def facts(self, result: StoppingTest) -> dict[str, Any]:
        """The outcome as JSON-able values, and whether the order is that of the decisions or of the ranking."""
        return {"stopping": {**asdict(result), "stop": result.stop, "order": self.order}}

    def _of(self, identifier: str) -> Mapping[str, int]:
        """Return the grades of a query: those of its id, or those of the only query of the file."""
        if identifier not in self._grades and len(self._grades) == 1:
            return next(iter(self._grades.values()))
        if identifier not in self._grades:
            raise InputError(f"{self.path}: has no grades of the query {format_value(identifier)}; add some.")
        return self._grades[identifier]


def _decisions(path: Path) -> dict[str, int] | None:
    """Return the grades of mpir's own files in the order of the first decisions; None for judgements of other files."""
    if path.suffix == ".mpir":
        if not path.is_file():
            raise InputError(f"{path}: there is no such file; give the review's file.")
        review = Review(path)
        records = review.decisions(only_reviewer(review))
    elif path.suffix == ".jsonl":
        records = list(read_grades(path))
    else:
        return None
    grades = {record["id"]: record["grade"] for record in records}
    return {name: grade for name, grade in grades.items() if grade is not None}


def _table_grades(path: Path) -> dict[str, int]:
    """Return the grades in a table that a page exported. It is in the order of the ranking, without times.

    Raises:
        InputError: a column is missing, a grade is not a digit from 0 to 3, or a document has two grades.
    """
    header, rows = csv_table(path)
    if absent := {"document", "grade"}.difference(header):
        raise InputError(
            f"{path}:1: no column {format_names(sorted(absent))} (expected a table that an explain page exported); "
            "export the decisions again, or give judgements in the qrels format."
        )
    grades = dict[str, int]()
    for number, row in rows:
        if text := row.get("grade", "").strip():
            if not re.fullmatch(f"[0-{HIGHEST}]", text):
                raise InputError(
                    f"{path}:{number}: invalid grade {format_value(text)} (expected 0 to {HIGHEST}, or nothing)."
                )
            name = without_guards(row["document"])
            if grades.setdefault(name, int(text)) != int(text):
                raise InputError(
                    f"{path}:{number}: another grade for the document {format_value(name)} (got {text}, and "
                    f"{grades[name]} before). Keep the row that is right."
                )
    return grades

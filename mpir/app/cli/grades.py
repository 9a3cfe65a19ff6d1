"""``mpir rerank --grades``: the stopping test on decisions that were made in the order of the ranking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from mpir.errors import InputError, format_value
from mpir.evaluate.stopping import StoppingTest, stopping_test
from mpir.files.corpora.trec import read_qrels
from mpir.reranking.ranking import Ranking


class Grades:
    """The grades of a file of judgements, and the options of the test."""

    def __init__(self, path: str, *, recall: float, confidence: float) -> None:
        """Read the file. Raises InputError for an invalid file, recall or confidence."""
        stopping_test([], 1, recall=recall, confidence=confidence)  # refuses an invalid option before any work
        self.path, self._options, self._grades = path, {"recall": recall, "confidence": confidence}, read_qrels(path)

    def test(self, identifier: str, ranking: Ranking) -> StoppingTest:
        """Test the decisions about a ranking of all candidates.

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
        decisions = [grades[str(document.id)] > 0 for document in ranking if str(document.id) in grades]
        return stopping_test(decisions, ranking.candidates, **self._options)

    def _of(self, identifier: str) -> Mapping[str, int]:
        """Return the grades of a query: those of its id, or those of the only query of the file."""
        if identifier not in self._grades and len(self._grades) == 1:
            return next(iter(self._grades.values()))
        if identifier not in self._grades:
            raise InputError(f"{self.path}: has no grades of the query {format_value(identifier)}; add some.")
        return self._grades[identifier]


def facts(result: StoppingTest) -> dict[str, Any]:
    """Return the outcome as JSON-able values."""
    return {"stopping": {**asdict(result), "stop": result.stop}}

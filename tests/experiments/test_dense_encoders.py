"""The comparison of encoders: its arithmetic by hand."""

import numpy as np
import pytest

from experiments.common import test_sets
from experiments.dense import encoders
from mpir.core.text import Document

DOCUMENTS = [Document(name, "", name) for name in "abc"]


def test_a_run_has_the_best_documents_with_their_scores() -> None:
    run = encoders.run_of(DOCUMENTS, np.array([0.1, 0.9, 0.5]), depth=2)
    assert list(run.items()) == [("b", 0.9), ("c", 0.5)]


def test_a_smaller_set_has_queries_with_relevant_documents_only() -> None:
    test = test_sets.TestSet("x", {"1": "?", "2": "?"}, DOCUMENTS, {"1": {"a": 1, "c": 1}, "2": {"c": 1}})
    assert encoders.first_documents(test, None) is test
    small = encoders.first_documents(test, 2)
    assert small.qrels == {"1": {"a": 1}}
    assert [document.id for document in small.documents] == ["a", "b"]


def test_rows_have_means_and_p_against_the_last_encoder() -> None:
    values = {
        "x/mine": {"nDCG@10": np.array([0.5, 0.7]), "R@100": np.array([1.0, 0.5])},
        "x/theirs": {"nDCG@10": np.array([0.4, 0.6]), "R@100": np.array([1.0, 1.0])},
    }
    first, last = encoders.table("set", values)
    assert first[:2] == ["set", "mine"]
    assert first[2:4] == pytest.approx([0.6, 0.75])
    assert last[-1] == ""

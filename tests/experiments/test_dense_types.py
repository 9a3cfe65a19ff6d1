"""Types of answers by rules, tests of all pairs, the row of a cross-encoder, and the nearest documents of a picture."""

from pathlib import Path

import numpy as np
import pytest

from experiments.dense.answer_types import SAMPLE, TYPES, answer_type, read_labelled
from experiments.dense.bi_encoders import Reranked
from experiments.dense.picture import nearest_relevant
from experiments.dense.tables import PAIR_HEADERS, pair_rows, rows_of, type_rows
from mpir.core.text import Document, Question
from mpir.errors import InputError


@pytest.mark.parametrize(("expected", "question"), SAMPLE)
def test_the_samples_types(expected: str, question: str) -> None:
    assert answer_type(question) == expected


def test_labels_of_li_and_roth(tmp_path: Path) -> None:
    (tmp_path / "labels").write_text("NUM:dist How far is it ?\nHUM:ind Who is she ?\n")
    assert list(read_labelled(tmp_path / "labels")) == [("number", "How far is it ?"), ("person", "Who is she ?")]
    (tmp_path / "labels").write_text("OTHER:x How far ?\n")
    with pytest.raises(InputError, match=r"labels:1: found 'OTHER:x"):
        list(read_labelled(tmp_path / "labels"))
    assert len(TYPES) == 6


def test_tables_of_systems() -> None:
    systems = {name: {"RR@10": np.full(10, value)} for name, value in (("a", 0.5), ("b", 0.5), ("c", 0.25))}
    assert rows_of(systems, ["RR@10"]) == [["a", "0.5000"], ["b", "0.5000"], ["c", "0.2500"]]
    rows = pair_rows(systems, "RR@10")
    assert [row[:2] for row in rows] == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert {len(row) for row in rows} == {len(PAIR_HEADERS)}
    assert rows[1][5] == "10/0/0"
    assert type_rows(["x"] * 7 + ["y"] * 3, systems, "RR@10")[1] == ["y", "3", "0.5000", "0.5000", "0.2500"]


def test_a_reranker_orders_the_first_documents_of_a_stage() -> None:
    documents = [Document(name, "", name) for name in "abc"]

    class Stage:
        def search_batch(self, queries: list[str], k: int = 100, *, progress: bool = False) -> list[list[Document]]:
            return [documents[:k] for _ in queries]

    class Ranking:
        def __init__(self, found: list[Document]) -> None:
            self.documents = found[::-1]

    class Reverse:
        def rerank_batch(self, queries: list[str], lists: list[list[Document]], *, progress: bool) -> list[Ranking]:
            return [Ranking(found) for found in lists]

    (found,) = Reranked(Stage(), Reverse(), 2).search_batch(["q"], 3)  # type: ignore[arg-type]
    assert [document.id for document in found] == ["b", "a", "c"]


def test_the_nearest_document_of_a_picture() -> None:
    questions = [Question("1", "?"), Question("2", "?")]
    space = np.array([[0.0, 0.0], [1.0, 1.0], [0.1, 0.0], [0.9, 1.0]])
    assert nearest_relevant(questions, ["a", "b"], {"1": ["a"], "2": ["a"]}, space) == 0.5

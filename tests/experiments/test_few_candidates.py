"""The first candidates of scored questions, ordered by untrained baselines and by the blend."""

from pathlib import Path

import numpy as np
import pytest

from mpir.core.columns import Columns, Layout
from mpir.core.text import Question, Snippet
from mpir.tune.dataset import Dataset
from tests.experiments.conftest import RunScript

SENTENCES = ("relevance", "sts", "sia")


def dataset(layout: Layout, documents: list[list[float]], sentences: list[list[float]]) -> Dataset:
    """Two questions of three documents, a and d of one more sentence that says nothing; b and f answer."""
    questions = tuple(
        Question(
            f"q{n}",
            "?",
            documents=(d,),
            snippets=(Snippet(document=d, begin_section="abstract", end_section="abstract", begin=0, end=5, text="x"),),
        )
        for n, d in enumerate("bf")
    )
    owners = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 2, 3, 3, 4, 5])
    scores = np.insert(np.array(sentences), [1, 4], 0.0, axis=0)
    columns = Columns(
        layout=layout,
        documents=np.array(documents),
        sentences=scores,
        query_of=owners[0],
        document_of=owners[1],
        queries=2,
    )
    begins = np.array([0, 6, 0, 0, 0, 6, 0, 0])
    lexical = np.array([1.0, -1.0, 0.0, 0.0, 2.0, -1.0, 0.0, 0.0])
    return Dataset(
        questions=questions,
        columns=columns,
        documents=np.array(list("abcdef")),
        sections=np.array(["abstract"] * 8),
        begin=begins,
        end=begins + 5,
        lexical=lexical,
        in_passages=np.zeros(8, bool),
        documents_in_passages=np.zeros(6, bool),
        documents_left_out=np.zeros(6, bool),
        documents_in_part=np.zeros(6, bool),
    )


@pytest.fixture
def scored() -> Dataset:
    """b lies 0.1 below a by BM25, and its relevance is 0.1 above. f is third."""
    layout = Layout.of(("bm25", "document", "topic", "words"), SENTENCES)
    bm25 = [9.0, 8.9, 4.0, 9.0, 8.0, 7.0]
    relevance = [0.1, 0.2, 0.1, 0.1, 0.1, 0.9]
    return dataset(layout, [[value, 0.5, 0.5, 0.5] for value in bm25], [[value, 0.0, 0.0] for value in relevance])


@pytest.fixture
def free() -> Dataset:
    """Vectors find b, and nothing finds f."""
    layout = Layout.of(("bm25", "dense"), ("cosine",))
    bm25, dense = [9.0, 8.9, 4.0, 9.0, 8.0, 7.0], [0.1, 0.9, 0.2, 0.3, 0.2, 0.1]
    return dataset(layout, np.column_stack([bm25, dense]).tolist(), [[value] for value in dense])


def rows(printed: str) -> dict[str, list[str]]:
    """The cells of each row of a printed table, by its first one."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines() if "|" in line]
    return {first: figures for first, *figures in cells}


def test_only_the_first_candidates_are_ordered(
    run_script: RunScript, scored: Dataset, free: Dataset, tmp_path: Path
) -> None:
    scored.save(tmp_path / "scored")
    free.save(tmp_path / "free")
    options = ["--measures", "sentence-map", "--counts", "2", "3"]
    result = run_script(
        "experiments/ranking/few_candidates.py", "--scored", tmp_path / "scored", "--free", tmp_path / "free", *options
    )
    assert result.returncode == 0, result.stderr
    assert "sentence-map, 2 questions" in result.stdout
    table = rows(result.stdout)
    assert table["first candidates"] == ["2", "3"]
    assert table["BM25"] == ["0.2500", "0.4167"]  # b is second; f is not among two, and third of three
    assert table["start encoder"] == ["0.5000", "0.6667"]  # b is first
    assert table["blend"] == ["0.5000", "1.0000"]  # BM25 has no weight


def test_other_candidates_and_questions_left_out(
    run_script: RunScript, scored: Dataset, free: Dataset, tmp_path: Path
) -> None:
    scored.save(tmp_path / "scored")
    free.subset([0]).save(tmp_path / "free")
    options = ["--scored", tmp_path / "scored", "--free", tmp_path / "free", "--measures", "document-map"]
    result = run_script("experiments/ranking/few_candidates.py", *options)
    assert (result.returncode, result.stdout) == (2, "")
    assert "few_candidates: --free: the question q1 is missing" in result.stderr
    result = run_script("experiments/ranking/few_candidates.py", *options, "--leave-out", "q1")
    assert "document-map, 1 questions" in result.stdout

"""A first pass by vectors: the texts that are read are the scored ones, and there is a table for each first pass."""

import json
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.core.columns import Columns, Layout
from mpir.core.text import Question, Snippet
from mpir.errors import InputError
from mpir.tune.dataset import Dataset

ROOT = Path(__file__).parents[2]
TEXTS = {"a": "aspirin thin blood. the gene", "b": "heart risk. no trial", "c": "the cell. aspirin", "d": "a. placebo"}


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    def load(*arguments: object) -> dict[str, Any]:
        monkeypatch.setattr(sys, "argv", ["cascade_vectors.py", *map(str, arguments)])
        return runpy.run_path(str(ROOT / "experiments/cascade/vectors.py"))

    return load


@pytest.fixture
def scored(tmp_path: Path) -> Dataset:
    """Two questions with two documents each, which have two sentences each."""
    questions = tuple(
        Question(
            f"q{i}",
            body,
            documents=(name,),
            snippets=(
                Snippet(document=name, begin_section="abstract", end_section="abstract", begin=0, end=5, text="x"),
            ),
        )
        for i, (body, name) in enumerate([("does aspirin thin blood", "a"), ("is aspirin a placebo", "c")])
    )
    spans = [(0, text.index(".") + 1, text.index(".") + 2, len(text)) for text in TEXTS.values()]
    columns = Columns(
        layout=Layout.of(("bm25",), ("relevance",)),
        documents=np.array([[2.0], [1.0], [2.0], [1.0]]),
        sentences=np.array([[0.9], [0.1], [0.2], [0.3], [0.5], [0.1], [0.2], [0.8]]),
        query_of=np.array([0, 0, 1, 1]),
        document_of=np.repeat(np.arange(4), 2),
        queries=2,
    )
    (tmp_path / "corpus.jsonl").write_text(
        "".join(json.dumps({"id": name, "abstract": text}) + "\n" for name, text in TEXTS.items())
    )
    return Dataset(
        questions=questions,
        columns=columns,
        documents=np.array(list(TEXTS)),
        sections=np.array(["abstract"] * 8),
        begin=np.array([begin for span in spans for begin in span[::2]]),
        end=np.array([end for span in spans for end in span[1::2]]),
        lexical=np.array([3.0, 1.0, 0.0, 0.0, 2.0, 1.0, 1.0, 0.0]),
        in_passages=np.zeros(8, bool),
        documents_in_passages=np.zeros(4, bool),
        documents_left_out=np.zeros(4, bool),
        documents_in_part=np.zeros(4, bool),
    ).save(tmp_path / "scored")


def test_the_scored_sentences_are_read(script: Callable[..., Any], scored: Dataset, tmp_path: Path) -> None:
    loaded = script()
    corpus = [str(tmp_path / "corpus.jsonl")]
    expected = [sentence.strip() for text in TEXTS.values() for sentence in text.replace(".", ".\n").split("\n")]
    assert loaded["sentence_texts"](scored, corpus) == expected
    assert loaded["query_of_sentences"](scored).tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_a_table_for_words_vectors_and_both(
    script: Callable[..., Any],
    scored: Dataset,
    tiny_checkpoint: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    where = ["--scored", tmp_path / "scored", "--corpus", tmp_path / "corpus.jsonl", "--output", tmp_path / "out"]
    for _ in range(2):  # the second replaces the tables of the first
        assert script(*where, "--encoder", tiny_checkpoint, "--weights", "equal")["main"]() == 0
    printed = capsys.readouterr().out
    assert printed == 2 * (tmp_path / "out/tables.md").read_text()
    printed = (tmp_path / "out/tables.md").read_text()
    heads = [line for line in printed.splitlines() if line.startswith("###")]
    assert heads == [
        f"### {values}, {how}"
        for values in ("words", "vectors", "words and vectors")
        for how in ("sentence and document", "sentence only")
    ]
    assert "2 questions, 20 candidates and 4 sentences each." in printed


def test_an_early_exit_needs_the_same_candidates(script: Callable[..., Any], scored: Dataset, tmp_path: Path) -> None:
    loaded = script()
    loaded["first_candidates"](scored, 1).save(tmp_path / "fewer")
    with pytest.raises(InputError, match="has other documents; score the same candidates"):
        loaded["smaller_bundle_scores"](scored, tmp_path / "fewer", "fast", 20)


def test_another_corpus_is_one_sentence(
    script: Callable[..., Any], scored: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.jsonl").write_text(json.dumps({"id": "a", "abstract": TEXTS["a"]}) + "\n")
    where = ["--scored", tmp_path / "scored", "--corpus", tmp_path / "other.jsonl", "--output", tmp_path / "out"]
    assert script(*where, "--weights", "equal")["main"]() == 2
    (sentence,) = capsys.readouterr().err.splitlines()
    assert "other.jsonl: has no document 'b', which was scored" in sentence

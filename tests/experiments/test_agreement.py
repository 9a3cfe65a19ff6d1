"""What agreement is worth: the script computes again what the reranker computed, and says what it cannot do."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mpir import Document, Question, Reranker, Snippet
from mpir.core.weights import Weights
from mpir.files.checksum import read_json_with_checksum
from mpir.files.weights import read_weights, write_weights
from mpir.models.bundles.bundle import seal
from mpir.models.perspectives.agreement import Agreement
from mpir.tune.dataset import Dataset
from mpir.tune.measures import MEASURES
from mpir.tune.objective import Objective

AGREEMENT = Agreement.name
ROOT = Path(__file__).parents[2]
TEXTS = ["Aspirin thins blood. No gene is in it.", "Aspirin does thin blood. A trial of placebo.", "The heart."]
DOCUMENTS = [Document(f"d{i}", "", text, score=3.0 - i) for i, text in enumerate(TEXTS)]
GOLD = [
    Question(
        name,
        body,
        documents=(document,),
        snippets=(
            Snippet(
                document=document, begin_section="abstract", end_section="abstract", begin=begin, end=end, text=text
            ),
        ),
    )
    for name, body, document, (begin, end), text in [
        ("q1", "does aspirin thin blood", "d0", (0, 20), "Aspirin thins blood."),
        ("q2", "trial", "d1", (25, 44), "A trial of placebo."),
    ]
]


@pytest.fixture
def bundle(tiny_bundle: Path, tmp_path: Path) -> Path:
    """The tiny bundle with agreement, and weights for it."""
    folder = tmp_path / "bundle"
    shutil.copytree(tiny_bundle, folder)
    manifest = read_json_with_checksum(folder / "bundle.json")
    (folder / "bundle.json").write_text(json.dumps(manifest | {"agreement": "relevance"}), encoding="utf-8")
    write_weights(folder / "weights.json", Weights.equal(["relevance", "sts", "sia", AGREEMENT]))
    seal(folder)
    return folder


def scored(bundle: Path, folder: Path) -> Dataset:
    reranker = Reranker(bundle, device="cpu", precision="fp32")
    scores = reranker.score([question.body for question in GOLD], [DOCUMENTS] * len(GOLD))
    return Dataset.collect(zip(GOLD, scores, strict=True)).save(folder)


def run(folder: Path, corpus: Path, bundle: Path) -> "subprocess.CompletedProcess[str]":
    command = [
        sys.executable,
        "-m",
        "experiments.ranking.agreement",
        "--scored",
        folder,
        "--corpus",
        corpus,
        "--bundle",
        bundle,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def write_corpus(path: Path, documents: list[Document]) -> Path:
    rows = [{"id": document.id, "title": document.title, "abstract": document.abstract} for document in documents]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_what_it_computes_is_what_the_reranker_scored(bundle: Path, tmp_path: Path) -> None:
    held = scored(bundle, tmp_path / "scored")
    finished = run(tmp_path / "scored", write_corpus(tmp_path / "corpus.jsonl", DOCUMENTS), bundle)
    assert finished.returncode == 0, finished.stderr
    overall = finished.stdout.split("\n\n")[0].splitlines()
    rows = {cells[1].strip(): cells[2:5] for cells in (line.split("|") for line in overall)}
    answers = Objective(held).answers(read_weights(bundle / "weights.json"))
    for cell, name in zip(rows["10 documents heard"], ("document-map", "sentence-map", "snippet-f1"), strict=True):
        assert float(cell.split()[0]) == pytest.approx(np.nanmean(MEASURES[name](answers, 8)), abs=1e-4)
    assert rows["no agreement"][0].split()[0] == rows["all heard"][0].split()[0]  # documents are left alone


def test_a_corpus_that_lacks_a_candidate(bundle: Path, tmp_path: Path) -> None:
    scored(bundle, tmp_path / "scored")
    finished = run(tmp_path / "scored", write_corpus(tmp_path / "corpus.jsonl", DOCUMENTS[1:]), bundle)
    assert (finished.returncode, finished.stderr.count("\n")) == (2, 1)
    assert "1 candidates are not in it, such as d0" in finished.stderr


def test_scores_without_agreement(bundle: Path, tiny_bundle: Path, tmp_path: Path) -> None:
    scored(tiny_bundle, tmp_path / "scored")
    finished = run(tmp_path / "scored", write_corpus(tmp_path / "corpus.jsonl", DOCUMENTS), bundle)
    assert finished.returncode == 2
    assert "has no column 'agreement'; score with a bundle that declares it" in finished.stderr


def test_weights_that_leave_it_out(bundle: Path, tmp_path: Path) -> None:
    scored(bundle, tmp_path / "scored")
    write_weights(bundle / "weights.json", Weights.equal(["relevance", "sts", "sia"]))
    seal(bundle)
    finished = run(tmp_path / "scored", write_corpus(tmp_path / "corpus.jsonl", DOCUMENTS), bundle)
    assert (finished.returncode, finished.stderr.count("\n")) == (2, 1)
    assert "the weights weigh 'agreement' 0, so there is nothing to compare" in finished.stderr

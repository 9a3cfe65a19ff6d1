"""Rows of documents: candidates with the labels that are known, and no evaluation question among training rows."""

import gzip
import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from mpir.lab.train.document_mixture import read_document_rows

SCRIPT = Path(__file__).parents[2] / "data_scripts/document_rows.py"
URL = "http://www.ncbi.nlm.nih.gov/pubmed/"
SNIPPET = {
    "text": "Aspirin thins the blood.",
    "document": URL + "3",
    "beginSection": "abstract",
    "endSection": "abstract",
}


def question(identifier: str, body: str, *gold: str) -> dict[str, Any]:
    snippets = [{**SNIPPET, "offsetInBeginSection": 0, "offsetInEndSection": 24}] if "3" in gold else []
    documents = [URL + number for number in gold]
    return {"id": identifier, "body": body, "type": "summary", "documents": documents, "snippets": snippets}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for folder in ("bioasq", "pubmed"):
        (tmp_path / folder).mkdir()
    files = {
        "training.json": [
            question("t1", "Does aspirin thin blood?", "3", "999"),
            question("t2", "What is a gene?", "999"),
            question("t3", "What is a  cell"),
        ],
        "5B1_golden.json": [question("d1", "Is aspirin in the blood?", "3"), question("d2", "What is a drug?")],
        "6B1_golden.json": [question("e1", "What is a cell?", "1")],
    }
    for name, questions in files.items():
        (tmp_path / "bioasq" / name).write_text(json.dumps({"questions": questions}))
    splits = {"train": ["t1", "t2", "t3"], "dev": ["d1", "d2"], "test": ["e1"]}
    (tmp_path / "bioasq/splits.json").write_text(json.dumps(splits))
    texts = [f"A gene of kind {number} is in a cell. It is not in the blood." for number in range(50)]
    texts[3] = "Aspirin thins the blood. It is an old drug."
    lines = [json.dumps({"pmid": str(i), "title": f"Study {i}.", "abstract": text}) for i, text in enumerate(texts)]
    (tmp_path / "pubmed/abstracts.jsonl").write_text("\n".join(lines))
    return tmp_path


def test_candidates_have_the_labels_that_are_known(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    arguments = ["--data", str(data), "--output", str(data / "rows"), "--candidates", "4"]
    monkeypatch.setattr(sys, "argv", ["document_rows", *arguments])
    loaded = runpy.run_path(str(SCRIPT))
    assert loaded["main"]() == 0
    assert loaded["are_rows"]((data / "rows/documents.train.jsonl.gz").read_bytes())
    assert "documents.train.jsonl.gz: 2 questions, 1 of them with a gold document" in capsys.readouterr().out
    train, dev = (read_document_rows(data / f"rows/documents.{split}.jsonl.gz", 3) for split in ("train", "dev"))
    assert [row.id for row in train] == ["t1", "t2"]  # t3 repeats a test question
    assert [row.id for row in dev] == ["d1"]
    (first, *others), unknown = train[0].documents, train[1].documents
    assert first.sentences == ("Study 3.", "Aspirin thins the blood.", "It is an old drug.")
    assert first.label == 1
    assert first.gold is not None
    assert first.gold.tolist() == [0, 1, 0]
    assert [(document.label, document.gold) for document in others] == [(0, None)] * 3
    assert {document.label for document in unknown} == {None}


def test_the_same_data_give_the_same_bytes(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    contents = []
    for name in ("a", "b"):
        monkeypatch.setattr(sys, "argv", ["document_rows", "--data", str(data), "--output", str(data / name)])
        assert runpy.run_path(str(SCRIPT))["main"]() == 0
        contents.append((data / name / "documents.train.jsonl.gz").read_bytes())
    assert contents[0] == contents[1]
    assert gzip.decompress(contents[0]).count(b"\n") == 2

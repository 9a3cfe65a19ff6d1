"""Rows of documents: candidates with the labels that are known, and no evaluation question among training rows."""

import gzip
import json
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.core.text.types import QueryDocument
from mpir.lab.train.document_mixture import read_document_rows
from mpir.lab.train.export import export_bundle
from mpir.models.documents.document_encoder import DocumentEncoder
from mpir.models.encoder import Encoder

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


def run_script(name: str, data: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    monkeypatch.setattr(sys, "argv", [name, "--data", str(data), "--output", str(data / "rows"), *arguments])
    loaded = runpy.run_path(str(SCRIPT.parent / f"{name}.py"))
    assert loaded["main"]() == 0
    return loaded


def test_more_abstracts_are_read_unless_only_evaluation_questions_have_them(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = [
        {"pmid": "999", "title": "", "abstract": "A gene is in the cell. It is long.", "gold_of": ["train"]},
        {"pmid": "998", "title": "", "abstract": "What is a gene? We do not say.", "gold_of": ["test"]},
    ]
    (data / "more.jsonl").write_text("".join(json.dumps(item) + "\n" for item in more))
    run_script("document_rows", data, monkeypatch, "--candidates", "4", "--abstracts", str(data / "more.jsonl"))
    train = read_document_rows(data / "rows/documents.train.jsonl.gz", 3)
    texts = {text for row in train for document in row.documents for text in document.sentences}
    assert "A gene is in the cell." in texts
    assert "What is a gene?" not in texts
    second = next(row for row in train if row.id == "t2")  # its gold document has no title, so nobody's is read
    assert [document.label for document in second.documents].count(1) == 1
    assert not any(text.startswith("Study") for document in second.documents for text in document.sentences)


def test_lists_of_other_kinds_hold_what_they_say(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = json.loads((data / "bioasq/training.json").read_text())["questions"]
    for identifier, document, text in (
        ("t4", "777", "Aspirin harms the stomach."),
        ("t5", "778", "Cells hold all of our genes."),
    ):
        snippet = {**SNIPPET, "document": URL + document, "text": text, "offsetInEndSection": len(text)}
        body = {"t4": "Does aspirin harm the cell?", "t5": "Do cells hold genes in blood?"}[identifier]
        training.append({**question(identifier, body, document), "snippets": [snippet]})
    (data / "bioasq/training.json").write_text(json.dumps({"questions": training}))
    splits = json.loads((data / "bioasq/splits.json").read_text())
    (data / "bioasq/splits.json").write_text(json.dumps({**splits, "train": ["t1", "t2", "t3", "t4", "t5"]}))
    (data / "medquad").mkdir()
    answers = [
        {
            "source": "x",
            "qid": str(number),
            "question": f"What is a drug of kind {number}?",
            "answer": f"A drug {number}.",
        }
        for number in range(9)
    ]
    (data / "medquad/medquad.jsonl").write_text("".join(json.dumps(item) + "\n" for item in answers))
    (data / "reading").mkdir()
    paragraphs = [
        {"text": "Rome is old. It is large.", "questions": [{"q": "What is large?", "start": 13, "answer": "It"}]},
        {
            "text": "Paris is large. It is old.",
            "questions": [{"q": "What is it?", "start": 0, "answer": "", "impossible": 1}],
        },
    ]
    with gzip.open(data / "reading/squad.jsonl.gz", "wt") as stream:
        stream.writelines(json.dumps(item) + "\n" for item in paragraphs)
    run_script("document_lists", data, monkeypatch)
    rows = {
        name: read_document_rows(data / f"rows/{name}.train.jsonl.gz", 0)
        for name in ("inserted", "topics", "medquad", "squad")
    }
    first = next(row for row in rows["inserted"] if row.id == "t4")
    assert [document.label for document in first.documents] == [1.0] * 3 + [0.0] * 5
    for document in first.documents[:3]:
        assert document.gold is not None
        assert document.sentences[int(document.gold.argmax())] == "Aspirin harms the stomach."
        assert document.gold.sum() == 1
    others = {text for document in first.documents[3:5] for text in document.sentences}
    assert "Cells hold all of our genes." in others  # the gold sentence of t1 is that of a dev question, too
    assert all(document.label is None for row in rows["topics"] for document in row.documents)
    answered = rows["medquad"][0]
    assert [document.label for document in answered.documents] == [1.0] + [0.0] * (len(answered.documents) - 1)
    (squad,) = rows["squad"]
    assert [(document.label, document.sentences) for document in squad.documents] == [
        (1.0, ("Rome is old.", "It is large.")),
        (0.0, ("Paris is large.", "It is old.")),
    ]
    assert squad.documents[0].gold is not None
    assert squad.documents[0].gold.tolist() == [0, 1]


def test_a_bundle_teaches_documents_of_rows(tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [{"sentences": ["aspirin", "the heart"], "document_teacher": [1.5, None]}, {"sentences": ["blood"]}]
    rows, bundle = tmp_path / "rows.jsonl", tmp_path / "bundle"
    rows.write_text(json.dumps({"id": "1", "question": "does aspirin thin blood", "documents": documents}) + "\n")
    shutil.copytree(tiny_bundle / "model", bundle / "model")
    common = {"kind": "document-cross-encoder", "checkpoint": "model"}
    entries = [
        {"name": "relevance", **common, "output": 0, "scale": "probability"},
        {"name": "about", **common, "output": 1, "scale": "probability", "level": "document"},
    ]
    export_bundle(bundle / "model", tmp_path / "readers", entries, name="readers", card="x")
    arguments = [
        "--rows",
        str(rows),
        "--bundle",
        str(tmp_path / "readers"),
        "--output",
        str(tmp_path / "taught.jsonl.gz"),
    ]
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    monkeypatch.setattr(sys, "argv", ["document_teacher", *arguments, "--columns", "-", "about", "--device", "cpu"])
    script = runpy.run_path(str(SCRIPT.parent / "document_teacher.py"))
    assert script["main"]() == 0
    (row,) = read_document_rows(tmp_path / "taught.jsonl.gz", 0, 2)
    encoder = DocumentEncoder(Encoder(tmp_path / "readers/model", device="cpu"))
    read = [QueryDocument(row.question, document.sentences) for document in row.documents]
    raw, _ = encoder.document_outputs(read)
    taught = np.array([document.document_teacher for document in row.documents])
    np.testing.assert_allclose(taught[:, 1], raw[[0, 3], 1], atol=1e-3)
    np.testing.assert_array_equal(taught[:, 0], [1.5, np.nan])
    monkeypatch.setattr(sys, "argv", ["document_teacher", *arguments, "--columns", "-", "relevance"])
    assert script["main"]() == 2

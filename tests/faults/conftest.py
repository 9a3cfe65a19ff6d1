"""The inputs of commands."""

import json
import shutil
from pathlib import Path

import pytest

from tests.faults.commands import SAMPLE


@pytest.fixture(scope="package")
def inputs(
    tmp_path_factory: pytest.TempPathFactory, tiny_bundle: Path, tiny_checkpoint: Path, tiny_encoder: Path
) -> Path:
    """A folder with what the commands read: documents, rows, queries and a bundle."""
    folder = tmp_path_factory.mktemp("inputs")
    shutil.copytree(tiny_bundle, folder / "bundle")
    shutil.copytree(tiny_checkpoint, folder / "checkpoint")
    shutil.copytree(tiny_encoder, folder / "encoder")
    lines = (SAMPLE / "documents.jsonl").read_text(encoding="utf-8").splitlines()[:40]
    (folder / "docs.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    documents = [json.loads(line) for line in lines]
    changes = [*({**document, "title": "Changed"} for document in documents[:5]), {"id": "new", "title": "Added"}]
    (folder / "changes.jsonl").write_text("".join(json.dumps(change) + "\n" for change in changes), encoding="utf-8")
    queries = ({"id": f"q{i}", "query": "does aspirin thin blood", "documents": documents[i::8]} for i in range(8))
    (folder / "queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in queries), encoding="utf-8")
    rows = [
        {"id": f"q{number}", "question": "does aspirin thin blood", "sentence": text, "label": label}
        for number in range(12)
        for text, label in (("yes aspirin does thin blood", 1.0), ("the cell is in a gene", 0.0))
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    train = {"losses": ["bce"], "dev": "rows.jsonl", "train": [{"file": "rows.jsonl", "epochs": 4}]}
    mixture = {"settings": {"max_length": 64}, "perspectives": [{"name": "relevance", **train}]}
    (folder / "mixture.json").write_text(json.dumps(mixture), encoding="utf-8")
    return folder

"""Recall of `mpir pubmed`'s plan, by the stand-in, at the smallest size."""

import json
from pathlib import Path

import pytest

from tests.experiments.conftest import RunScript
from tests.search.pubmed.conftest import records
from tests.search.pubmed.stand_in import serving

QUESTION = {"id": "q1", "type": "list", "body": "Which drugs slow idiopathic pulmonary fibrosis?"}
GOLD = [f"http://www.ncbi.nlm.nih.gov/pubmed/{number}" for number in (1000, 1001, 99999)]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder of one dev question and forty records, two of which answer it."""
    files = {
        "bioasq/splits.json": {"train": [], "dev": ["q1"], "test": []},
        "bioasq/training.json": {"questions": []},
        "bioasq/5B1_golden.json": {"questions": [{**QUESTION, "documents": GOLD, "snippets": []}]},
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    lines = [
        json.dumps({"pmid": document.id, "title": document.title, "abstract": document.abstract})
        for document in records()
        if document.id.isdigit()
    ]
    (tmp_path / "pubmed").mkdir()
    (tmp_path / "pubmed/abstracts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


def test_recall_by_the_stand_in(run_script: RunScript, data: Path, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    done = run_script(
        "experiments/pubmed/recall.py", "--data", data, "--pool", "abstracts", "--k", 40, "--json", figures
    )
    assert done.returncode == 0, done.stderr
    values = json.loads(figures.read_text(encoding="utf-8"))
    assert values["question as it is, PubMed"] == [0.0]  # no record holds "drugs" and "slow"
    assert values["plan, both"] == values["BM25 over the records"] == [1.0]


@pytest.mark.parametrize("sort", ["date", "random"])
def test_recall_if_the_stand_in_sorts_otherwise(run_script: RunScript, data: Path, sort: str) -> None:
    done = run_script("experiments/pubmed/recall.py", "--data", data, "--pool", "abstracts", "--k", 40, "--sort", sort)
    assert done.returncode == 0, done.stderr
    assert f"by {sort}" in done.stdout


def test_recall_of_a_service(run_script: RunScript, data: Path) -> None:
    with serving(records()) as server:
        addresses = ["--eutils", server.url, "--europepmc", server.url]
        done = run_script(
            "experiments/pubmed/live.py", "--questions", data / "bioasq/5B1_golden.json", "--k", 45, *addresses
        )
    assert done.returncode == 0, done.stderr
    assert "1 questions of 5B1_golden.json" in done.stdout
    assert "| plan, both " in done.stdout
    assert "0.6667" in done.stdout  # the third gold record is nowhere

"""The unseen collections: each reader reads its own format, and reranking is measured against BM25."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from mpir.errors import InputError

SCRIPT: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[2] / "experiments/common/test_sets.py"))
MED_DOCUMENTS = ".I 1\n.W\naspirin thins\nblood .\n.I 2\n.W\nthe gene is in a cell .\n"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two queries or so in each set, in the formats of the real files."""
    abstracts = [
        {"doc_id": 7, "title": "Aspirin", "abstract": ["Aspirin is thin.", "Blood is thin."]},
        {"doc_id": 8, "title": "Cells", "abstract": ["A gene is in a cell."]},
    ]
    claims = "id,claim,evidence_doc_id,evidence_label,evidence_sentences,cited_doc_ids\n"
    claims += '1,"aspirin does thin blood",7,SUPPORT,[0],[7 8]\n1,"aspirin does thin blood",7,SUPPORT,[1],[7 8]\n'
    claims += "2,a gene in a cell,,,[],[8]\n"
    answers = "qtext,label,atext\ndoes aspirin thin blood ?,1,Yes . It does .\ndoes aspirin thin blood ?,0,a cell\n"
    answers += "only wrong ones ?,0,a cell\n"
    files = {
        "scifact/corpus.jsonl": "".join(json.dumps(item) + "\n" for item in abstracts),
        "scifact/claims_validation.csv": claims,
        "nfcorpus/test.titles.queries": "PLAIN-1\taspirin\nPLAIN-2\tgene\n",
        "nfcorpus/test.docs": "MED-1\taspirin blood heart\nMED-2\tgene cell\n",
        "nfcorpus/dev.docs": "MED-1\taspirin blood heart\nMED-3\taspirin risk\n",
        "nfcorpus/test.2-1-0.qrel": "PLAIN-1\t0\tMED-1\t2\nPLAIN-2\t0\tMED-2\t1\n",
        "med/MED.ALL": MED_DOCUMENTS,
        "med/MED.QRY": ".I 1\n.W\n does aspirin thin blood\n.I 2\n.W\nthe cell .\n",
        "med/MED.REL": "1 1 1\n2 2 1\n",
        "trecqa_wang/test.csv": answers,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def read(name: str, data: Path) -> Any:
    return SCRIPT["READERS"][name](data / SCRIPT["FOLDERS"][name])


def test_scifact_counts_every_cited_abstract_as_relevant(data: Path) -> None:
    test = read("scifact", data)
    assert test.qrels == {"1": {"7": 1, "8": 1}, "2": {"8": 1}}
    assert [d.abstract for d in test.documents] == ["Aspirin is thin. Blood is thin.", "A gene is in a cell."]


def test_nfcorpus_has_each_document_once_and_keeps_grades(data: Path) -> None:
    test = read("nfcorpus", data)
    assert sorted(d.id for d in test.documents) == ["MED-1", "MED-2", "MED-3"]
    assert test.qrels["PLAIN-1"] == {"MED-1": 2}
    assert test.queries["PLAIN-2"] == "gene"


def test_med_joins_the_lines_of_a_record(data: Path) -> None:
    test = read("med", data)
    assert [d.abstract for d in test.documents] == ["aspirin thins blood .", "the gene is in a cell ."]
    assert test.queries == {"1": "does aspirin thin blood", "2": "the cell ."}


def test_trecqa_keeps_questions_with_right_and_wrong_answers(data: Path) -> None:
    test = read("trecqa", data)
    assert list(test.queries.values()) == ["does aspirin thin blood ?"]
    assert test.qrels == {"q1": {"q1-0": 1, "q1-1": 0}}
    assert test.candidates == {"q1": [0, 1]}


@pytest.mark.parametrize(
    ("file", "text", "name", "message"),
    [
        ("med/MED.REL", "1 2\n", "med", r"MED\.REL:1: .*document, 1"),
        ("med/MED.ALL", "aspirin\n", "med", r"MED\.ALL: .*\.I"),
        ("nfcorpus/test.docs", "MED-1 aspirin\n", "nfcorpus", r"test\.docs:1: .*a tab"),
        ("trecqa_wang/test.csv", "question,label\n", "trecqa", r"test\.csv: .*'atext' is missing"),
    ],
)
def test_files_of_another_format(data: Path, file: str, text: str, name: str, message: str) -> None:
    (data / file).write_text(text)
    with pytest.raises(InputError, match=message):
        read(name, data)


def test_a_set_without_relevant_documents(data: Path) -> None:
    (data / "med/MED.REL").write_text("9 1 1\n")
    with pytest.raises(InputError, match=r"MED: .*relevant document"):
        SCRIPT["limited"](read("med", data), None, 1)

"""Training files: no evaluation question gets in, by id or by text, whichever file knows it."""

import json
import random
import runpy
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from mpir.core.text import Question, Snippet
from mpir.core.text.characters import normalise
from mpir.errors import InputError
from mpir.lab.train.leakage import EvaluationQuestions

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "data_scripts/training_data.py"))
URL = "http://www.ncbi.nlm.nih.gov/pubmed/"


def question(identifier: str, body: str) -> dict[str, Any]:
    return {"id": identifier, "body": body, "type": "summary", "documents": [URL + "1"], "snippets": []}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two train questions, one of which repeats the text of a test question that only a gold file holds."""
    bioasq, pubmed = tmp_path / "bioasq", tmp_path / "pubmed"
    bioasq.mkdir()
    pubmed.mkdir()
    files = {
        "training.json": [question("t1", "What is a gene?"), question("t2", "Is aspirin a drug?")],
        "5B1_golden.json": [question("d1", "What is a cell?")],
        "6B1_golden.json": [question("e1", "is Aspirin  a drug")],
    }
    for name, questions in files.items():
        (bioasq / name).write_text(json.dumps({"questions": questions}))
    (bioasq / "splits.json").write_text(json.dumps({"train": ["t1", "t2"], "dev": ["d1"], "test": ["e1"]}))
    title = "Gene {} is in one of its cells. OBJ"
    lines = [
        json.dumps({"pmid": str(i), "title": title.format(i), "abstract": "A gene is in a cell."}) for i in range(50)
    ]
    (pubmed / "abstracts.jsonl").write_text("\n".join(lines))
    return tmp_path


def test_a_train_question_that_repeats_an_evaluation_question_is_dropped(data: Path) -> None:
    loaded = SCRIPT["load"](data, 1)
    assert [question.id for question in loaded.train] == ["t1"]
    assert [question.id for question in loaded.dev] == ["d1"]


def test_a_search_shows_gold_sentences_and_others(data: Path) -> None:
    loaded = SCRIPT["load"](data, 1)
    rows = list(SCRIPT["search_rows"](loaded, loaded.dev[0]))
    assert {row["kind"] for row in rows} == {"search"}
    assert "OBJ" not in {row["sentence"] for row in rows}  # what is left of the next section's heading is no sentence
    assert len({row["sentence"] for row in rows if row["sentence"].startswith("Gene")}) == SCRIPT["SHOWN"]
    loaded.documents.pop("1")  # its only gold document
    assert list(SCRIPT["search_rows"](loaded, loaded.dev[0])) == []


def test_what_answers_an_evaluation_question_is_no_negative(data: Path) -> None:
    loaded = SCRIPT["load"](data, 1)
    assert loaded.held == set()  # none has a snippet here
    before = {row["sentence"] for row in SCRIPT["candidate_rows"](loaded, loaded.train[0])}
    assert "A gene is in a cell." in before
    loaded.held.add("a gene is in a cell")
    assert "A gene is in a cell." not in {row["sentence"] for row in SCRIPT["candidate_rows"](loaded, loaded.train[0])}
    gold = data / "bioasq/6B1_golden.json"
    snippet = {"document": URL + "1", "text": "Aspirin is a drug, and an old one."}
    snippet |= {"beginSection": "abstract", "endSection": "abstract"}
    snippet |= {"offsetInBeginSection": 0, "offsetInEndSection": 34}
    gold.write_text(json.dumps({"questions": [question("e1", "is Aspirin  a drug") | {"snippets": [snippet]}]}))
    assert SCRIPT["load"](data, 1).held == {"aspirin is a drug and an old one"}


def test_a_training_file_refuses_an_evaluation_question(tmp_path: Path) -> None:
    row = {"id": "t2", "question": "Is aspirin a drug?", "sentence": "Yes.", "label": 1.0, "kind": "golden"}
    with pytest.raises(InputError, match="kept for evaluation"):
        SCRIPT["write"](tmp_path / "rows.jsonl", [row], EvaluationQuestions([("e1", "is aspirin a drug")]))
    assert not (tmp_path / "rows.jsonl").exists()


def test_medquad_negatives_come_from_answers_to_other_questions_about_the_same(tmp_path: Path) -> None:
    (tmp_path / "medquad").mkdir()
    items = [
        ("1", "symptoms", "What are its symptoms?", "What are they? It causes fever and pain. Short."),
        ("2", "treatment", "How is it treated?", "Aspirin is given for it. It causes fever and pain."),
        ("3", "information", "What is it?", "It is a disease of the heart muscle."),
        ("4", "causes", "What causes it?", None),
    ]
    lines = (
        json.dumps(
            {"source": "S", "qid": qid, "qtype": question_type, "focus": "X", "question": question, "answer": answer}
        )
        for qid, question_type, question, answer in items
    )
    (tmp_path / "medquad/medquad.jsonl").write_text("\n".join(lines))
    kept_out = EvaluationQuestions([("e", "how is it treated")])
    rows = [(r["id"], r["sentence"], r["label"]) for r in SCRIPT["medquad_rows"](tmp_path, kept_out, random.Random(0))]
    assert rows == [
        ("medquad-S-1", "It causes fever and pain.", 1.0),
        ("medquad-S-1", "Aspirin is given for it.", 0.0),
    ]


def test_what_answers_another_question_of_a_shared_document_alone_is_no_answer() -> None:
    def asked(name: str, body: str, *texts: str) -> Question:
        return Question(
            name,
            body,
            snippets=tuple(
                Snippet(document="7", begin_section="abstract", end_section="abstract", begin=0, end=9, text=t)
                for t in texts
            ),
        )

    thins, held = "Aspirin thins the blood of most adults.", "Statins lower the cholesterol of most."
    both, ulcers = "Aspirin was discovered in the last century.", "Aspirin may cause ulcers of the stomach."
    train = [asked("a", "does aspirin thin blood", thins, both), asked("b", "is aspirin safe", ulcers, both, held)]
    train.append(asked("c", "Is aspirin safe?", thins))
    rows = SCRIPT["shared_rows"](Namespace(train=train, held={normalise(held)}))
    assert {(row["id"], row["sentence"], row["label"]) for row in rows} == {
        ("a", thins, 1.0),
        ("a", both, 1.0),
        ("a", ulcers, 0.0),
        ("b", ulcers, 1.0),
        ("b", both, 1.0),
        ("b", held, 1.0),
        ("b", thins, 0.0),
        ("c", thins, 1.0),
        ("c", both, 0.0),
    }

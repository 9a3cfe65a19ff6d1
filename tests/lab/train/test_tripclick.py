"""The mixtures of the TripClick baselines: BERT_CAT and BERT_DOT are what their papers say, and all five are read."""

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from mpir.lab.train.export import declare
from mpir.lab.train.mixture import read_mixture
from mpir.lab.train.settings import TrainingSettings
from mpir.lab.train.trainer import FineTuner
from mpir.models.late_interaction.late import LateInteraction

MIXTURES = Path(__file__).parents[3] / "experiments/mixtures"
QUESTION, GOOD, BAD = "does aspirin thin blood", "aspirin does thin the blood", "the cell is in a gene"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder as experiments/tripclick/rerank.py makes it: one triple of ids, and TripClick's packaging as lines."""
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents/docs.tsv").write_text(f"17\t<eot> {GOOD}\n18\t<eot> {BAD}\n")
    (tmp_path / "questions.tsv").write_text(f"3\t{QUESTION}\n")
    (tmp_path / "triples.tsv").write_text("3\t17\t18\n")
    rows = [{"id": "3", "question": QUESTION, "sentence": text, "label": float(text is GOOD)} for text in (GOOD, BAD)]
    (tmp_path / "dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def tuner(name: str, checkpoint: Path, data: Path) -> FineTuner:
    path = MIXTURES / f"tripclick-{name}.json"
    settings = TrainingSettings.read(path, {"checkpoint": str(checkpoint), "precision": "fp32", "max_length": 64})
    created = FineTuner(settings, read_mixture(path, data), data / "run", device="cpu")
    created.model.eval()
    return created


def ranknet(scores: list[torch.Tensor]) -> float:
    return float(torch.log1p(torch.exp(scores[1] - scores[0])))


def test_cat_reads_pairs_and_puts_one_output_on_the_pooler(tiny_checkpoint: Path, data: Path) -> None:
    created = tuner("cat", tiny_checkpoint, data)
    tokenizer, model = AutoTokenizer.from_pretrained(tiny_checkpoint), created.model
    with torch.no_grad():
        pooled = [model.bert(**tokenizer(QUESTION, text, return_tensors="pt")).pooler_output[0] for text in (GOOD, BAD)]
        scores = [model.classifier(item)[0] for item in pooled]
    assert float(created._backward(created.batches[0])) == pytest.approx(ranknet(scores), rel=1e-4)
    assert model.classifier.out_features == 1
    assert declare(created.tasks) == [
        {"name": "cat", "kind": "cross-encoder", "output": 0, "scale": "probability", "checkpoint": "model"}
    ]


def test_dot_reads_apart_and_multiplies_the_first_tokens(tiny_checkpoint: Path, data: Path) -> None:
    created = tuner("dot", tiny_checkpoint, data)
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint)
    model = AutoModelForSequenceClassification.from_pretrained(tiny_checkpoint).eval()
    with torch.no_grad():
        question, good, bad = (
            model.bert(**tokenizer([text], return_tensors="pt")).last_hidden_state[0, 0]
            for text in (QUESTION, GOOD, BAD)
        )
    result = float(created._backward(created.batches[0]))
    assert result == pytest.approx(ranknet([question @ good, question @ bad]), rel=1e-3)
    (entry,) = declare(created.tasks)
    assert {key: entry[key] for key in ("kind", "pooling", "similarity", "scale")} == {
        "kind": "bi-encoder",
        "pooling": "cls",
        "similarity": "dot",
        "scale": "logit",
    }


@pytest.mark.parametrize(
    ("name", "form"), [("colbert", "projected"), ("colbert-wide", "wide"), ("convknrm", "words"), ("tk", "words")]
)
def test_the_others_are_late_interactions_in_the_published_forms(data: Path, name: str, form: str) -> None:
    (task,) = read_mixture(MIXTURES / f"tripclick-{name}.json", data)
    assert isinstance(task.pooling, LateInteraction)
    assert task.pooling.form == form
    assert dict(task.losses[0].parameters) == {"temperature": 1.0}
    assert [(file.count, epochs) for file, epochs in task.triples] == [(1, 1)]

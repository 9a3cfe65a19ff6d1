"""Choosing a bi-encoder by a search among a sample of a corpus: nDCG@10 by hand, and which documents there are."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.errors import InputError
from mpir.lab.train.mixture import read_mixture
from mpir.lab.train.retrieval import Retrieval
from mpir.lab.train.settings import TrainingSettings
from mpir.lab.train.trainer import FineTuner


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Twenty documents, two questions, and four judgements, one of them of a document that is not there."""
    documents = [{"id": f"d{i}", "text": f"text {i}"} for i in range(20)]
    (tmp_path / "docs.jsonl").write_text("\n".join(map(json.dumps, documents)))
    (tmp_path / "q.tsv").write_text("a\tdoes aspirin thin blood\nb\tis a gene in a cell\nc\tunjudged\n")
    (tmp_path / "qrels").write_text("a 0 d3 2\na 0 d7 1\na 0 d8 0\nb 0 d5 1\nb 0 gone 1\n")
    return tmp_path


DECLARED = {"questions": "q.tsv", "qrels": "qrels", "corpus": ["docs.jsonl"]}


def test_the_measure_is_ndcg_of_the_nearest_ten(folder: Path) -> None:
    dev = Retrieval.read(DECLARED, folder, "m")
    assert set(dev.queries) == {"a", "b"}
    assert dev.qrels == {"a": {"d3": 2, "d7": 1}, "b": {"d5": 1}}
    texts = {text: name for name, text in dev.documents.items()}

    def vectors(given: list[str]) -> np.ndarray[Any, Any]:
        """Question a is nearest to d7, then d0, then d3; b to documents in the order of their ids, so d5 is no. 17."""
        near = {"d7": 9.0, "d0": 8.0, "d3": 7.0}
        rows = [
            [near.get(texts[item], 0.0), 1.0] if item in texts else [float("aspirin" in item), 1.0] for item in given
        ]
        return np.array(rows)

    result = (1 + 2 / np.log2(4)) / (2 + 1 / np.log2(3))
    assert dev.measure(lambda questions, texts: vectors(questions) @ vectors(texts).T) == pytest.approx(result / 2)


def test_a_sample_has_all_relevant_documents_and_is_always_the_same(folder: Path) -> None:
    complete = Retrieval.read(DECLARED, folder, "m")
    assert len(complete.documents) == 20
    sample = Retrieval.read({**DECLARED, "sample": 8}, folder, "m")
    assert len(sample.documents) == 8
    assert {"d3", "d5", "d7"} <= set(sample.documents)
    assert sample == Retrieval.read({**DECLARED, "sample": 8}, folder, "m")
    few = Retrieval.read({**DECLARED, "sample": 1}, folder, "m")
    assert set(few.documents) == {"d3", "d5", "d7"}
    assert set(few.documents) < set(sample.documents) < set(complete.documents)


def test_gold_documents_of_bioasqs_questions(folder: Path) -> None:
    question = {"id": "a", "body": "does aspirin thin blood", "type": "yesno", "documents": ["http://x/d3"]}
    (folder / "q.json").write_text(json.dumps({"questions": [question]}))
    result = Retrieval.read({"questions": "q.json", "corpus": "docs.jsonl"}, folder, "m")
    assert result.qrels == {"a": {"d3": 1}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"questions": None}, "m: dev is {'qrels': 'qrels', 'corpus'"),
        ({"sample": 0}, "m: dev: sample is 0"),
        ({"depth": 10}, "m: dev is .*'depth': 10"),
        ({"qrels": "none"}, "m: .*no document .*relevant"),
        ({"corpus": ["nowhere.jsonl"]}, r"nowhere\.jsonl: no such"),
        ({"questions": ["q.tsv"]}, r"m: dev: questions is \['q\.tsv'\]"),
        ({"questions": 5}, "m: dev: questions is 5"),
        ({"corpus": 5}, "m: dev: corpus is 5"),
        ({"corpus": ["docs.jsonl", 5]}, "m: dev: corpus is 5"),
        ({"corpus": {"docs.jsonl": 1}}, r"m: dev: corpus is {'docs\.jsonl': 1}"),
        ({"qrels": 5}, "m: dev: qrels is 5"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], message: str, folder: Path) -> None:
    (folder / "none").write_text("a 0 gone 1\n")
    declared = {key: value for key, value in {**DECLARED, **changes}.items() if value is not None}
    with pytest.raises(InputError, match=message):
        Retrieval.read(declared, folder, "m")


def test_training_stops_early_by_it(folder: Path, tiny_checkpoint: Path) -> None:
    """With a learning rate of next to nothing no look at dev is better than the first."""
    (folder / "t.tsv").write_text("does aspirin thin blood\tyes aspirin\tthe cell is in a gene\n" * 40)
    (folder / "many").write_text("".join(f"a 0 d{i} 1\n" for i in range(12)))  # of any ten at least two are relevant
    dev = {**DECLARED, "qrels": "many"}
    dense = {"name": "dense", "losses": ["in-batch"], "dev": dev, "train": [{"triples": "t.tsv"}]}
    (folder / "mixture.json").write_text(json.dumps({"perspectives": [dense]}))
    options = {"learning_rate": 1e-30, "batch_size": 4, "evaluate_every": 2, "patience": 2, "precision": "fp32"}
    settings = TrainingSettings(checkpoint=str(tiny_checkpoint), mini_batch_size=3, **options)
    tuner = FineTuner(settings, read_mixture(folder / "mixture.json"), folder / "run", device="cpu")
    assert tuner.run() == folder / "run/best"
    assert (tuner.counters.step, len(tuner.batches)) == (6, 20)
    looks = [json.loads(line) for line in (folder / "run/log.jsonl").read_text().splitlines() if '"dev"' in line]
    expected = tuner.evaluate()["dense"]
    assert [look["dev"]["dense"] for look in looks] == pytest.approx([expected] * 3)
    assert 0 < expected <= 1


def test_a_cross_encoder_cannot_search(folder: Path) -> None:
    (folder / "t.tsv").write_text("a\tb\tc\n")
    item = {"name": "relevance", "losses": ["bce"], "dev": DECLARED, "train": [{"triples": "t.tsv"}]}
    (folder / "mixture.json").write_text(json.dumps({"perspectives": [item]}))
    with pytest.raises(InputError, match=r"relevance: .*bi-encoder"):
        read_mixture(folder / "mixture.json")

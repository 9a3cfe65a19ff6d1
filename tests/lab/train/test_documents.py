"""Training on whole documents: it learns, an interrupted run ends as an uninterrupted one, its bundle ranks."""

import gzip
import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel

from mpir import Reranker
from mpir.app.cli import main
from mpir.core.text.types import QueryDocument
from mpir.errors import ArtefactError, InputError
from mpir.lab.train.average import average
from mpir.lab.train.document_loss import question_loss
from mpir.lab.train.document_mixture import TrainingDocument, read_document_mixture, read_document_rows
from mpir.lab.train.document_trainer import DocumentTuner
from mpir.lab.train.export import export_bundle
from mpir.lab.train.pretrained import load_encoder, load_model
from mpir.lab.train.settings import TrainingSettings
from mpir.lab.train.shrink import shrink
from mpir.models.documents.document_encoder import DocumentEncoder
from mpir.models.encoder import Encoder
from tests.models.model_makers import add_exits

QUESTION, GOOD, BAD = "does aspirin thin blood", "yes aspirin does thin blood", "the cell is in a gene"


def document(*texts: str, judged: bool = True, taught: bool = True) -> dict[str, Any]:
    gold = [float(text == GOOD) for text in texts]
    teacher = [[4.0 * value - 2.0, value, -value] for value in gold]
    values: dict[str, Any] = {"sentences": list(texts)}
    values |= {"label": int(any(gold)), "gold": gold} if judged else {}
    return values | ({"teacher": teacher} if taught else {})


def question(number: int) -> dict[str, Any]:
    documents = [
        document("aspirin", BAD, GOOD),
        document("the heart", BAD),
        document(GOOD, judged=False),
        document(BAD, BAD),
    ]
    return {"id": f"q{number}", "question": QUESTION, "documents": documents[number % 2 :] + documents[: number % 2]}


@pytest.fixture
def mixture(tmp_path: Path) -> Path:
    for name, count in (("train", 40), ("dev", 4)):
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt", encoding="utf-8") as stream:
            stream.writelines(json.dumps(question(number)) + "\n" for number in range(count))
    declared: dict[str, Any] = {"train": [{"file": "train.jsonl.gz"}], "dev": "dev.jsonl.gz"}
    declared["document_outputs"] = {"whole": "probability"}
    declared |= {"outputs": {"relevance": "probability", "sts": "0-5", "sia": "0-4"}}
    (tmp_path / "mixture.json").write_text(json.dumps({"documents": declared}), encoding="utf-8")
    return tmp_path / "mixture.json"


def tuner(mixture: Path, checkpoint: Path, folder: Path, **options: Any) -> DocumentTuner:
    usual: dict[str, Any] = {"learning_rate": 1e-3, "precision": "fp32", "max_length": 64, "batch_size": 3}
    settings = TrainingSettings(
        checkpoint=str(checkpoint), **{**usual, "evaluate_every": 20, "save_every": 10, **options}
    )
    return DocumentTuner(settings, read_document_mixture(mixture), folder, device="cpu")


def test_it_learns_sentences_and_documents(mixture: Path, tiny_checkpoint: Path, tmp_path: Path) -> None:
    run = tuner(mixture, tiny_checkpoint, tmp_path / "run")
    best = run.run()
    assert run.evaluate() == {"relevance": 1.0, "whole": 1.0}
    lines = [json.loads(line) for line in (tmp_path / "run/log.jsonl").read_text().splitlines()]
    losses = [line["loss"] for line in lines if "loss" in line]
    assert len(losses) == 40
    assert np.mean(losses[-5:]) < np.mean(losses[:5]) / 2
    assert (best / "model.safetensors").is_file()


def test_an_interrupted_run_ends_as_an_uninterrupted_one(
    mixture: Path, tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tuner(mixture, tiny_checkpoint, tmp_path / "whole")
    whole.run()
    original, steps = DocumentTuner.train_step, list[int]()

    def interrupted(self: DocumentTuner) -> float:
        steps.append(self.counters.step)
        if len(steps) == 17:
            raise KeyboardInterrupt
        return original(self)

    monkeypatch.setattr(DocumentTuner, "train_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tuner(mixture, tiny_checkpoint, tmp_path / "parts").run()
    resumed = tuner(mixture, tiny_checkpoint, tmp_path / "parts")
    resumed.run()
    assert steps[17] == 10  # the last saved state
    for name, weights in whole.model.state_dict().items():
        torch.testing.assert_close(weights, resumed.model.state_dict()[name])
    with pytest.raises(ArtefactError, match=r"settings \(seed was 1, .*\b2\)"):
        tuner(mixture, tiny_checkpoint, tmp_path / "parts", seed=2).run()


def test_the_command_makes_a_bundle_that_reads_documents(
    mixture: Path, tiny_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declared = json.loads(mixture.read_text(encoding="utf-8"))["documents"]
    declared |= {"sources": {"BioASQ": "CC BY 2.5"}, "exits": {"1": 0.5}}
    mixture.write_text(json.dumps({"documents": declared}), encoding="utf-8")
    arguments = ["--mixture", str(mixture), "--checkpoint", str(tiny_checkpoint), "--output", str(tmp_path / "run")]
    values = {"max_steps": 30, "learning_rate": 1e-3, "precision": "fp32", "max_length": 64}
    settings = [word for name, value in values.items() for word in ("--set", f"train.{name}={value}")]
    arguments += ["--bundle", str(tmp_path / "bundle"), "--quiet", *settings]
    assert main(["train", *arguments, "--device", "cpu"]) == 0
    assert "whole: " in capsys.readouterr().out
    card = (tmp_path / "bundle/CARD.md").read_text(encoding="utf-8")
    assert re.search(r"Ended on \d{4}-\d\d-\d\d on .+, after \d+\.\d minutes of steps\.", card)
    for layer in (1, 2):
        assert re.search(rf"layer {layer}: whole: MAP on dev [01]\.\d{{4}}\n", card)
    assert "- source: BioASQ, CC BY 2.5\n" in card
    reranker = Reranker(tmp_path / "bundle", device="cpu")
    ranking = reranker.rerank(QUESTION, [f"{BAD}. {BAD}.", f"{BAD}. {GOOD}."])
    assert [perspective.level for perspective in reranker.perspectives] == ["sentence"] * 3 + ["document"]
    assert ranking.documents[0].text.endswith(f"{GOOD}.")


def test_exits_learn_with_the_last_layer_and_reach_the_bundle(
    mixture: Path, tiny_checkpoint: Path, tmp_path: Path
) -> None:
    declared = json.loads(mixture.read_text(encoding="utf-8"))["documents"]
    mixture.write_text(json.dumps({"documents": {**declared, "exits": {"1": 0.5}}}), encoding="utf-8")
    run = tuner(mixture, tiny_checkpoint, tmp_path / "run")
    before = [parameter.clone() for parameter in run.model.exits.parameters()]
    best = run.run()
    assert not any(torch.equal(old, new) for old, new in zip(before, run.model.exits.parameters(), strict=True))
    encoder = DocumentEncoder(Encoder(best, device="cpu", precision="fp32"), depth=1)
    outputs, _ = encoder.document_outputs([QueryDocument(QUESTION, texts) for texts in ((BAD, GOOD), (BAD, BAD))])
    assert outputs[2, 0] > outputs[1, 0] and outputs[0, 3] > outputs[3, 3]
    assert encoder.info.labels == ("relevance", "sts", "sia", "whole")
    resumed = tuner(mixture, tiny_checkpoint, tmp_path / "run")
    resumed.load(best)
    saved, loaded = load_file(best / "model.safetensors"), resumed.model.state_dict()
    assert "exits.1.dense.weight" in saved
    for name, weights in saved.items():
        torch.testing.assert_close(loaded[name], weights)
    average(best, best, tmp_path / "mean")
    same = DocumentEncoder(Encoder(tmp_path / "mean", device="cpu", precision="fp32"), depth=1)
    np.testing.assert_allclose(
        same.document_outputs([QueryDocument(QUESTION, (GOOD,))])[0],
        encoder.document_outputs([QueryDocument(QUESTION, (GOOD,))])[0],
        atol=1e-5,
    )
    entries = read_document_mixture(mixture).entries
    assert {entry["first_exit"] for entry in entries} == {1}
    export_bundle(best, tmp_path / "bundle", entries, name="x", card="x")
    stored = DocumentEncoder(Encoder(tmp_path / "bundle/model", device="cpu", precision="fp32"), depth=1)
    values, _ = stored.document_outputs([QueryDocument(QUESTION, (BAD, GOOD))])
    np.testing.assert_allclose(values, outputs[:3], atol=0.02)


def test_exits_go_with_the_head_or_the_layers_that_they_belong_to(tiny_checkpoint: Path, tmp_path: Path) -> None:
    checkpoint = add_exits(Path(shutil.copytree(tiny_checkpoint, tmp_path / "exits")))
    assert load_model(checkpoint).config.exits == [1]
    _, other = load_encoder(str(checkpoint), 2)  # another number of outputs has an untrained head
    bare = load_model(checkpoint, AutoModel)
    for model in (other, bare):
        assert not model.config.exits and not hasattr(model, "exits")
    shrink(checkpoint, tmp_path / "shrunk", 1)
    values, _ = DocumentEncoder(Encoder(tmp_path / "shrunk", device="cpu")).document_outputs(
        [QueryDocument(QUESTION, (GOOD,))]
    )
    assert values.shape == (2, 3)


@pytest.mark.parametrize("exits", [{"2": 1.0}, {"0": 1.0}, {"one": 1.0}, {"1": 0}, ["1"]])
def test_exits_that_are_no_layers_are_refused(
    mixture: Path, tiny_checkpoint: Path, tmp_path: Path, exits: object
) -> None:
    declared = json.loads(mixture.read_text(encoding="utf-8"))["documents"]
    mixture.write_text(json.dumps({"documents": {**declared, "exits": exits}}), encoding="utf-8")
    with pytest.raises(InputError, match="exits"):
        tuner(mixture, tiny_checkpoint, tmp_path / "run")


def test_a_bundle_teaches_the_rows_that_have_no_teacher(
    mixture: Path, tiny_bundle: Path, tiny_checkpoint: Path, tmp_path: Path
) -> None:
    rows = [question(number) for number in range(3)]
    for row in rows:
        for number, item in enumerate(row["documents"]):
            item["teacher"] = [[9.0, 9.0, 9.0]] * len(item["sentences"]) if number == 1 else None
    (tmp_path / "untaught.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    declared = json.loads(mixture.read_text(encoding="utf-8"))["documents"]
    declared |= {"train": [{"file": "untaught.jsonl"}], "teacher": str(tiny_bundle)}
    mixture.write_text(json.dumps({"documents": declared}), encoding="utf-8")
    run = tuner(mixture, tiny_checkpoint, tmp_path / "run", max_steps=3)
    run.run()
    encoder = Encoder(tiny_bundle / "model", device="cpu", precision="fp32")
    for row in run.mixture.train:
        for number, item in enumerate(row.documents):
            raw, _ = encoder.outputs([(QUESTION, sentence) for sentence in item.sentences])
            np.testing.assert_allclose(item.teacher, raw if number != 1 else np.full_like(raw, 9), atol=1e-5)
    declared |= {"outputs": {"relevance": "probability", "novelty": "0-5", "sia": "0-4"}}
    mixture.write_text(json.dumps({"documents": declared}), encoding="utf-8")
    with pytest.raises(InputError, match=r"'novelty' beside 'relevance' \(got"):
        tuner(mixture, tiny_checkpoint, tmp_path / "other")


def test_documents_learn_from_a_teacher_that_has_read_them() -> None:
    whole = np.array([[1.0, 0.3], [-1.0, 0.1], [5.0, 0.2]])
    outputs = torch.tensor([[9.0, *row] for row in whole])
    targets = [np.array([2.0, np.nan], np.float32), np.array([-2.0, 0.3], np.float32), None]
    documents = [TrainingDocument(sentences=("a",), document_teacher=target) for target in targets]
    spread = {"document_spread": torch.tensor([2.0, 0.1])}
    loss = question_loss(outputs, documents, [0, 0, 0], torch.ones(1), **spread).item()
    student, target = np.array([1.0, -1.0]), np.array([2.0, -2.0])  # in deviations and times 2: as they are
    log = [values - np.log(np.exp(values).sum()) for values in (student, target)]
    relevance = 0.25 + 0.3 * (np.exp(log[1]) * (log[1] - log[0])).sum()
    assert loss == pytest.approx(relevance + 2.0**2, abs=1e-5)  # topic: a list of a single known document


def test_files_take_their_epochs(mixture: Path) -> None:
    declared = json.loads(mixture.read_text(encoding="utf-8"))["documents"]
    declared["train"] = [{"file": "train.jsonl.gz", "epochs": 0.5}, {"file": "dev.jsonl.gz", "epochs": 2.25}]
    mixture.write_text(json.dumps({"documents": declared}), encoding="utf-8")
    read = read_document_mixture(mixture)
    orders = [read.order(random.Random(seed)) for seed in (1, 2)]
    assert [len(order) for order in orders] == [29, 29]
    assert orders[0] != orders[1]
    assert sorted(orders[0].count(number) for number in range(40, 44)) == [2, 2, 2, 3]
    assert len({order for order in orders[0] if order < 40}) == 20


@pytest.mark.parametrize(
    ("name", "outputs"),
    [
        ("documents", ["relevance", "sts", "sia", "document", "topic"]),
        ("documents-teacher", ["relevance", "document"]),
    ],
)
def test_the_recipes_read_their_files(mixture: Path, tmp_path: Path, name: str, outputs: list[str]) -> None:
    recipe = Path(__file__).parents[3] / f"experiments/mixtures/{name}.json"
    declared = json.loads(recipe.read_text(encoding="utf-8"))["documents"]
    rows = [question(number) for number in range(40)]
    for row in rows:
        for item in row["documents"]:
            item["teacher"] = None
    for file in (*(item["file"] for item in declared["train"]), declared["dev"]):
        with gzip.open(tmp_path / file, "wt", encoding="utf-8") as stream:
            stream.writelines(json.dumps(row) + "\n" for row in rows)
    read = read_document_mixture(recipe, tmp_path)
    assert read.names == outputs
    assert [entry["name"] for entry in read.entries if entry.get("level") == "document"] == list(read.document_scales)
    assert len(read.order(random.Random(1))) == sum(round(40 * item["epochs"]) for item in declared["train"])


def test_a_loss_counts_only_known_targets() -> None:
    outputs = torch.tensor([[9.0, 9, 9, 0.5], [1.0, 2, 3, 9], [0.0, 1, 0, 9], [9.0, 9, 9, -0.5], [2.0, 0, 0, 9]])
    taught = TrainingDocument(sentences=("a", "b"), teacher=np.array([[1, 2, 3], [0, 1, 0]], np.float32))
    other = TrainingDocument(sentences=("c", "d"), label=0.0)  # the second is beyond the first window
    unknown = TrainingDocument(sentences=("c",))
    spread, options = torch.ones(3), {"document_spread": torch.ones(1)}
    assert question_loss(outputs, [taught, unknown], [2, 1], spread, **options).item() == pytest.approx(0.0, abs=1e-6)
    assert question_loss(outputs, [taught, other], [2, 1], spread, **options).item() == pytest.approx(0.0, abs=1e-6)
    wrong = TrainingDocument(sentences=("c",), teacher=np.array([[0, 0, 0]], np.float32))
    error = (2.0**2) / 9
    student, target = np.array([1.0, 0, 2]), np.array([1.0, 0, 0])
    log = [values - np.log(np.exp(values).sum()) for values in (student, target)]
    divergence = (np.exp(log[1]) * (log[1] - log[0])).sum()
    whole = [values - np.log(np.exp(values).sum()) for values in (np.array([0.5, -0.5]), np.array([1.0, 0]))]
    documents = (np.exp(whole[1]) * (whole[1] - whole[0])).sum()
    loss = question_loss(outputs, [taught, wrong], [2, 1], spread, **options).item()
    assert loss == pytest.approx(error + 0.3 * divergence + 0.3 * documents, abs=1e-5)
    judged = [TrainingDocument(sentences=("a", "b"), label=1.0, gold=np.array([1, 0], np.float32)), other]
    entropy = (np.log1p(np.exp(-1.0)) + np.log(2.0)) / 2
    binary, listwise = np.log1p(np.exp(-0.5)), np.log1p(np.exp(-1.0))
    loss = question_loss(outputs, judged, [2, 1], spread, **options).item()
    assert loss == pytest.approx(0.3 * entropy + 0.5 * binary + 0.3 * listwise, abs=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": 3}, r"rows\.jsonl:2: .*id \(got 3,"),
        ({"documents": []}, r"rows\.jsonl:2: .*documents \(got \[\],"),
        ({"documents": [{"sentences": []}]}, r"sentences \(got \[\],"),
        ({"documents": [{"sentences": ["a"], "label": 2}]}, r"label \(got 2,"),
        (
            {"documents": [{"sentences": ["a"], "gold": [1, 0]}]},
            r"gold \(got \[1, 0\],",
        ),
        (
            {"documents": [{"sentences": ["a"], "teacher": [[1, 2]]}]},
            r"expected 1 × 3 finite numbers",
        ),
        ({"documents": [{"sentences": ["a"], "teacher": [["x"]]}]}, r"invalid teacher"),
        ({"documents": [{"sentences": ["a"], "teacher": [[1, None, 2]]}]}, r"invalid teacher"),
        ({"documents": [{"sentences": ["a"], "document_teacher": [1]}]}, r"expected 2 finite numbers"),
    ],
)
def test_invalid_rows_are_refused_with_their_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (question(0), {**question(1), **change})))
    with pytest.raises(InputError, match=message):
        read_document_rows(path, 3, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outputs": {}}, r"documents: outputs is \{\}"),
        ({"outputs": {"relevance": "percent"}}, "documents: outputs: relevance"),
        ({"train": [{"file": "train.jsonl.gz", "epochs": 0}]}, r"documents: train: train\.jsonl\.gz: epochs"),
        ({"train": [{"file": "train.jsonl.gz", "epochs": 0.001}]}, r"mixture\.json: documents: train: .*epochs"),
        ({"train": [{"file": "train.jsonl.gz"}] * 2}, r"train\.jsonl\.gz'.*twice"),
        ({"train": [{"triples": "train.tsv"}]}, r"{'triples': 'train\.tsv'} .*no file"),
        ({"document_outputs": {"sts": "probability"}}, "two .*'sts'"),
        ({"document_outputs": {}}, r"documents: document_outputs is \{\}"),
        ({"sources": {"BioASQ": 2.5}}, r"documents: sources .*2\.5"),
        ({"tain": "x"}, "documents: a key"),
        ({"train": None}, "documents: train is missing"),
    ],
)
def test_invalid_mixtures_are_refused(mixture: Path, change: dict[str, Any], message: str) -> None:
    declared = json.loads(mixture.read_text(encoding="utf-8"))
    mixture.write_text(json.dumps({"documents": {**declared["documents"], **change}}), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_document_mixture(mixture)

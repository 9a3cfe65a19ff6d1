"""A checkpoint with exits: a reading that ends after some layers, one that goes on, and what is refused."""

import json
import pickle
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from mpir.core.text.types import QueryDocument
from mpir.errors import ArtefactError, InputError
from mpir.models.bert import exits
from mpir.models.bert.exits import StateCache
from mpir.models.documents.document_encoder import DocumentEncoder
from mpir.models.encoder import Encoder
from mpir.models.tokens.tokenise import TokenSequence
from tests.models.model_makers import add_exits

DOCUMENTS = [
    QueryDocument("does aspirin thin blood", ("aspirin and blood", "yes aspirin does thin the blood .")),
    QueryDocument("risk of heart attack", ("placebo", "the gene is in the cell .", "patients of the trial")),
    QueryDocument("does aspirin thin blood", ("the heart",)),
    QueryDocument(
        "risk of blood", tuple(f"{word} does thin the blood in the trial ." for word in ("aspirin", "no") * 6)
    ),
]


@pytest.fixture
def checkpoint(tiny_checkpoint: Path, tmp_path: Path) -> Path:
    return add_exits(Path(shutil.copytree(tiny_checkpoint, tmp_path / "exits")))


def encoder(checkpoint: Path) -> Encoder:
    return Encoder(checkpoint, device="cpu", precision="fp32")


def make_shallow(checkpoint: Path, folder: Path) -> Path:
    """The first layer with the exit's head as a checkpoint of its own."""
    shutil.copytree(checkpoint, folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    del config["exits"]
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 1}), encoding="utf-8")
    weights = load_file(folder / "model.safetensors")
    heads = {name: weights.pop(name) for name in list(weights) if name.startswith("exits.")}
    for layer, last in (("dense", "bert.pooler.dense"), ("classifier", "classifier")):
        for tensor in ("weight", "bias"):
            weights[f"{last}.{tensor}"] = heads[f"exits.1.{layer}.{tensor}"]
    shallow = {name: value for name, value in weights.items() if ".layer.1." not in name}
    save_file(shallow, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def test_a_reading_may_end_at_an_exit(checkpoint: Path, tmp_path: Path) -> None:
    values, in_windows = DocumentEncoder(encoder(checkpoint), depth=1).document_outputs(DOCUMENTS)
    expected, flags = DocumentEncoder(encoder(make_shallow(checkpoint, tmp_path / "shallow"))).document_outputs(
        DOCUMENTS
    )
    np.testing.assert_allclose(values, expected, atol=1e-6)
    assert in_windows.tolist() == flags.tolist() == [False, False, False, True]


def test_exits_change_nothing_for_a_whole_reading(checkpoint: Path, tiny_checkpoint: Path) -> None:
    values, _ = DocumentEncoder(encoder(checkpoint)).document_outputs(DOCUMENTS)
    expected, _ = DocumentEncoder(encoder(tiny_checkpoint)).document_outputs(DOCUMENTS)
    np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("limit", [2**28, 2_000, 0])
def test_a_deeper_reading_goes_on_from_what_is_kept(
    checkpoint: Path, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exits, "LIMIT", limit)
    full, embedded = DocumentEncoder(encoder(checkpoint), first_exit=1), list[int]()
    expected, _ = full.document_outputs(DOCUMENTS[1:])
    first, deeper = full.at_first_exit()
    shallow, _ = first.document_outputs(DOCUMENTS)
    bert = full.encoder.backend.device_model._unpadded
    embed = type(bert)._embed

    def count(self, sequences, batch):  # type: ignore[no-untyped-def]
        embedded.append(len(sequences))
        return embed(self, sequences, batch)

    monkeypatch.setattr(type(bert), "_embed", count)
    values, _ = deeper.document_outputs(DOCUMENTS[1:])
    np.testing.assert_allclose(values, expected, atol=1e-6)
    assert bool(embedded) == (limit < 2**28)
    plain = DocumentEncoder(encoder(checkpoint), depth=1).document_outputs(DOCUMENTS)[0]
    np.testing.assert_allclose(shallow, plain, atol=1e-6)
    assert (first.identity, deeper.identity) == ({**full.identity, "depth": 1}, full.identity)


def test_kept_states_stay_in_their_process() -> None:
    cache = StateCache(1_000)
    sequence = TokenSequence(np.array([1, 2], np.int32), np.zeros(2, np.int32))
    cache.keep(3, [sequence], torch.ones(2, 4))
    states = cache.find([sequence])
    assert states is not None and states.shape == (2, 4)
    assert pickle.loads(pickle.dumps(cache)).find([sequence]) is None


@pytest.mark.parametrize("exits", [[0], [2], [1, 1], "1", [True], [1.0], {"1": 1}])
def test_exits_that_are_no_layers_are_refused(tiny_checkpoint: Path, tmp_path: Path, exits: object) -> None:
    folder = add_exits(Path(shutil.copytree(tiny_checkpoint, tmp_path / "wrong")), exits)
    with pytest.raises(ArtefactError, match=rf"wrong/config\.json: .*exits \(got {re.escape(repr(exits))}"):
        DocumentEncoder(encoder(folder)).document_outputs(DOCUMENTS)


def test_outputs_without_names_are_refused(checkpoint: Path) -> None:
    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    config["id2label"] = {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}
    (checkpoint / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ArtefactError, match=r"id2label \(.*LABEL_0"):
        DocumentEncoder(encoder(checkpoint)).document_outputs(DOCUMENTS)


@pytest.mark.parametrize("change", ["missing", "shape", "unknown"])
def test_heads_that_do_not_fit_are_refused(checkpoint: Path, change: str) -> None:
    weights = load_file(checkpoint / "model.safetensors")
    if change == "missing":
        del weights["exits.1.dense.bias"]
    elif change == "shape":
        weights["exits.1.classifier.weight"] = torch.zeros(2, 32)
    else:
        weights["exits.7.dense.bias"] = torch.zeros(32)
    save_file(weights, checkpoint / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ArtefactError, match=r"heads .*exits \[1\]:"):
        DocumentEncoder(encoder(checkpoint)).document_outputs(DOCUMENTS)


def test_a_depth_without_an_exit_is_refused(checkpoint: Path, tiny_checkpoint: Path) -> None:
    with pytest.raises(InputError, match=r"depth \(got 3, .*\[1\]"):
        DocumentEncoder(encoder(checkpoint), depth=3)
    with pytest.raises(InputError, match=r"first_exit \(got 1, .*\[\]"):
        DocumentEncoder(encoder(tiny_checkpoint), first_exit=1)

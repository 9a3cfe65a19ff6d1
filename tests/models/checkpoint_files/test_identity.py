"""A checkpoint's identity: every file that its outputs depend on, wherever the folder lies."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from mpir.models.checkpoint_files.identity import identity_of
from mpir.models.encoder import Encoder

PAIRS = [("does aspirin thin blood", "no"), ("heart attack", "the risk of a heart attack is in patients")]


@pytest.fixture
def checkpoint(tiny_checkpoint: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(tiny_checkpoint, tmp_path / "checkpoint"))


def identity(folder: Path) -> dict[str, object]:
    return identity_of(str(folder), None, 64, "float32")


@pytest.mark.parametrize("file", ["model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"])
def test_every_file_that_outputs_depend_on_counts(checkpoint: Path, file: str) -> None:
    before = identity(checkpoint)
    with open(checkpoint / file, "ab") as stream:
        stream.write(b" ")
    assert identity(checkpoint) != before


def test_what_a_model_does_not_read_does_not_count_nor_does_the_place(checkpoint: Path, tmp_path: Path) -> None:
    before = identity(checkpoint)
    (checkpoint / "README.md").write_text("a card")
    checkpoint.rename(tmp_path / "elsewhere")
    assert identity(tmp_path / "elsewhere") == before


def test_a_tokenizer_that_changed_is_another_identity_by_the_files_and_loaded(checkpoint: Path) -> None:
    options = {"device": "cpu", "precision": "fp32"}
    first = Encoder(checkpoint, **options)
    assert first.identity == first.backend.info.identity
    before = first.outputs(PAIRS)[0]
    values = json.loads((checkpoint / "tokenizer.json").read_text())
    vocabulary = values["model"]["vocab"]
    vocabulary["aspirin"], vocabulary["blood"] = vocabulary["blood"], vocabulary["aspirin"]
    (checkpoint / "tokenizer.json").write_text(json.dumps(values))
    changed = Encoder(checkpoint, **options)
    assert changed.identity == changed.backend.info.identity != first.identity
    assert not (changed.outputs(PAIRS)[0] == before).all()  # it does change the scores


def test_weights_in_torchs_format_are_known_by_their_content(checkpoint: Path, tmp_path: Path) -> None:
    encoder = Encoder(checkpoint, device="cpu", precision="fp32")
    torch.save(encoder.backend.model.state_dict(), checkpoint / "pytorch_model.bin")
    (checkpoint / "model.safetensors").unlink()
    result = Encoder(checkpoint, device="cpu", precision="fp32")
    assert (result.outputs(PAIRS)[0] == encoder.outputs(PAIRS)[0]).all()
    second = Path(shutil.copytree(checkpoint, tmp_path / "other"))
    assert Encoder(second, device="cpu", precision="fp32").identity == result.identity
    with open(second / "pytorch_model.bin", "ab") as stream:
        stream.write(b" ")
    assert identity(second) != identity(checkpoint)


def test_without_files_it_is_the_name_and_the_revision() -> None:
    result = identity_of("hub/name", "main", 64, "float32")
    assert result["checkpoint"] == {"name": "hub/name", "revision": "main"}

"""A lazy encoder: known from its files, the same as the encoder it becomes, and no torch until a pair is scored."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mpir.errors import ArtefactError, InputError
from mpir.models.encoder import Encoder
from mpir.models.lazy import LazyEncoder
from mpir.perspectives import open_bundle

RUN = """
import sys
from mpir import Reranker
reranker = Reranker(sys.argv[1], device=sys.argv[2], cache=sys.argv[3])
print(reranker.rerank("does aspirin thin blood", ["Aspirin does. A heart attack is a risk.", "No."]).to_json())
print([name for name in ("torch", "transformers") if name in sys.modules], reranker.cache.hits, reranker.cache.misses)
"""


@pytest.fixture
def checkpoint(tiny_checkpoint: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(tiny_checkpoint, tmp_path / "checkpoint"))


def made(encoder: LazyEncoder) -> bool:
    return "encoder" in vars(encoder)


def test_a_second_run_imports_neither_torch_nor_transformers(tiny_bundle: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", RUN, str(tiny_bundle), "cpu", str(tmp_path)]
    first, second = (
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines() for _ in range(2)
    )
    assert first[0] == second[0]
    assert first[1] == "['torch'] 0 9"
    assert second[1] == "[] 9 0"


@pytest.mark.parametrize("precision", ["auto", "fp32", "bf16"])
@pytest.mark.parametrize("max_length", [None, 40, 10_000])
def test_it_is_what_it_becomes(tiny_checkpoint: Path, precision: str, max_length: int | None) -> None:
    lazy = LazyEncoder(str(tiny_checkpoint), device="cpu", precision=precision, max_length=max_length)
    encoder = Encoder(tiny_checkpoint, device="cpu", precision=precision, max_length=max_length)
    assert (lazy.identity, lazy.outputs_count) == (encoder.identity, encoder.outputs_count)
    assert not made(lazy)


@pytest.mark.parametrize("bundle", ["default", "fast"])
def test_all_encoders_of_a_shipped_bundle_are_what_they_become(bundle: str) -> None:
    for perspective in open_bundle(bundle).perspectives(device="cpu"):
        lazy = perspective.encoder  # type: ignore[attr-defined]
        encoder = Encoder(lazy.checkpoint, device="cpu")
        assert (lazy.identity, lazy.outputs_count) == (encoder.identity, encoder.outputs_count)
        assert not made(lazy)


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("config.json", {"model_type": "roberta"}),
        ("config.json", {"id2label": None}),
        ("tokenizer_config.json", {"model_max_length": None}),
    ],
)
def test_it_is_made_at_once_where_the_files_do_not_say_all(
    checkpoint: Path, file: str, changes: dict[str, object]
) -> None:
    values = json.loads((checkpoint / file).read_text())
    (checkpoint / file).write_text(json.dumps({**values, **changes}))
    assert made(LazyEncoder(str(checkpoint), device="cpu", precision="fp32"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "fp12"}, "precision is 'fp12'; choose from"),
        ({"device": "toaster"}, "device 'toaster' cannot be used"),
        ({"tokens_per_batch": 1}, "tokens_per_batch is 1"),
    ],
)
def test_a_wrong_option_is_refused_at_once(tiny_checkpoint: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LazyEncoder(str(tiny_checkpoint), **{"device": "cpu", "precision": "fp32", **options})  # type: ignore[arg-type]


def test_a_missing_file_is_said_at_once_and_damaged_weights_when_they_are_needed(checkpoint: Path) -> None:
    options = {"device": "cpu", "precision": "fp32"}
    (checkpoint / "model.safetensors").write_bytes(b"damaged")
    lazy = LazyEncoder(str(checkpoint), **options)
    with pytest.raises(ArtefactError, match="cannot be loaded as a sequence-classification checkpoint"):
        lazy.outputs([("does aspirin", "thin blood")])
    (checkpoint / "config.json").unlink()
    with pytest.raises(ArtefactError, match="cannot be loaded as a sequence-classification checkpoint"):
        LazyEncoder(str(checkpoint), **options)

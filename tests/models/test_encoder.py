"""An encoder: its files say what its backend does, which is made later, and no torch until a pair is scored."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from mpir.errors import ArtefactError, InputError
from mpir.models.encoder import Encoder
from mpir.models.options import OverLength
from mpir.models.perspectives import open_bundle

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


def has_backend(encoder: Encoder) -> bool:
    return "backend" in vars(encoder)


@pytest.mark.slow
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
def test_its_files_say_what_its_backend_does(tiny_checkpoint: Path, precision: str, max_length: int | None) -> None:
    for over_length in get_args(OverLength):
        options = {"precision": precision, "max_length": max_length, "over_length": over_length}
        encoder = Encoder(tiny_checkpoint, device="cpu", **options)
        assert encoder.identity == encoder.info.identity
        assert not has_backend(encoder)
        assert encoder.info == encoder.backend.info


@pytest.mark.parametrize("bundle", ["default", "fast"])
def test_the_files_of_a_shipped_bundle_say_what_its_backends_do(bundle: str) -> None:
    perspectives: list[Any] = open_bundle(bundle).perspectives(device="cpu")
    encoders = {perspective.encoder.encoder for perspective in perspectives if hasattr(perspective, "encoder")}
    assert not any(map(has_backend, encoders))
    assert all(encoder.info == encoder.backend.info for encoder in encoders)


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("config.json", {"model_type": "roberta"}),
        ("config.json", {"id2label": None}),
        ("tokenizer_config.json", {"model_max_length": None}),
    ],
)
def test_a_backend_is_made_at_once_where_the_files_do_not_say_all(
    checkpoint: Path, file: str, changes: dict[str, object]
) -> None:
    values = json.loads((checkpoint / file).read_text())
    (checkpoint / file).write_text(json.dumps({**values, **changes}))
    assert has_backend(Encoder(checkpoint, device="cpu", precision="fp32"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "fp12"}, "precision is 'fp12'"),
        ({"device": "toaster"}, "'toaster' .*no such kind"),
        ({"tokens_per_batch": 1}, "tokens_per_batch is 1"),
    ],
)
def test_a_wrong_option_is_refused_at_once(tiny_checkpoint: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Encoder(tiny_checkpoint, **{"device": "cpu", "precision": "fp32", **options})  # type: ignore[arg-type]


def test_a_missing_file_is_said_at_once_and_damaged_weights_when_they_are_needed(checkpoint: Path) -> None:
    (checkpoint / "model.safetensors").write_bytes(b"damaged")
    encoder = Encoder(checkpoint, device="cpu", precision="fp32")
    with pytest.raises(ArtefactError, match=r"/checkpoint: .*sequence-classification checkpoint"):
        encoder.outputs([("does aspirin", "thin blood")])
    (checkpoint / "config.json").unlink()
    with pytest.raises(ArtefactError, match=r"/checkpoint: .*sequence-classification checkpoint"):
        Encoder(checkpoint, device="cpu", precision="fp32")

"""A smaller encoder is made of the shipped one, and whatever is missing is said in a sentence."""

import json
import re
from pathlib import Path

import pytest

from mpir.models.encoder import Encoder
from tests.experiments.conftest import ROOT, RunScript

SCRIPT, SHIPPED = "experiments/training/smaller_encoder.py", ROOT / "mpir/bundles/default/model"


def test_layers_and_tokens_of_the_default(run_script: RunScript, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"id": "q", "question": "Is it safe?", "sentence": "It is safe.", "label": 4}) + "\n")
    output = tmp_path / "small"
    sizes = ["--layers", "3", "--tokens", "4096"]
    texts = ["--corpus", ROOT / "mpir/sample/documents.jsonl", "--rows", rows]
    finished = run_script(SCRIPT, SHIPPED, *sizes, *texts, "--output", output)
    assert finished.returncode == 0
    assert re.fullmatch(r".*: layers 2, 4, 6; 4096 tokens, 9\d\.\d% of those in the texts\n", finished.stdout)
    assert Encoder(output, device="cpu").outputs([("Is it safe?", "It is safe.")])[0].shape == (1, 3)
    assert (output / "model.safetensors").stat().st_size < 32e6  # in single precision; the whole has 91 MB


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "no texts to count tokens in"),
        (["--corpus", "nowhere.jsonl"], "nowhere.jsonl"),
        (["--corpus", ROOT / "mpir/sample/documents.jsonl", "--tokens", "40000"], "30522 tokens 40000 cannot be kept"),
        (["--corpus", ROOT / "mpir/sample/documents.jsonl", "--layers", "6"], "has 6 layers, so 6 cannot be kept"),
    ],
)
def test_bad_input(run_script: RunScript, tmp_path: Path, options: list[object], words: str) -> None:
    finished = run_script(
        SCRIPT, SHIPPED, "--layers", "3", "--tokens", "4096", *options, "--output", tmp_path / "small"
    )
    assert finished.returncode == 2
    assert words in finished.stderr.splitlines()[-1]
    assert not (tmp_path / "small").exists()

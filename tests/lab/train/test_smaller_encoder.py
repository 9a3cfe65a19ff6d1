"""A smaller encoder is made of the shipped one, and whatever is missing is said in a sentence."""

import json
import re
from pathlib import Path

import pytest

from mpir.app.cli import main
from mpir.models.encoder import Encoder

ROOT = Path(__file__).parents[3]
SHIPPED = ROOT / "mpir/bundles/default/model"


def shrink(*options: object) -> int:
    return main(["train", "shrink", *map(str, [SHIPPED, *options])])


def test_layers_and_tokens_of_the_default(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"id": "q", "question": "Is it safe?", "sentence": "It is safe.", "label": 4}) + "\n")
    output = tmp_path / "small"
    sizes = ["--layers", "3", "--tokens", "4096"]
    texts = ["--corpus", ROOT / "mpir/sample/documents.jsonl", "--rows", rows]
    assert shrink(*sizes, *texts, "--output", output) == 0
    assert re.fullmatch(r".*: layers 2, 4, 6; 4096 tokens, 9\d\.\d% of those in the texts\n", capsys.readouterr().out)
    assert Encoder(output, device="cpu").outputs([("Is it safe?", "It is safe.")])[0].shape == (1, 5)
    assert (output / "model.safetensors").stat().st_size < 32e6  # in single precision; the whole has 91 MB


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "no texts to count tokens in"),
        (["--corpus", "nowhere.jsonl"], "nowhere.jsonl"),
        (["--corpus", ROOT / "mpir/sample/documents.jsonl", "--tokens", "40000"], "cannot keep 40000 of its 30522"),
        (["--corpus", ROOT / "mpir/sample/documents.jsonl", "--layers", "6"], "has 6 layers, so 6 cannot be kept"),
    ],
)
def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[object], words: str) -> None:
    assert shrink("--layers", "3", "--tokens", "4096", *options, "--output", tmp_path / "small") == 2
    assert words in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "small").exists()

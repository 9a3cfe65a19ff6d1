"""A damaged causal checkpoint is refused in one sentence when a writer is made, not after hours of work."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from mpir.errors import ArtefactError
from mpir.lab.sia.writer import Writer

from .test_writer import PAIRS, make_gpt2

CONFIG, TOKENIZER, OPTIONS, WEIGHTS = "config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"
GENERATION = "generation_config.json"
MATRIX = "transformer.h.0.attn.c_attn.weight"
Damage = Callable[[Path], None]


def content(name: str, data: bytes) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).write_bytes(data)

    return damage


def values(name: str, **changes: Any) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / name
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return damage


def weights(change: Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]]) -> Damage:
    def damage(folder: Path) -> None:
        save_file(change(load_file(folder / WEIGHTS)), folder / WEIGHTS, {"format": "pt"})

    return damage


def vocabulary(change: Callable[[dict[str, int]], dict[str, int]]) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / TOKENIZER
        rules = json.loads(path.read_text())
        rules["model"]["vocab"] = change(rules["model"]["vocab"])
        path.write_text(json.dumps(rules))

    return damage


DAMAGES: dict[str, Damage] = {
    **{f"{name} is empty": content(name, b"") for name in (CONFIG, TOKENIZER, OPTIONS, WEIGHTS)},
    **{f"{name} is a list": content(name, b"[1]") for name in (CONFIG, TOKENIZER, OPTIONS, WEIGHTS)},
    **{f"{name} is garbage": content(name, b"\xff\x00garbage") for name in (CONFIG, TOKENIZER, OPTIONS, WEIGHTS)},
    "an encoder's type": values(CONFIG, model_type="vit"),
    "no heads": values(CONFIG, n_head=0),
    "another width": values(CONFIG, n_embd=50),
    "an unknown input": values(OPTIONS, model_input_names=["unknown"]),
    "a text as length": values(OPTIONS, model_max_length="long"),
    "numbers without vectors": vocabulary(lambda numbers: {token: 10**6 + i for token, i in numbers.items()}),
    "no tokens": vocabulary(lambda _: {}),
    "NaN": weights(lambda tensors: {**tensors, MATRIX: tensors[MATRIX] * float("nan")}),
    "a missing matrix": weights(lambda tensors: {name: tensors[name] for name in tensors if name != MATRIX}),
    "another shape": weights(lambda tensors: {**tensors, MATRIX: torch.zeros(3, 3)}),
    "decoding by code of a hub": values(GENERATION, dola_layers="high"),
    "decoding of one text at a time": values(GENERATION, prompt_lookup_num_tokens=3),
    "bad words that are a number": values(GENERATION, bad_words_ids=5),
    "an end token that is a text": values(GENERATION, eos_token_id="end"),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(make_gpt2(tmp_path_factory.mktemp("gpt2"), " ".join(text for pair in PAIRS for text in pair)))


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_checkpoint_makes_no_writer(name: str, whole: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(whole, tmp_path / "damaged"))
    DAMAGES[name](folder)
    with pytest.raises(ArtefactError) as raised:
        Writer(folder, "query", device="cpu")
    message = str(raised.value)
    assert message.startswith(str(folder)) and message.endswith(".") and "\n" not in message and len(message) < 700


def test_one_token_without_a_vector_is_named_when_it_occurs(whole: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(whole, tmp_path / "damaged"))
    vocabulary(lambda numbers: {**numbers, "insulin": 10**6})(folder)
    writer = Writer(folder, "query", device="cpu")
    with pytest.raises(ArtefactError, match=r"token id 1000000, .*\d+ embeddings"):
        writer.loss(PAIRS)


def test_trying_a_writer_out_changes_no_random_numbers(whole: Path) -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    Writer(whole, "query", device="cpu")
    assert torch.equal(torch.rand(2), expected)

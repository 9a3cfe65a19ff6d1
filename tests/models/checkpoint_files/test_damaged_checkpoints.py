"""A damaged checkpoint gives one sentence with its folder and a remedy, whatever the libraries raise that read it."""

import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from mpir.errors import ArtefactError, MpirError
from mpir.lab.train.pretrained import load_encoder
from mpir.models.checkpoint_files.checkpoint_checks import check_sizes, check_tensors
from mpir.models.encoder import Encoder
from mpir.models.loading.pretrained import checkpoint_errors

CONFIG, TOKENIZER, OPTIONS, WEIGHTS = "config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"
QUERY, MATRIX = "bert.encoder.layer.0.attention.self.query.weight", "bert.encoder.layer.1.output.dense.weight"
WIDE = "bert.encoder.layer.0.intermediate.dense.weight"
Damage = Callable[[Path], None]


def content(name: str, *parts: bytes) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).write_bytes(b"".join(parts))

    return damage


def truncated(name: str) -> Damage:
    def damage(folder: Path) -> None:
        complete = (folder / name).read_bytes()
        (folder / name).write_bytes(complete[: len(complete) // 2])

    return damage


def zeroed(name: str) -> Damage:
    return lambda folder: content(name, bytes((folder / name).stat().st_size))(folder)


def absent(name: str) -> Damage:
    return lambda folder: (folder / name).unlink()


def values(name: str, **changes: Any) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).write_text(json.dumps({**json.loads((folder / name).read_text()), **changes}))

    return damage


def weights(change: Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]]) -> Damage:
    return lambda folder: save_file(change(load_file(folder / WEIGHTS)), folder / WEIGHTS, {"format": "pt"})


def tensor(name: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Damage:
    return weights(lambda tensors: {**tensors, name: change(tensors[name]).contiguous()})


def filled(value: float) -> Damage:
    def fill(matrix: torch.Tensor) -> torch.Tensor:
        matrix[1, 1] = value
        return matrix

    return tensor(MATRIX, fill)


def tokenizer(change: Callable[[dict[str, Any]], Any]) -> Damage:
    def damage(folder: Path) -> None:
        rules = json.loads((folder / TOKENIZER).read_text())
        change(rules)
        (folder / TOKENIZER).write_text(json.dumps(rules))

    return damage


FILES: dict[str, Callable[[str], Damage]] = {
    "absent": absent,
    "truncated": truncated,
    "empty": content,
    "zeroed": zeroed,
    "garbage": lambda name: content(name, b"\xff\x00\x93garbage" * 30),
    "a list": lambda name: content(name, b'[{"a": 1}]'),
    "null": lambda name: content(name, b"null"),
    "nested deeply": lambda name: content(name, b'{"a":' * 100_000),
}
SIZES: dict[str, tuple[Any, ...]] = {
    "hidden_size": (0, -1, 33, 10**6, 10**30, 1.5, "many", None, float("inf")),
    "num_hidden_layers": (0, 1, 3, 120, 999, 9999, 10**9, 10**30, 1.5, [2]),
    "num_attention_heads": (-1, 0, 7, 10**9, float("inf")),
    "intermediate_size": (7, 10**30),
    "vocab_size": (7, 10**12, None),
    "max_position_embeddings": (-1, 7, 10**30),
    "type_vocab_size": (7,),
}


def replaced(text: str, content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": text}, "content": content}


DOUBLED = {"type": "Sequence", "normalizers": [replaced("a", "aa")] * 40}
MAPPED = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(bytes(4) + b"a" * 10_000 + b"\0").decode()}
DAMAGES: dict[str, Damage] = {
    **{f"{name} is {damage}": make(name) for name in (CONFIG, TOKENIZER, WEIGHTS) for damage, make in FILES.items()},
    **{f"{OPTIONS} is {damage}": make(OPTIONS) for damage, make in FILES.items() if damage != "absent"},
    **{f"{name} is {size!r}": values(CONFIG, **{name: size}) for name, sizes in SIZES.items() for size in sizes},
    **{f"model_type is {value!r}": values(CONFIG, model_type=value) for value in ("unknown", None, 3, ["bert"], {})},
    **{f"hidden_act is {value!r}": values(CONFIG, hidden_act=value) for value in ("unknown", 3, None)},
    **{f"layer_norm_eps is {value!r}": values(CONFIG, layer_norm_eps=value) for value in ("x", None, float("nan"))},
    **{f"id2label is {value!r}": values(CONFIG, id2label=value) for value in ([], "abc", 3, {"a": "b"})},
    "num_labels is absurd": values(CONFIG, num_labels=10**12),
    "tokenizer_class is a number": values(OPTIONS, tokenizer_class=3),
    "pad_token is a number": values(OPTIONS, pad_token=3),
    "the vocabulary is a list": tokenizer(lambda rules: rules["model"].update(vocab=[1, 2])),
    "a token has text for its number": tokenizer(lambda rules: rules["model"]["vocab"].update(aspirin="b")),
    "a token has a negative number": tokenizer(lambda rules: rules["model"]["vocab"].update(aspirin=-1)),
    "the tokenizer is of an unknown type": tokenizer(lambda rules: rules["model"].update(type="Unknown")),
    "the tokenizer has no model": tokenizer(lambda rules: rules.pop("model")),
    "added tokens are text": tokenizer(lambda rules: rules.update(added_tokens="x")),
    "the post-processor is incomplete": tokenizer(
        lambda rules: rules.update(post_processor={"type": "BertProcessing"})
    ),
    "the normaliser multiplies": tokenizer(lambda rules: rules.update(normalizer=DOUBLED)),
    "the normaliser repeats a letter": tokenizer(lambda rules: rules.update(normalizer=replaced("a", "a" * 1_000))),
    "the normaliser fills gaps": tokenizer(
        lambda rules: rules.update(normalizer={"type": "Replace", "pattern": {"Regex": "b*"}, "content": "a" * 100})
    ),
    "the normaliser maps a character to a text": tokenizer(lambda rules: rules.update(normalizer=MAPPED)),
    "the post-processor repeats the text": tokenizer(
        lambda rules: rules["post_processor"].update(single=[{"Sequence": {"id": "A", "type_id": 0}}] * 1_000)
    ),
    "a matrix is missing": weights(lambda tensors: {name: tensors[name] for name in tensors if name != QUERY}),
    "all tensors are missing": weights(lambda tensors: {"x": torch.zeros(1)}),
    "a matrix is too small": tensor(QUERY, lambda matrix: matrix[:5]),
    "a matrix is transposed": tensor(WIDE, lambda matrix: matrix.T),
    "a matrix is a number": tensor(QUERY, lambda matrix: matrix[0, 0]),
    "a matrix is empty": tensor(QUERY, lambda matrix: matrix[:0]),
    "word vectors are missing": tensor("bert.embeddings.word_embeddings.weight", lambda matrix: matrix[:9]),
    "a matrix has integers": tensor(QUERY, lambda matrix: matrix.to(torch.int64)),
    "a matrix has bytes": tensor(QUERY, lambda matrix: matrix.to(torch.int8)),
    "a matrix has booleans": tensor(QUERY, lambda matrix: matrix > 0),
    "a matrix has complex numbers": tensor(QUERY, lambda matrix: matrix.to(torch.complex64)),
    "a weight is NaN": filled(float("nan")),
    "a weight is infinite": filled(float("inf")),
    "a weight is minus infinity": filled(float("-inf")),
    "the header has an absurd size": content(WEIGHTS, (2**60).to_bytes(8, "little"), b"{}"),
    "the header is garbage": content(WEIGHTS, (50).to_bytes(8, "little"), b"\xff" * 500),
    "the header is empty": content(WEIGHTS, (2).to_bytes(8, "little"), b"{}"),
}
LATE_DAMAGES: dict[str, Damage] = {
    **{f"model_max_length is {value!r}": values(OPTIONS, model_max_length=value) for value in (0, -1, "x", [], 3)},
    "the vocabulary is empty": tokenizer(lambda rules: rules["model"].update(vocab={})),
    "a token has no vector": tokenizer(lambda rules: rules["model"]["vocab"].update(aspirin=10**6)),
    "the post-processor names unknown tokens": tokenizer(
        lambda rules: rules.update(post_processor={"type": "BertProcessing", "sep": ["a", 999], "cls": ["b", 998]})
    ),
}
"""Damage that is noticed when the first text is read, and not by training's loader."""


def cross_encoder(folder: Path) -> Any:
    encoder = Encoder(folder, device="cpu", precision="fp32")
    return encoder.outputs([("does aspirin thin blood", "heart attack . gene")])[0]


def bi_encoder(folder: Path) -> Any:
    return Encoder(folder, device="cpu", precision="fp32").vectors(["does aspirin thin blood"])[0]


def training(folder: Path) -> Any:
    return load_encoder(str(folder), 1)[1]


@pytest.fixture(params=["gelu", "relu"])
def checkpoint(request: pytest.FixtureRequest, tiny_checkpoint: Path, tmp_path: Path) -> Path:
    """A copy that mpir reads by itself, or one that it leaves to transformers."""
    folder = Path(shutil.copytree(tiny_checkpoint, tmp_path / "damaged"))
    values(CONFIG, hidden_act=request.param)(folder)
    return folder


def check_refused(load: Callable[[Path], Any], folder: Path) -> None:
    """The error is one sentence or two on one line, of bounded length, that begin with the folder."""
    with pytest.raises(MpirError) as caught:
        load(folder)
    message = str(caught.value)
    assert message.startswith(str(folder)), message
    assert message.endswith("."), message
    assert "\n" not in message
    assert len(message) < 700, message


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_one_sentence(damage: str, checkpoint: Path) -> None:
    DAMAGES[damage](checkpoint)
    for load in (cross_encoder, bi_encoder) if damage.startswith("id2label") else (cross_encoder, bi_encoder, training):
        check_refused(load, checkpoint)


@pytest.mark.parametrize("damage", LATE_DAMAGES)
def test_damage_that_the_first_text_meets_is_one_sentence(damage: str, checkpoint: Path) -> None:
    LATE_DAMAGES[damage](checkpoint)
    for load in (cross_encoder, bi_encoder):
        check_refused(load, checkpoint)


def test_an_undamaged_checkpoint_loads(checkpoint: Path) -> None:
    assert cross_encoder(checkpoint).shape == (1, 3)
    assert bi_encoder(checkpoint).shape == (1, 32)
    assert training(checkpoint).config.num_labels == 1


def test_quantised_weights_are_not_called_damaged(checkpoint: Path) -> None:
    tensor(QUERY, lambda matrix: matrix.to(torch.int8))(checkpoint)
    with pytest.raises(ArtefactError, match=r"quantised weights .any"):
        check_tensors(checkpoint, {"quantization_config": {"quant_method": "any"}})
    with pytest.raises(ArtefactError, match=r"query\.weight' .*format I8"):
        check_tensors(checkpoint, {})


def test_a_panic_of_a_library_is_an_error_of_the_checkpoint() -> None:
    class PanicException(BaseException):  # named as that of libraries in Rust, which is no Exception
        pass

    message = r"folder: .*encoder .*\(PanicException: x\)"
    with pytest.raises(ArtefactError, match=message), checkpoint_errors("folder"):
        raise PanicException("x")
    with pytest.raises(KeyboardInterrupt), checkpoint_errors("folder"):
        raise KeyboardInterrupt


def test_sizes_of_a_configuration_inside_another_are_checked() -> None:
    check_sizes({"text_config": {"hidden_size": 64}, "id2label": {"0": "a"}}, "folder")
    with pytest.raises(ArtefactError, match=r"^folder/config\.json: .*num_hidden_layers .*\b1000000000\b"):
        check_sizes({"text_config": {"num_hidden_layers": 10**9}}, "folder")

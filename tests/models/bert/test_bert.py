"""A BERT classifier without transformers: the same scores and tokens bit by bit, and only where that is sure."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, normalizers
from transformers import AutoTokenizer, BertTokenizer

from mpir.models.bert.checkpoint import open_bert
from mpir.models.bert.tokenizer import FastTokenizer, open_tokenizer
from mpir.models.bundles.bundle import SHIPPED
from mpir.models.encoder import Encoder
from mpir.models.tokens.single_texts import Frame, find_frame, read_single
from mpir.models.tokens.tokenise import find_template

PAIRS = [
    ("does aspirin thin blood", "yes aspirin does thin the blood ."),
    ("Which gene is mutated in cystic fibrosis?", "Naïve β-cells (IL-2), 5% [SEP] 中文 x\u200by."),
    ("risk of heart attack", ""),
    ("does aspirin thin blood", "the heart and the blood of patients in a trial . " * 20),
]
DEFAULT = SHIPPED / "default/model"


def by_transformers(checkpoint: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Encoder:
    with monkeypatch.context() as patch:
        patch.setattr("mpir.models.loading.checkpoint.open_bert", lambda _: None)
        encoder = Encoder(checkpoint, device="cpu", **options)
        backend = encoder.backend
    assert backend.model.__class__.__module__.startswith("transformers")
    return encoder


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("default", [False, True])
def test_scores_are_those_by_transformers_to_the_last_bit(
    tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch, default: bool, precision: str
) -> None:
    checkpoint = DEFAULT if default else tiny_checkpoint
    own_value, second = (make(checkpoint) for make in (
        lambda path: Encoder(path, device="cpu", precision=precision),
        lambda path: by_transformers(path, monkeypatch, precision=precision),
    ))  # fmt: skip
    assert type(own_value.backend.model).__name__ == "Bert"
    for result, expected in zip(own_value.outputs(PAIRS), second.outputs(PAIRS), strict=True):
        assert result.tobytes() == expected.tobytes()
    texts = [text for pair in PAIRS for text in pair]
    for result, expected in zip(own_value.vectors(texts), second.vectors(texts), strict=True):
        assert result.tobytes() == expected.tobytes()
    assert own_value.backend.info == second.backend.info


def test_the_vectors_of_a_bare_encoder_are_those_by_transformers(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    checkpoint, texts = SHIPPED / "default/encoder", [text for pair in PAIRS for text in pair]
    own_value, second = Encoder(checkpoint, device="cpu"), by_transformers(checkpoint, monkeypatch)
    assert type(own_value.backend.model).__name__ == "Bert"
    for vector, expected in zip(own_value.vectors(texts), second.vectors(texts), strict=True):
        assert vector.tobytes() == expected.tobytes()
    assert own_value.identity == second.identity
    assert "MISSING" not in "".join(capfd.readouterr())


@pytest.mark.slow
def test_a_run_with_a_bert_bundle_imports_no_transformers(tiny_bundle: Path) -> None:
    code = (
        "import sys; from mpir import Reranker; "
        "Reranker(sys.argv[1], device='cpu').rerank('does aspirin', ['thin blood']); "
        "print([name for name in ('torch', 'transformers') if name in sys.modules])"
    )
    command = [sys.executable, "-c", code, str(tiny_bundle)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "['torch']\n"


@given(st.text(max_size=40), st.text(max_size=40))
def test_tokens_of_any_texts_are_those_by_transformers(one: str, other: str) -> None:
    own_value, theirs = TOKENIZERS
    for texts in ([[one], [other]], [[one, other]]):
        for special in (True, False):
            result, expected = (each(*texts, add_special_tokens=special) for each in (own_value, theirs))
            assert result["input_ids"] == expected["input_ids"]
            assert result["token_type_ids"] == expected["token_type_ids"]
    result, expected = (read_single(each, 16, [one, other], spans=True) for each in (own_value, theirs))
    assert result.pair_of.tolist() == expected.pair_of.tolist()
    assert [ids.tolist() for ids in result.ids] == [ids.tolist() for ids in expected.ids]
    assert [where.tolist() for where in result.spans] == [where.tolist() for where in expected.spans]


def default_tokenizers() -> tuple[FastTokenizer, Any]:
    own_value = open_tokenizer(DEFAULT)
    assert own_value is not None
    return own_value, AutoTokenizer.from_pretrained(DEFAULT)


TOKENIZERS = default_tokenizers()


def test_its_template_is_that_by_transformers() -> None:
    assert find_template(TOKENIZERS[0]) == find_template(TOKENIZERS[1]) is not None
    own_value, theirs = TOKENIZERS
    for name in ("pad_token_id", "unk_token_id", "mask_token_id", "model_max_length", "is_fast"):
        assert getattr(own_value, name) == getattr(theirs, name)
    assert find_frame(own_value) == find_frame(theirs) == Frame([101], [102])
    words = ["aspirin", "[MASK]", "no token at all"]
    assert own_value.convert_tokens_to_ids(words) == theirs.convert_tokens_to_ids(words)
    assert own_value.convert_ids_to_tokens(4321) == theirs.convert_ids_to_tokens(4321)


@pytest.fixture
def wordpiece_checkpoint(tiny_checkpoint: Path, tmp_path: Path) -> Path:
    """The tiny model with a tokenizer of BERT's own class."""
    folder = Path(shutil.copytree(tiny_checkpoint, tmp_path / "checkpoint"))
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "aspirin", "thin", "blood", "##s", "naive", "naïve"]
    BertTokenizer({word: i for i, word in enumerate(words)}, model_max_length=64).save_pretrained(folder)
    assert open_bert(str(folder)) is not None
    return folder


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")


def add_a_weight(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["classifier.more"] = torch.zeros(1)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def other_rules(folder: Path) -> None:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.save(str(folder / "tokenizer.json"))


UNUSUAL: dict[str, Callable[[Path], Any]] = {
    "case": lambda folder: edit(folder / "tokenizer_config.json", do_lower_case=False),
    "accents": lambda folder: edit(folder / "tokenizer_config.json", strip_accents=False),
    "rules": other_rules,
    "added tokens": lambda folder: edit(folder / "tokenizer_config.json", extra_special_tokens=["thin"]),
    "special tokens": lambda folder: (folder / "special_tokens_map.json").write_text('{"unk_token": "[PAD]"}'),
    "side": lambda folder: edit(folder / "tokenizer_config.json", truncation_side="left"),
    "activation": lambda folder: edit(folder / "config.json", hidden_act="relu"),
    "more weights": add_a_weight,
}


@pytest.mark.parametrize("what", UNUSUAL)
def test_what_is_unusual_is_left_to_transformers(
    wordpiece_checkpoint: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    UNUSUAL[what](wordpiece_checkpoint)
    pairs = [("Aspirin naïve", "thin bloods Naïve aspirin"), ("aspirin", "thin " * 80)]
    own_value = Encoder(wordpiece_checkpoint, device="cpu", precision="fp32")
    assert own_value.backend.model.__class__.__module__.startswith("transformers")
    expected, _ = by_transformers(wordpiece_checkpoint, monkeypatch, precision="fp32").outputs(pairs)
    assert own_value.outputs(pairs)[0].tobytes() == expected.tobytes()


def test_bert_tokenizers_of_their_own_class_are_read(
    wordpiece_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [("Aspirin naïve", "thin bloods Naïve aspirin"), ("aspirin", "thin " * 80)]
    own_value = Encoder(wordpiece_checkpoint, device="cpu", precision="fp32")
    assert type(own_value.backend.model).__name__ == "Bert"
    expected, _ = by_transformers(wordpiece_checkpoint, monkeypatch, precision="fp32").outputs(pairs)
    assert own_value.outputs(pairs)[0].tobytes() == expected.tobytes()

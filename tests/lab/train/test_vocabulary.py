"""A checkpoint with fewer tokens: those kept mean what they meant, and every word of the texts can be spelt."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    BertModel,
)

from mpir.errors import ArtefactError, InputError
from mpir.lab.train.shrink import keep_tokens
from mpir.models.bert.tokenizer import open_tokenizer
from mpir.models.encoder import Encoder

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = [*"abcdefg", *(f"##{c}" for c in "abcdefg"), "abc", "bead", "##cab", "fade", "face", "cafe", "gag", "##ged"]
OPTIONS = {
    "tokenizer_class": "BertTokenizer",
    "do_lower_case": True,
    "model_max_length": 64,
    **dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True)),
}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random BERT that reads WordPiece."""
    folder = tmp_path_factory.mktemp("whole")
    vocabulary = {token: number for number, token in enumerate([*SPECIAL, *PIECES])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(OPTIONS), encoding="utf-8")
    torch.manual_seed(0)
    size = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32, "num_hidden_layers": 1}
    config = BertConfig(vocab_size=len(vocabulary), num_labels=2, initializer_range=0.2, **size)
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


TEXTS = ["abc face", "face a bead", "fade"]


def test_the_most_frequent_tokens_and_all_characters_stay(checkpoint: Path, tmp_path: Path) -> None:
    # Characters of the texts: a to f, each alone and within a word; then face, twice there, and one of the others.
    share = keep_tokens(checkpoint, tmp_path / "small", TEXTS, 5 + 12 + 2)
    retained = json.loads((tmp_path / "small" / "tokenizer.json").read_text())["model"]["vocab"]
    assert set(retained) == {*SPECIAL, *"abcdef", *(f"##{c}" for c in "abcdef"), "face", "abc"}
    assert share == 4 / 6  # abc, face twice and a, of six tokens


def test_what_is_kept_is_read_as_before(checkpoint: Path, tmp_path: Path) -> None:
    keep_tokens(checkpoint, tmp_path / "small", TEXTS, 21)
    pairs = [("abc face", "face a bead"), ("fade", "a b c")]
    before, after = (Encoder(folder, device="cpu").outputs(pairs)[0] for folder in (checkpoint, tmp_path / "small"))
    assert torch.equal(torch.as_tensor(before), torch.as_tensor(after))
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "small")
    assert model.config.vocab_size == model.base_model.embeddings.word_embeddings.num_embeddings == 21


def test_a_word_that_is_gone_is_spelt(checkpoint: Path, tmp_path: Path) -> None:
    keep_tokens(checkpoint, tmp_path / "small", TEXTS, 18)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "small")
    assert tokenizer.tokenize("bead face gag") == ["b", "##e", "##a", "##d", "face", "[UNK]"]


@given(st.lists(st.text("abcdefg ", max_size=12), max_size=4))
def test_both_readers_read_the_same(
    checkpoint: Path, tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    small = tmp_path_factory.getbasetemp() / "read"
    if not small.exists():
        keep_tokens(checkpoint, small, TEXTS, 18)
    fast = open_tokenizer(small)
    assert fast is not None
    slow = AutoTokenizer.from_pretrained(small)
    for text in texts:
        assert fast([text])["input_ids"][0] == slow(text)["input_ids"]


def test_a_bare_encoder_gets_no_outputs(checkpoint: Path, tmp_path: Path) -> None:
    shutil.copytree(checkpoint, tmp_path / "bare")
    BertModel.from_pretrained(checkpoint).save_pretrained(tmp_path / "bare")
    keep_tokens(tmp_path / "bare", tmp_path / "small", TEXTS, 18)
    names = load_file(tmp_path / "small" / "model.safetensors")
    assert names["embeddings.word_embeddings.weight"].shape == (18, 16)
    assert not any("classifier" in name for name in names)


def test_a_checkpoint_without_weights_or_with_tokens_of_its_own_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    shutil.copytree(checkpoint, tmp_path / "odd")
    (tmp_path / "odd" / "model.safetensors").unlink()
    with pytest.raises(ArtefactError, match="odd: cannot be"):
        keep_tokens(tmp_path / "odd", tmp_path / "small", TEXTS, 18)
    (tmp_path / "odd" / "tokenizer_config.json").write_text(json.dumps(OPTIONS | {"pad_token": "[NONE]"}))
    with pytest.raises(ArtefactError, match=r"token \[NONE\]"):
        keep_tokens(tmp_path / "odd", tmp_path / "small", TEXTS, 18)
    assert not (tmp_path / "small").exists()


@pytest.mark.parametrize(("texts", "size"), [(TEXTS, 17), (TEXTS, 28), ([], 20)])
def test_sizes_that_cannot_be(checkpoint: Path, tmp_path: Path, texts: list[str], size: int) -> None:
    with pytest.raises(InputError, match=rf"keep {size} .*\b27 tokens"):
        keep_tokens(checkpoint, tmp_path / "small", texts, size)
    assert not (tmp_path / "small").exists()


def test_other_vocabularies_are_refused(tiny_checkpoint: Path, tmp_path: Path) -> None:
    for folder in (tiny_checkpoint, tmp_path / "nowhere"):
        with pytest.raises(ArtefactError, match=r"(tiny\d*|nowhere): .*WordPiece vocabulary"):
            keep_tokens(folder, tmp_path / "small", TEXTS, 20)

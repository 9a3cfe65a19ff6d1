"""Make an initial TK or Conv-KNRM model: given word vectors, and everything else initialised."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from mpir.errors import ArtefactError
from mpir.files.folder_format import CHECKPOINT
from mpir.files.write import atomic_folder
from mpir.lab.sia.vectors import read_word_vectors
from mpir.models.families.kernels.conv_knrm import ConvKNRMConfig, ConvKNRMModel
from mpir.models.families.kernels.tk import TKConfig, TKModel
from mpir.validation import whole_number

PADDING, UNKNOWN = "[PAD]", "[UNK]"
WORD = r"[^\W_]+(?:-[^\W_]+)*"
"""A word, as defined by `mpir data vectors`."""
POSITIONS = 512


def make_tk(
    vectors: str | Path, folder: str | Path, *, heads: int = 10, layers: int = 2, feed_forward: int = 300, seed: int = 1
) -> Path:
    """Write a checkpoint with the words of word2vec vectors and random layers.

    Texts are lower-cased if the vectors have no capitals; words without a vector share a zero vector, which is learned.

    Raises:
        ArtefactError: the vectors cannot be read, or their width is not a multiple of the heads.
        InputError: heads, layers or a feed-forward width below 1.
        OutputError: the folder cannot be written.
    """
    for name, value in (("heads", heads), ("layers", layers), ("feed_forward", feed_forward)):
        whole_number(name, value)
    word_vectors = read_word_vectors(vectors)
    if word_vectors.vector_size % heads:
        raise ArtefactError(
            f"{vectors}: the vectors are {word_vectors.vector_size} wide, which {heads} heads do not divide; give "
            "vectors of another width, or another number of heads."
        )
    torch.manual_seed(seed)
    words = _words(word_vectors)
    config = TKConfig(
        vocab_size=len(words) + 2,
        hidden_size=word_vectors.vector_size,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=feed_forward,
        max_position_embeddings=POSITIONS,
    )
    return _write(TKModel(config), word_vectors, words, folder)


def make_conv_knrm(
    vectors: str | Path, folder: str | Path, *, grams: int = 3, filters: int = 128, seed: int = 1
) -> Path:
    """Write a checkpoint of Conv-KNRM with the words of word2vec vectors and random convolutions, as `make_tk`."""
    word_vectors = read_word_vectors(vectors)
    torch.manual_seed(seed)
    words = _words(word_vectors)
    sizes = {"word_size": word_vectors.vector_size, "grams": grams, "filters": filters}
    config = ConvKNRMConfig(vocab_size=len(words) + 2, max_position_embeddings=POSITIONS, **sizes)
    return _write(ConvKNRMModel(config), word_vectors, words, folder)


def _words(word_vectors: Any) -> list[str]:
    return [word for word in word_vectors.index_to_key if word not in (PADDING, UNKNOWN)]


def _write(model: Any, word_vectors: Any, words: list[str], folder: str | Path) -> Path:
    """Save a model with its words' vectors, and the tokenizer."""
    with torch.no_grad():
        model.encoder.words.weight[:2] = 0.0
        model.encoder.words.weight[2:] = torch.from_numpy(
            word_vectors.vectors[[word_vectors.key_to_index[word] for word in words]]
        )
    with atomic_folder(folder, CHECKPOINT) as temporary:
        model.save_pretrained(temporary)
        _tokenizer(words).save_pretrained(temporary)
    return Path(folder)


def _tokenizer(words: list[str]) -> Any:
    vocabulary = {word: number for number, word in enumerate([PADDING, UNKNOWN, *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    if not any(re.search("[A-Z]", word) for word in words):
        tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(WORD), "removed", invert=True)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PADDING,
        unk_token=UNKNOWN,
        model_max_length=POSITIONS,
        model_input_names=["input_ids", "attention_mask"],
    )

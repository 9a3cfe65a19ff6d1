"""Make a smaller encoder to distil into: some of a larger one's layers, and the frequent tokens of given texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import nn
from transformers import AutoTokenizer

from mpir.errors import ArtefactError, InputError
from mpir.files.corpora import read_corpus
from mpir.files.folder_format import CHECKPOINT
from mpir.files.read import read_json
from mpir.files.write import atomic_folder, check_folder, write_json
from mpir.lab.train.examples import read_rows
from mpir.lab.train.exits import drop_exits
from mpir.lab.train.pretrained import load_model
from mpir.models.checkpoint_files.checkpoint_checks import check_tokenizer_file
from mpir.models.loading.pretrained import checkpoint_errors, load_pretrained


def shrink(checkpoint: str | Path, folder: str | Path, layers: int) -> tuple[int, ...]:
    """Write a checkpoint with `layers` of an encoder's layers and everything else unchanged; return their numbers.

    The layers are spread evenly and include the last one, which the head has learned to read: 1, 3, 5 of six. The
    result is the initial model of a distillation (Sanh et al., "DistilBERT", 2019), not a model to use directly.

    Raises:
        ArtefactError: the checkpoint cannot be loaded, or its layers are not named as in BERT.
        InputError: fewer than one layer, or not fewer than the encoder has.
        OutputError: the folder cannot be written, or has something other than a checkpoint.
    """
    model, tokenizer = load_model(checkpoint), load_pretrained(AutoTokenizer, checkpoint)
    try:
        encoder = model.base_model.encoder
        count = len(encoder.layer)
    except AttributeError as error:
        raise ArtefactError(f"{checkpoint}: has no layers to choose from ({error}); give a BERT-like one.") from error
    if not 1 <= layers < count:
        raise InputError(f"{checkpoint}: has {count} layers, so {layers} cannot be kept; choose 1 to {count - 1}.")
    layer_numbers = tuple((number + 1) * count // layers - 1 for number in range(layers))
    encoder.layer = torch.nn.ModuleList(encoder.layer[number] for number in layer_numbers)
    model.config.num_hidden_layers = layers
    drop_exits(model)
    with atomic_folder(folder, CHECKPOINT) as temporary:
        model.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
    return layer_numbers


AT_ONCE = 1000
"""The number of texts that are tokenised together."""
FILES = ("tokenizer.json", "tokenizer_config.json")


def keep_tokens(checkpoint: str | Path, folder: str | Path, texts: Iterable[str], size: int) -> float:
    """Write a checkpoint with `size` tokens of a WordPiece vocabulary and everything else unchanged.

    Special tokens and all characters that occur are kept, so that every word of the texts can be spelt; then the most
    frequent tokens. A word without a token is split into the remaining pieces, so the encoder needs further training.
    Token vectors take half of the default model's bytes (Abdaoui et al., "Load what you need", 2020).

    Returns:
        The share of the texts' tokens that were kept.

    Raises:
        ArtefactError: the checkpoint cannot be loaded, or its tokenizer is not WordPiece.
        InputError: no texts, or a size below the number of required tokens or not below the whole.
        OutputError: the folder cannot be written, or has something other than a checkpoint.
    """
    rules, options = _rules(Path(checkpoint))
    vocabulary: dict[str, int] = rules["model"]["vocab"]
    with checkpoint_errors(checkpoint):
        check_tokenizer_file(checkpoint)
        tokenizer = Tokenizer.from_file(str(Path(checkpoint) / FILES[0]))
    counts = _count(tokenizer, texts)
    must = _must_stay(rules, counts)
    if not counts or not len(must) < size < len(vocabulary):
        raise InputError(
            f"{checkpoint}: cannot keep {size} of its {len(vocabulary)} tokens: the texts have {counts.total()} "
            f"tokens and {len(must)} must stay; choose a size between the two."
        )
    optional = (token for token, _ in counts.most_common() if token not in must)
    unseen = (token for token in vocabulary if token not in counts and token not in must)
    selected = sorted([*must, *optional, *unseen][:size], key=vocabulary.__getitem__)
    model = load_model(checkpoint)
    embeddings = model.base_model.embeddings  # of a bare encoder, base_model is itself
    rows = embeddings.word_embeddings.weight.detach()[[vocabulary[token] for token in selected]]
    pad = selected.index(options["pad_token"])
    embeddings.word_embeddings = nn.Embedding(size, rows.shape[1], padding_idx=pad, _weight=rows)
    model.config.vocab_size, model.config.pad_token_id = size, pad
    with atomic_folder(folder, CHECKPOINT) as temporary:
        model.save_pretrained(temporary)
        write_json(temporary / FILES[0], _renumbered(rules, {token: number for number, token in enumerate(selected)}))
        write_json(temporary / FILES[1], options)
    return sum(counts[token] for token in selected) / counts.total()


def _rules(checkpoint: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        rules, options = (read_json(checkpoint / name) for name in FILES)
        if rules["model"]["type"] != "WordPiece" or rules["post_processor"]["type"] != "TemplateProcessing":
            raise ValueError(f"its tokenizer is a {rules['model']['type']}")
        special = [options["pad_token"], *(token["content"] for token in rules["added_tokens"])]
        if missing := set(special) - set(rules["model"]["vocab"]):
            raise ValueError(f"its token {min(missing)} is not in the vocabulary")
    except (InputError, KeyError, TypeError, ValueError) as error:
        raise ArtefactError(f"{checkpoint}: has no WordPiece vocabulary to choose from ({error}).") from error
    return rules, options


def _count(tokenizer: Tokenizer, texts: Iterable[str]) -> Counter[str]:
    tokenizer.no_padding()
    tokenizer.no_truncation()
    counts: Counter[str] = Counter()
    remaining = iter(texts)
    while batch := list(islice(remaining, AT_ONCE)):
        for read in tokenizer.encode_batch(batch, add_special_tokens=False):
            counts.update(read.tokens)
    return counts


def _must_stay(rules: Mapping[str, Any], counts: Iterable[str]) -> dict[str, None]:
    """Return the special tokens, and initial and inner one-character tokens of all characters that occur."""
    prefix = rules["model"]["continuing_subword_prefix"]
    characters = sorted({character for token in counts for character in token.removeprefix(prefix)})
    spelling = (form for character in characters for form in (character, prefix + character))
    special = (token["content"] for token in rules["added_tokens"])
    return dict.fromkeys([*special, *(token for token in spelling if token in rules["model"]["vocab"])])


def _renumbered(rules: Mapping[str, Any], vocabulary: dict[str, int]) -> dict[str, Any]:
    template = rules["post_processor"]
    special = {
        name: {**special_token, "ids": [vocabulary[token] for token in special_token["tokens"]]}
        for name, special_token in template["special_tokens"].items()
    }
    return {
        **rules,
        "added_tokens": [{**token, "id": vocabulary[token["content"]]} for token in rules["added_tokens"]],
        "post_processor": {**template, "special_tokens": special},
        "model": {**rules["model"], "vocab": vocabulary},
    }


def make_smaller(
    checkpoint: Path,
    folder: Path,
    *,
    layers: int,
    tokens: int,
    corpus: Sequence[str] = (),
    rows: Sequence[Path] = (),
) -> tuple[tuple[int, ...], float]:
    """Write the smaller checkpoint; return its layer numbers, and the share of the texts' tokens it covers.

    Tokens are counted in the documents of `corpus`, and in the queries and sentences of the training files `rows`.

    Raises:
        MpirError: no texts, an unsupported encoder, or a folder that must not be replaced.
    """
    if not corpus and not rows:
        raise InputError("no texts to count tokens in; name a corpus, rows or both.")
    CHECKPOINT.check_replaceable(folder)
    check_folder(folder.parent)

    with TemporaryDirectory() as temporary:
        layer_numbers = shrink(checkpoint, Path(temporary) / "layers", layers)
        share = keep_tokens(Path(temporary) / "layers", folder, texts_of(corpus, rows), tokens)
    return layer_numbers, share


def texts_of(corpus: Sequence[str], rows: Sequence[Path]) -> Iterator[str]:
    """Yield the documents' texts, and each distinct query and sentence of each training file."""

    for document in read_corpus(corpus):
        yield document.text
    for file in rows:
        examples = read_rows(file, float("inf"))
        yield from sorted({text for row in examples for text in (row.question, row.sentence)})

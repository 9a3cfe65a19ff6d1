"""The settings of a ColBERT model, from its files, as written by Stanford, PyLate or MultiVectorEncoder."""

from __future__ import annotations

import json
import string
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mpir.errors import ArtefactError, format_value
from mpir.models.checkpoint_files.checkpoint_checks import check_tokenizer_file
from mpir.models.checkpoint_files.known_models import declared_prompts
from mpir.models.checkpoint_files.model_files import ModelFiles
from mpir.models.late_interaction.late import LateInteraction
from mpir.models.vectors.vector_head import Layer, VectorHead, hash_weights, read_head, read_tensor

STANFORD, METADATA = "HF_ColBERT", "artifact.metadata"
LONGEST = 1024
"""The default limit of tokens in a text, for models that declare none."""
BEHIND = ("Dense", "Normalize", "MultiVectorMask")
LEGACY = ("query_prefix", "document_prefix", "do_query_expansion", "attend_to_expansion_tokens", "skiplist_words")
"""Keys of PyLate's files; by default, its queries are padded with masks."""
TOKENS = "token_embeddings"


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiVectorSettings:
    """How texts become token vectors: the form, the layers after the last states, and the prompts."""

    late: LateInteraction
    head: VectorHead
    prompts: tuple[str, str]


def is_multi_vector(files: ModelFiles) -> bool:
    """Whether a model makes a vector for each token, for MaxSim."""
    modules = files.module_types
    is_chain = modules[:2] == ("Transformer", "Dense") and set(modules[1:]) <= {*BEHIND}
    return is_chain or (not modules and files.architecture == STANFORD)


def read_multi_vector_settings(files: ModelFiles, options: Mapping[str, Any]) -> MultiVectorSettings:
    """Return a model's settings from `options` (fields of `LateInteraction`), else from its files.

    Raises:
        ArtefactError: the files declare something that mpir does not support.
        InputError: an invalid option.
    """
    declared = _stanford(files) if files.architecture == STANFORD else {**files.transformer, **_known(files)}
    names = ("query", "document")
    prefixes = [_prefix(files, declared.get(f"{name}_prefix") or "") for name in names]
    prompts = declared_prompts(files)
    texts = [
        _prompt(prompts.get(f"{name}_prompt", ""), prefix, declared.get(f"{name}_prefix"))
        for name, prefix in zip(names, prefixes, strict=True)
    ]
    markers = None if None in prefixes else prefixes
    masked, query_length = _expansion(files, declared)
    late = LateInteraction.from_options(
        {
            **{"form": "states", "normalise": False, "masked": masked, "query_length": query_length},
            "document_length": declared.get("document_length") or LONGEST,
            "punctuation": not _skips_punctuation(files, declared),
            "markers": markers,
            **options,
        }
    )
    return MultiVectorSettings(late=late, head=_head(files), prompts=(texts[0], texts[1]))


def _known(files: ModelFiles) -> dict[str, Any]:
    return {key: value for key, value in files.sentence_transformers.items() if value is not None}


def _stanford(files: ModelFiles) -> dict[str, Any]:
    """The declarations in artifact.metadata, under PyLate's names. Raises ArtefactError for a damaged file."""
    path = files.folder / METADATA
    try:
        metadata = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        marks = list(string.punctuation) if metadata.get("mask_punctuation", True) else []
        return {
            "query_prefix": metadata.get("query_token_id") or "[unused0]",
            "document_prefix": metadata.get("doc_token_id") or "[unused1]",
            "query_length": metadata.get("query_maxlen") or 32,
            "document_length": metadata.get("doc_maxlen") or LONGEST,
            "attend_to_expansion_tokens": bool(metadata.get("attend_to_mask_tokens")),
            "skiplist_words": marks,
        }
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise ArtefactError(f"{path}: cannot be read as a JSON object. Restore the checkpoint.") from error


def _prefix(files: ModelFiles, prefix: str) -> str | None:
    """The tokenizer's token for a prefix, or None if the prefix is plain text."""
    path = files.transformer_folder / "tokenizer.json"
    if not prefix.split() or not path.is_file():
        return prefix.strip() or None
    from tokenizers import Tokenizer

    check_tokenizer_file(path.parent)
    tokenizer = Tokenizer.from_file(str(path))
    return next(
        (name for name in (prefix, prefix.split(maxsplit=1)[0]) if tokenizer.token_to_id(name) is not None), None
    )


def _prompt(prompt: str, token: str | None, prefix: str | None) -> str:
    """The text to prepend: the prompt, after a prefix that is not a token."""
    behind = prompt.removeprefix(prefix or "")
    return behind if token is not None else (prefix or "") + behind


def _expansion(files: ModelFiles, declared: Mapping[str, Any]) -> tuple[bool, int]:
    """Whether queries are padded with masks, and their length. Raises ArtefactError for another kind of padding."""
    length = declared.get("query_length")
    expansion = declared.get("query_expansion")
    is_legacy = "query_expansion" not in declared and any(key in declared for key in LEGACY)
    if is_legacy and declared.get("do_query_expansion") is not False:
        attend = bool(declared.get("attend_to_expansion_tokens"))
        expansion = {"strategy": "fixed", "attend": attend, "length": length or 32}
    if expansion is None:
        return False, length or LONGEST
    if not isinstance(expansion, dict) or expansion.get("strategy") != "fixed" or expansion.get("attend"):
        raise ArtefactError(
            f"{files.name}: fills queries up in a way that mpir does not compute (got {format_value(expansion)}, "
            'expected {"strategy": "fixed", "attend": false}). Give another model.'
        )
    return True, int(expansion.get("length") or 32)


def _skips_punctuation(files: ModelFiles, declared: Mapping[str, Any]) -> bool:
    """Whether documents' punctuation is ignored. Raises ArtefactError for any other list of ignored words."""
    module = files.module("MultiVectorMask")
    mask = declared if module is None else module.config
    words = mask.get("skiplist_words")
    if words is None:
        words = list(string.punctuation) if module is None else []
    tasks = mask.get("skiplist_tasks", ["document"])
    if set(words) not in (set(), set(string.punctuation)) or tasks != ["document"] or mask.get("keep_only_token_ids"):
        raise ArtefactError(
            f"{files.name}: leaves out tokens in a way that mpir does not compute (expected the marks of punctuation "
            "of documents, or none). Give another model."
        )
    return bool(words)


def _head(files: ModelFiles) -> VectorHead:
    """The layers after the last states, which end in unit vectors."""
    normalise = Layer("Normalize", "normalise")
    if files.architecture == STANFORD and not files.modules:
        return VectorHead(str(files.folder), (_stanford_layer(files), normalise))
    modules = []
    for module in files.modules[1:]:
        if module.config.get("module_input_name", TOKENS) != TOKENS:
            raise ArtefactError(f"{files.name}/{module.path}: reads no vectors of tokens. Give another model.")
        if module.type == "Dense":
            settings = {key: value for key, value in module.config.items() if key != "module_input_name"}
            modules.append(replace(module, config=settings))
    head = read_head(files.folder, tuple(modules))
    return VectorHead(str(files.folder), (*(head.layers if head else ()), normalise))


def _stanford_layer(files: ModelFiles) -> Layer:
    """The projection in the checkpoint's weights. Raises ArtefactError if it is missing."""
    shape = read_tensor(files.folder, "linear.weight").shape
    settings = {"in_features": shape[1], "out_features": shape[0], "bias": False, "activation": "Identity"}
    return Layer("Dense", "", tuple(sorted(settings.items())), hash_weights(files.folder))

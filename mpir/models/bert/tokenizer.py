"""A fast tokenizer with only the tokenizers library, if it equals the one that transformers would make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from mpir.errors import InputError
from mpir.files.read import read_json
from mpir.models.checkpoint_files.checkpoint_checks import check_rules

SPECIAL = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
INPUTS = ("input_ids", "token_type_ids", "attention_mask")
AS_IN_FILE = {"PreTrainedTokenizerFast", "TokenizersBackend"}
"""Classes that use `tokenizer.json` unchanged."""
REBUILT = {"BertTokenizer", "BertTokenizerFast"}
"""Classes that use its vocabulary, and build the rest from their own options."""
ADDED_TOKEN_KEYS = (
    "added_tokens_decoder",
    "extra_special_tokens",
    "additional_special_tokens",
    "model_specific_special_tokens",
)
"""Options that add special tokens."""
UNUSUAL = ("special_tokens_map.json", "added_tokens.json")


class FastTokenizer:
    """The part of transformers' fast tokenizers that mpir uses, with the same results."""

    is_fast = True
    model_input_names = INPUTS

    def __init__(self, backend: Tokenizer, options: Mapping[str, Any], folder: Path) -> None:
        self.backend_tokenizer, self.name_or_path = backend, str(folder)
        self.model_max_length = int(options["model_max_length"])
        self.pad_token_id, self.unk_token_id, self.mask_token_id = (
            None if options.get(name) is None else backend.token_to_id(options[name])
            for name in ("pad_token", "unk_token", "mask_token")
        )

    def convert_tokens_to_ids(self, tokens: str | Sequence[str]) -> Any:
        """The id of a token, or the ids of several; unknown tokens get the unknown token's id."""
        if not isinstance(tokens, str):
            return [self.convert_tokens_to_ids(token) for token in tokens]
        token_id = self.backend_tokenizer.token_to_id(tokens)
        return self.unk_token_id if token_id is None else token_id

    def convert_ids_to_tokens(self, number: int) -> str | None:
        """The token of an id."""
        return self.backend_tokenizer.id_to_token(number)

    def __call__(
        self,
        texts: Sequence[str],
        pair_texts: Sequence[str] | None = None,
        *,
        add_special_tokens: bool = True,
        truncation: bool = False,
        max_length: int = 0,
        **_: Any,
    ) -> dict[str, list[Any]]:
        """Token ids, segments and offsets of texts or pairs, with `truncation` of their beginnings.

        The other arguments of transformers' tokenizers select what to return, and are ignored.
        """
        self.backend_tokenizer.no_truncation()
        if truncation:
            self.backend_tokenizer.enable_truncation(max_length)
        inputs = list(texts) if pair_texts is None else list(zip(texts, pair_texts, strict=True))
        encodings = self.backend_tokenizer.encode_batch(inputs, add_special_tokens=add_special_tokens)
        return {
            "input_ids": [encoding.ids for encoding in encodings],
            "token_type_ids": [encoding.type_ids for encoding in encodings],
            "offset_mapping": [encoding.offsets for encoding in encodings],
        }


def open_tokenizer(folder: Path) -> FastTokenizer | None:
    """The tokenizer of a checkpoint, or None if its files need more than this module supports."""
    if any((folder / name).exists() for name in UNUSUAL):
        return None
    try:
        options, rules = read_json(folder / "tokenizer_config.json"), read_json(folder / "tokenizer.json")
        if not _is_usual(options, rules):
            return None
        check_rules(rules, folder)
        backend = Tokenizer.from_file(str(folder / "tokenizer.json"))
        backend.no_padding()
        return FastTokenizer(backend, options, folder)
    except InputError:
        return None
    except Exception:  # the library has no exception class of its own; transformers reports the reason
        return None


def _is_usual(options: Mapping[str, Any], rules: Mapping[str, Any]) -> bool:
    """Whether transformers would apply the rules of `tokenizer.json` unchanged."""
    special = {options[name] for name in SPECIAL if options.get(name) is not None}
    added = rules["added_tokens"]
    names = {token["content"] for token in added}
    plain = all(token["special"] and not token["normalized"] for token in added)
    sides = {options.get(f"{option}_side", "right") for option in ("truncation", "padding")}
    if (
        any(options.get(name) for name in ADDED_TOKEN_KEYS)
        or not plain
        or sides != {"right"}
        or "pad_token" not in options
    ):
        return False
    if options["tokenizer_class"] in AS_IN_FILE:
        return tuple(options["model_input_names"]) == INPUTS and special <= names | set(rules["model"]["vocab"])
    return options["tokenizer_class"] in REBUILT and special == names and _normalised_rules(rules) == _rebuilt(options)


def _normalised_rules(rules: Mapping[str, Any]) -> dict[str, Any]:
    """The rules of `tokenizer.json` for reading a text, without the vocabulary."""
    model = {key: value for key, value in rules["model"].items() if key != "vocab"}
    pairs = {key: rules["post_processor"][key] for key in ("single", "pair")}
    return {"normalizer": rules["normalizer"], "pre_tokenizer": rules["pre_tokenizer"], "model": model, **pairs}


def _rebuilt(options: Mapping[str, Any]) -> dict[str, Any]:
    """The same rules as transformers' `BertTokenizer` builds them from its options."""
    first, last, end = (
        {"SpecialToken": {"id": options[name], "type_id": number}}
        for name, number in (("cls_token", 0), ("sep_token", 0), ("sep_token", 1))
    )
    sequence_a, sequence_b = ({"Sequence": {"id": name, "type_id": number}} for number, name in enumerate("AB"))
    return {
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": options.get("tokenize_chinese_chars", True),
            "strip_accents": options.get("strip_accents"),
            "lowercase": options.get("do_lower_case", True),
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {
            "type": "WordPiece",
            "unk_token": options["unk_token"],
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
        },
        "single": [first, sequence_a, last],
        "pair": [first, sequence_a, last, sequence_b, end],
    }

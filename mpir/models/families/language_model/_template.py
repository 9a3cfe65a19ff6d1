"""Prompt templates for language models that judge a query and a document: a chat template, or a known one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mpir.errors import ArtefactError, InputError, format_value, shortened
from mpir.models.families.language_model._template_process import TemplateError, render
from mpir.validation import check_choice

FILE = Path(__file__).with_name("templates.json")
CHAT = "chat"
"""The name for the template of a model's own tokenizer."""


QUERY, DOCUMENT = "mpirqueryslot", "mpirdocumentslot"
"""Texts in a rendered chat template that stand for those of a pair."""
_REMEDY = "Name a known template, such as template=qwen3-reranker."
_SLOTS = re.compile(f"({QUERY}|{DOCUMENT})")
_KNOWN_SLOTS = re.compile(r"(\{query\}|\{document\}|\{instruction\})")
_PROBES = ((" a\n", "\n b{{ x }} <&> 'é' "), ("b ", " long" * 2000), (f"c{QUERY}", "d"), ("e. f", "{% g %}\n\nh"))
"""Pairs that show whether a template fills its slots with the texts as they are."""


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """The texts of a prompt and, between them, the slots of the query and the document.

    A chat template is rendered once, in a process of its own, so that a checkpoint's template never runs over the texts
    to rank. `stripped` are the slots that it fills without white space at the ends.
    """

    pieces: tuple[str, ...]
    stripped: frozenset[str] = frozenset()

    def fill(self, query: str, document: str) -> list[str]:
        """Return the pieces with the texts of a pair in their slots."""
        texts = {QUERY: query, DOCUMENT: document}
        texts = {slot: text.strip() if slot in self.stripped else text for slot, text in texts.items()}
        return [texts.get(piece, piece) for piece in self.pieces]

    def render(self, query: str, document: str) -> str:
        """Return the prompt of a pair; braces in the texts are kept."""
        return "".join(self.fill(query, document))


@cache
def known_templates() -> dict[str, dict[str, Any]]:
    """Return the known templates by name: text, default instruction, tokens, and how their models' hub names begin."""
    templates: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return templates


def template_of(name: str) -> str | None:
    """Return the name of the known template for a hub name, or None."""
    return next((key for key, entry in known_templates().items() if name.startswith(tuple(entry["models"]))), None)


def make_template(name: str, tokenizer: Any, instruction: str | None, checkpoint: str) -> PromptTemplate:
    """Return a template by name, with the instruction filled in.

    Raises:
        InputError: an unknown name, or an instruction for a template that has no slot for one.
        ArtefactError: the tokenizer has no chat template, or one that leaves out the query or the document.
    """
    if instruction is not None and not isinstance(instruction, str):
        raise InputError(f"{checkpoint}: instruction is {format_value(instruction)} (expected a string).")
    check_choice(f"{checkpoint}: template", name, (CHAT, *known_templates()))
    return _chat(tokenizer, instruction, checkpoint) if name == CHAT else _known(name, instruction, checkpoint)


def _known(name: str, instruction: str | None, checkpoint: str) -> PromptTemplate:
    entry: Mapping[str, Any] = known_templates()[name]
    if instruction is not None and entry["instruction"] is None:
        raise InputError(f"{checkpoint}: the template {name} has no slot for an instruction. Leave it out.")
    words = (entry["instruction"] or "") if instruction is None else instruction
    form = entry.get("instruction_form", "{instruction}")
    instructed = form.replace("{instruction}", words) if words else ""
    texts = {"{query}": QUERY, "{document}": DOCUMENT, "{instruction}": instructed}
    return PromptTemplate(tuple(texts.get(piece, piece) for piece in _KNOWN_SLOTS.split(entry["text"])))


def _chat(tokenizer: Any, instruction: str | None, checkpoint: str) -> PromptTemplate:
    if not getattr(tokenizer, "chat_template", None):
        raise ArtefactError(
            f"{checkpoint}: its tokenizer has no chat template. Name a known one, such as "
            "model.template=qwen3-reranker."
        )
    try:
        return _read_chat(tokenizer, instruction, checkpoint, parts=False)
    except ArtefactError as error:
        try:
            return _read_chat(tokenizer, instruction, checkpoint, parts=True)
        except ArtefactError:
            raise error from None


def _read_chat(tokenizer: Any, instruction: str | None, checkpoint: str, *, parts: bool) -> PromptTemplate:
    """Return the template for messages whose contents are texts or, as some templates expect, lists of `parts`."""
    plain, *texts = _render(tokenizer, instruction, checkpoint, parts=parts)
    pieces = tuple(_SLOTS.split(texts[0]))
    if missing := [name for slot, name in ((QUERY, "query"), (DOCUMENT, "document")) if slot not in pieces]:
        raise ArtefactError(
            f"{checkpoint}: its chat template leaves out the {missing[0]} (expected messages of the roles query and "
            f"document). {_REMEDY}"
        )
    if instruction and texts[0] == plain:
        raise InputError(f"{checkpoint}: its chat template has no slot for an instruction (a system message).")
    for stripped in ((), (QUERY, DOCUMENT), (QUERY,), (DOCUMENT,)):
        template = PromptTemplate(pieces, frozenset(stripped))
        if [template.render(*pair) for pair in _PROBES] == texts[1:]:
            return template
    raise ArtefactError(f"{checkpoint}: its chat template changes the query or the document. {_REMEDY}")


def _render(tokenizer: Any, instruction: str | None, checkpoint: str, *, parts: bool) -> list[str]:
    """Return the prompt with slots, without and with the instruction, and with it the prompts of _PROBES."""
    conversations = [_messages(QUERY, DOCUMENT, "", parts=parts)]
    pairs = ((QUERY, DOCUMENT), *_PROBES)
    conversations += [_messages(*pair, instruction or "", parts=parts) for pair in pairs]
    try:
        return render(tokenizer.get_chat_template(), conversations, tokenizer.special_tokens_map)
    except (TemplateError, ValueError) as error:  # transformers raises ValueError for several templates without a name
        raise ArtefactError(
            f"{checkpoint}: its chat template rejects a query and a document ({shortened(str(error), 200)}). {_REMEDY}"
        ) from error


def _messages(query: str, document: str, instruction: str, *, parts: bool) -> list[dict[str, Any]]:
    messages = [("system", instruction)] * bool(instruction) + [("query", query), ("document", document)]
    return [{"role": role, "content": [{"type": "text", "text": text}] if parts else text} for role, text in messages]

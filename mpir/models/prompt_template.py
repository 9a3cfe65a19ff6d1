"""Prompt templates for language models that judge a query and a document: a chat template, or a known one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from mpir.errors import ArtefactError, InputError, format_value
from mpir.validation import check_choice

FILE = Path(__file__).with_name("prompt_templates.json")
CHAT = "chat"
"""The name for the template of a model's own tokenizer."""


class PromptTemplate(Protocol):
    """Renders the text that a model reads."""

    def render(self, query: str, document: str) -> str:
        """Return the prompt of a pair."""


@dataclass(frozen=True, slots=True)
class TextTemplate:
    """A known template: text with slots for ``{query}``, ``{document}`` and, if not empty, the instruction."""

    text: str
    instruction: str = ""

    def render(self, query: str, document: str) -> str:
        """Return the prompt of a pair; braces in the texts are kept."""
        head, _, tail = self.text.replace("{instruction}", self.instruction).partition("{document}")
        return head.replace("{query}", query) + document + tail


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """A tokenizer's chat template with the roles ``query`` and ``document``, as in sentence-transformers.

    The instruction, if any, is a message with the role ``system`` before them.
    """

    tokenizer: Any
    instruction: str = ""

    def render(self, query: str, document: str) -> str:
        """Return the prompt of a pair."""
        messages = [{"role": "query", "content": query}, {"role": "document", "content": document}]
        if self.instruction:
            messages.insert(0, {"role": "system", "content": self.instruction})
        rendered: str = self.tokenizer.apply_chat_template(messages, tokenize=False)
        return rendered


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
    template = _chat(tokenizer, instruction, checkpoint) if name == CHAT else _known(name, instruction, checkpoint)
    _check_slots(template, checkpoint)
    return template


def _known(name: str, instruction: str | None, checkpoint: str) -> TextTemplate:
    entry: Mapping[str, Any] = known_templates()[name]
    if instruction is not None and entry["instruction"] is None:
        raise InputError(f"{checkpoint}: the template {name} has no slot for an instruction. Leave it out.")
    words = (entry["instruction"] or "") if instruction is None else instruction
    form = entry.get("instruction_form", "{instruction}")
    return TextTemplate(entry["text"], form.replace("{instruction}", words) if words else "")


def _chat(tokenizer: Any, instruction: str | None, checkpoint: str) -> ChatTemplate:
    if not getattr(tokenizer, "chat_template", None):
        raise ArtefactError(
            f"{checkpoint}: its tokenizer has no chat template. Name a known one, such as --model-option "
            "template=qwen3-reranker."
        )
    template = ChatTemplate(tokenizer, instruction or "")
    if instruction and _render(template, checkpoint) == _render(ChatTemplate(tokenizer), checkpoint):
        raise InputError(f"{checkpoint}: its chat template has no slot for an instruction (a system message).")
    return template


def _check_slots(template: PromptTemplate, checkpoint: str) -> None:
    base = _render(template, checkpoint)
    for slot, pair in (("query", ("b", "a")), ("document", ("a", "b"))):
        if _render(template, checkpoint, *pair) == base:
            raise ArtefactError(
                f"{checkpoint}: its chat template leaves out the {slot} (expected messages of the roles query and "
                "document). Name a known template, such as --model-option template=qwen3-reranker."
            )


def _render(template: PromptTemplate, checkpoint: str, query: str = "a", document: str = "a") -> str:
    try:
        return template.render(query, document)
    except Exception as error:  # from Jinja, or raised by the template
        raise ArtefactError(
            f"{checkpoint}: its chat template rejects a query and a document ({type(error).__name__}: {error}). Name a "
            "known template, such as --model-option template=qwen3-reranker."
        ) from error

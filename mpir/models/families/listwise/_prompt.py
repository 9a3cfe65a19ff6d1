"""The prompts of listwise rerankers, and the order of a whole list from the orders of its windows."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files as package_files

WINDOW, STRIDE = 20, 10
"""Documents that a model orders at once, and by how many the next window begins earlier (Sun et al., 2023)."""
SEED = 0
"""Seed of the first order, which neither the caller's order nor the texts' length may decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListwiseTemplate:
    """The prompt of a family.

    Attributes:
        head: the text before the passages, with the slots ``{count}`` and ``{query}``.
        passage: the text of a passage, with the slots ``{number}`` and ``{text}``.
        tail: the text behind the passages, with the slots of the head.
        first: the number of the first passage.
        removed: a pattern of what is removed from texts, because it has a meaning in the prompt.
        markers: the tokens whose states are compared, behind a passage and behind the query; None if the model answers
            in words.
        models: how the hub names of the family's models begin.
        source: the page that states the prompt.
    """

    head: str
    passage: str
    tail: str
    first: int
    removed: str
    markers: tuple[str, str] | None
    models: tuple[str, ...]
    source: str

    def render(self, query: str, texts: Sequence[str]) -> str:
        """Return the prompt of a query and passages."""
        query, *texts = (re.sub(self.removed, "", text) for text in (query, *texts))
        head, tail = (
            text.replace("{count}", str(len(texts))).replace("{query}", query) for text in (self.head, self.tail)
        )
        passages = (
            self.passage.replace("{number}", str(number)).replace("{text}", text)
            for number, text in enumerate(texts, self.first)
        )
        return head + "".join(passages) + tail

    def parse(self, answer: str, count: int) -> list[int]:
        """Return the order (count,) that an answer states; passages that it leaves out come last, as they stood."""
        named = [int(number) - self.first for number in re.findall(r"\d+", answer)]
        return list(dict.fromkeys([*(index for index in named if 0 <= index < count), *range(count)]))


@cache
def listwise_templates() -> dict[str, ListwiseTemplate]:
    """Return the known templates by name."""
    text = package_files(__package__).joinpath("templates.json").read_text(encoding="utf-8")
    return {
        name: ListwiseTemplate(
            **{**entry, "models": tuple(entry["models"]), "markers": entry["markers"] and tuple(entry["markers"])}
        )
        for name, entry in json.loads(text).items()
    }


def listwise_template_of(name: str) -> str | None:
    """Return the name of the listwise template for a hub name, or None."""
    return next((key for key, entry in listwise_templates().items() if name.startswith(entry.models)), None)


def order_list(texts: Sequence[str], order: Callable[[Sequence[str]], Sequence[int]]) -> list[int]:
    """Return the order (N,) of texts, best first, by windows that slide from the end to the begin.

    `order` returns the order of at most WINDOW texts. The first order depends on the texts and SEED alone.
    """
    ranked = sorted(range(len(texts)), key=lambda index: texts[index])
    random.Random(SEED).shuffle(ranked)
    end = len(ranked)
    while end > 0:
        begin = max(0, end - WINDOW)
        window = ranked[begin:end]
        ranked[begin:end] = [window[position] for position in order([texts[index] for index in window])]
        end = end - STRIDE if begin else 0
    return ranked

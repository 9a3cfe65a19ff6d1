"""The settings of a generation of SIA data, and the steps that its inputs allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mpir.errors import InputError, format_value
from mpir.lab.sia.filters import Filters
from mpir.validation import real_number, whole_number

STEPS = {
    "combined": ("qasc",),
    "partial": ("qasc",),
    "similar": ("qasc",),
    "swap": ("qasc", "vectors"),
    "generated": ("qasc", "writer", "sources"),
    "graded": ("bioasq", "corpus"),
    "coverage": ("bioasq", "corpus"),
}
"""The inputs that each step needs in addition to the bundle."""
PARTNERS = {name: needs for needs in STEPS.values() for name in needs if len(needs) > 1 and name != "qasc"}
"""Inputs that have no effect without others."""
SHARE = "a number above 0 and at most 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How a writer is trained. `max_length` is the most tokens of source and target combined.

    Raises:
        InputError: an invalid number.
    """

    checkpoint: str
    epochs: int = 3
    batch_size: int = 16
    learning_rate: float = 5e-5
    max_length: int = 192
    save_every: int = 200

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "max_length", "save_every"):
            whole_number(f"sia.{name}", getattr(self, name))
        real_number("sia.learning_rate", self.learning_rate, "a number above 0", lambda rate: rate > 0)


@dataclass(frozen=True, slots=True)
class Decoding:
    """How text is sampled: nucleus sampling (Holtzman et al. 2020) after a temperature.

    Raises:
        InputError: an invalid number.
    """

    top_p: float = 0.9
    temperature: float = 0.8
    most_tokens: int = 60

    def __post_init__(self) -> None:
        real_number("sia.top_p", self.top_p, SHARE, is_share)
        real_number("sia.temperature", self.temperature, "a number above 0", lambda value: value > 0)
        whole_number("sia.most_tokens", self.most_tokens)


def is_share(value: float) -> bool:
    """Whether a number is above 0 and at most 1."""
    return 0 < value <= 1


@dataclass(frozen=True, kw_only=True)
class GenerationSettings:
    """Everything that the rows depend on. Empty `steps` mean every step whose inputs are given.

    `limit` is the most rows, questions and sentences taken from each source, `sentences` the most from `sources`.
    """

    steps: tuple[str, ...] = ()
    qasc: str = ""
    entities: str = "terms"
    vectors: str = ""
    threshold: float = 1.0
    probability: float = 0.5
    bioasq: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    corpus: tuple[str, ...] = ()
    writer: str = ""
    sources: tuple[str, ...] = ()
    training: Mapping[str, Any] = field(default_factory=dict)
    decoding: Mapping[str, Any] = field(default_factory=dict)
    filters: Filters = field(default_factory=Filters)
    bundle: str = "default"
    device: str = "auto"
    precision: str = "auto"
    tokens_per_batch: int | None = None
    seed: int = 1
    limit: int | None = None
    sentences: int | None = None
    skip_bad: bool = False

    def chosen(self) -> tuple[str, ...]:
        """The steps to run, in order.

        Raises:
            InputError: an unknown one, one whose input is missing, or without `steps` an input that no step uses.
        """
        for name in self.steps:
            if name not in STEPS:
                raise InputError(f"method {format_value(name)} is unknown; choose from {', '.join(STEPS)}.")
            for need in STEPS[name]:
                if not getattr(self, need):
                    raise InputError(f"method {name} needs {need}; give it, or leave the method out.")
        able = [name for name, needs in STEPS.items() if all(getattr(self, need) for need in needs)]
        chosen = [name for name in able if not self.steps or name in self.steps]
        if not chosen:
            raise InputError(
                "there is nothing to generate from; give QASC's rows, or BioASQ's questions with a corpus."
            )
        if not self.steps:
            self._check_used({need for name in chosen for need in STEPS[name]})
        return tuple(chosen)

    def _check_used(self, inputs: set[str]) -> None:
        """Raise InputError for an input that is used only together with another, which is missing."""
        if self.exclude and not inputs & {"bioasq", "sources"}:
            raise InputError("exclude has no effect without bioasq or sources; give one of them, or leave it out.")
        for name, partners in PARTNERS.items():
            if getattr(self, name) and name not in inputs:
                missing = [partner for partner in partners if not getattr(self, partner)]
                raise InputError(f"{name} has no effect without {' and '.join(missing)}; give both, or leave it out.")

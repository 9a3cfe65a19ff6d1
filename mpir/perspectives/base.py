"""What a perspective is, and how a name in a bundle becomes one."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from mpir.errors import InputError
from mpir.io.hash import fingerprint

ENTRY_POINTS = "mpir.perspectives"


class Perspective(ABC):
    """One view of how a sentence serves a question: a column of the score matrix.

    A subclass sets `name` and answers `score`. `identity` says what the scores depend on (checkpoint hash, settings):
    two perspectives with the same fingerprint must give the same scores.
    """

    name: str

    @abstractmethod
    def score(self, question: str, sentences: Sequence[str]) -> npt.NDArray[np.floating[Any]]:
        """Score each sentence for the question, higher is better: shape (len(sentences),), finite."""

    def score_pairs(
        self, pairs: Sequence[tuple[str, str]], *, progress: bool = False
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Scores (N,) of (question, sentence) pairs, and which (N,) a model saw in windows: here question by question.

        A perspective that can share work between questions, or show progress, does it here.

        Raises:
            InputError: `score` gave another number of scores than there were sentences.
        """
        rows: dict[str, list[int]] = {}
        for row, (question, _) in enumerate(pairs):
            rows.setdefault(question, []).append(row)
        values = np.zeros(len(pairs))
        for question, members in rows.items():
            found = np.asarray(self.score(question, [pairs[row][1] for row in members]), np.float64)
            if found.shape != (len(members),):
                raise InputError(
                    f"perspective {self.name!r} gave scores of shape {found.shape} for {len(members)} sentences; "
                    "expected one score for each sentence."
                )
            values[members] = found
        return values, np.zeros(len(pairs), bool)

    @property
    def identity(self) -> Mapping[str, Any]:
        """A JSON-able description of everything the scores depend on."""
        return {"name": self.name, "class": f"{type(self).__module__}.{type(self).__qualname__}"}

    @property
    def has_identity(self) -> bool:
        """Whether the class says itself what its scores depend on; only such scores are kept between runs."""
        return type(self).identity is not Perspective.identity

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that identify these scores."""
        return fingerprint(dict(self.identity))

    @property
    def model_fingerprint(self) -> str:
        """The same for the model's weights alone: what weights of the blend belong to, on any machine.

        Its number format differs between machines, and its configuration and tokenizer are kept whole by the bundle.
        """
        return fingerprint({key: value for key, value in self.identity.items() if key not in ("precision", "settings")})


@dataclass(slots=True)
class Loading:
    """What a perspective may need while it is built: its bundle's folder, where and how precisely to compute."""

    folder: Path
    device: str = "auto"
    precision: str = "auto"
    tokens_per_batch: int | None = None
    shared: dict[Any, Any] = field(default_factory=dict)
    """Whatever the perspectives of one bundle have in common, such as an encoder loaded once."""


Factory = Callable[[str, Mapping[str, Any], Loading], Perspective]
Registered = TypeVar("Registered", bound=Callable[..., Perspective])
_factories: dict[str, Factory] = {}


def register(kind: str) -> Callable[[Registered], Registered]:
    """Decorate a Perspective class or a factory, so that bundles can name it as `kind`.

    A class takes a bundle entry's other keys as arguments; a factory is called as ``factory(name, options, loading)``.
    """

    def keep(found: Registered) -> Registered:
        _factories[kind] = _as_factory(found)
        return found

    return keep


def build(kind: str, name: str, options: Mapping[str, Any], loading: Loading) -> Perspective:
    """Build the perspective that a bundle declares.

    `kind` is a registered name, an entry point of the group ``mpir.perspectives``, or ``module:attribute``.

    Raises:
        InputError: nothing goes by that name.
    """
    return _find(kind)(name, options, loading)


def _find(kind: str) -> Factory:
    if kind in _factories:
        return _factories[kind]
    for entry in entry_points(group=ENTRY_POINTS, name=kind):
        return _as_factory(entry.load())
    if ":" in kind:
        return _as_factory(_import(kind))
    known = ", ".join(sorted(_factories))
    raise InputError(
        f"perspective kind {kind!r} is unknown; expected {known}, an installed entry point of {ENTRY_POINTS!r}, "
        "or module:attribute."
    )


def _import(kind: str) -> Any:
    module, _, attribute = kind.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        message = f"perspective kind {kind!r} cannot be imported ({error}); install its package or correct the name."
        raise InputError(message) from error


def _as_factory(found: Any) -> Factory:
    """A factory as it is, or a Perspective class wrapped as one, with the options as its arguments."""
    if not (isinstance(found, type) and issubclass(found, Perspective)):
        factory: Factory = found
        return factory

    def create(name: str, options: Mapping[str, Any], loading: Loading) -> Perspective:
        perspective: Perspective = found(**options)
        perspective.name = name
        return perspective

    return create

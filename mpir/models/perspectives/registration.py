"""Kinds of perspectives: their registration, and perspectives built from a bundle's declarations."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from mpir.errors import InputError, format_names, format_value
from mpir.models.perspectives.base import Perspective
from mpir.models.recognition.recognise import families
from mpir.plugins import load_plugin, plugins_of

ENTRY_POINTS = "mpir.perspectives"
MODULES = {
    "bi-encoder": "bi_encoder",
    "bm25": "bm25",
    "colbert": "late_interaction",
    "cross-encoder": "cross_encoder",
    "document-cross-encoder": "cross_encoder",
    "llm": "llm",
}
"""mpir's own kinds, and the module that registers each when a bundle or a model needs it; families have others."""


NO_FOLDER = Path(os.devnull)
"""The folder of models that a user names, in which nothing is: their paths are absolute, and other names a hub's."""


@dataclass(slots=True, kw_only=True)
class Loading:
    """The context for building a perspective: its bundle's folder, device and precision."""

    folder: Path
    device: str = "auto"
    precision: str = "auto"
    tokens_per_batch: int | None = None
    shared: dict[Any, Any] = field(default_factory=dict)
    """Objects shared by the perspectives of one bundle, such as an encoder."""
    trust_code: bool = False
    """Whether a bundle may run code beyond registered kinds and entry points, call addresses, and use a hub."""
    may_fetch: bool = False
    """Whether models may be fetched from a hub because the user gave their names."""
    addresses: Collection[str] = ()
    """The addresses that the user gave, which get the user's keys."""

    def find_model(self, name: str, revision: str | None = None) -> Path:
        """Return the folder of a hub's model; see `mpir.models.checkpoint_files.hub.find_hub_model`."""
        from mpir.models.checkpoint_files.hub import find_hub_model

        return find_hub_model(name, revision, fetch=self.may_fetch or self.trust_code).folder


Factory = Callable[[str, Mapping[str, Any], Loading], Perspective]
Registered = TypeVar("Registered", bound=Callable[..., Perspective])
_factories: dict[str, Factory] = {}


def register(type_name: str) -> Callable[[Registered], Registered]:
    """Decorate a Perspective class or a factory, so that bundles can name it as their ``kind``.

    A class takes a bundle entry's other keys as arguments; a factory is called as ``factory(name, options, loading)``.
    """

    def keep(registered: Registered) -> Registered:
        _factories[type_name] = _as_factory(registered)
        return registered

    return keep


def build(entry: Mapping[str, Any], loading: Loading) -> Perspective:
    """Build the perspective that an entry of a bundle declares: its kind, name, level and role, and the kind's options.

    The kind is a registered name, an entry point of the group ``mpir.perspectives``, or ``module:attribute``, which is
    imported, and so run, only if `loading` trusts code.

    Raises:
        InputError: an unknown kind, or code that is not trusted.
    """
    options = {key: value for key, value in entry.items() if key not in ("name", "kind", "level", "role")}
    perspective = _find(entry["kind"], trust_code=loading.trust_code)(entry["name"], options, loading)
    perspective.name = entry["name"]
    perspective.level, perspective.role = (entry.get(key, getattr(perspective, key)) for key in ("level", "role"))
    return perspective


def _find(type_name: str, *, trust_code: bool) -> Factory:
    if type_name in MODULES:
        importlib.import_module(f"mpir.models.perspectives.{MODULES[type_name]}")
    if type_name in _factories:
        return _factories[type_name]
    by_kind = {family.perspective_type: family.load for family in families() if family.load}
    if type_name in by_kind:
        return by_kind[type_name]
    if type_name in plugins_of(ENTRY_POINTS):
        return _as_factory(load_plugin(ENTRY_POINTS, type_name))
    if ":" in type_name and trust_code:
        return _as_factory(_import(type_name))
    if ":" in type_name:
        raise InputError(
            f"perspective kind {format_value(type_name)} would run code of that module; if you trust the bundle, allow "
            "that (--trust-code, trust_code=True)."
        )
    known = format_names(sorted({*MODULES, *by_kind, *_factories}))
    raise InputError(
        f"perspective kind {format_value(type_name)} is unknown; expected {known}, an installed entry point of "
        f"{ENTRY_POINTS!r}, or module:attribute."
    )


def _import(type_name: str) -> Any:
    module, _, attribute = type_name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        message = (
            f"perspective kind {format_value(type_name)} cannot be imported ({error}); install it or correct the name."
        )
        raise InputError(message) from error


def _as_factory(registered: Any) -> Factory:
    """Return a factory, or wrap a Perspective class as one that takes the options as arguments."""
    if not (isinstance(registered, type) and issubclass(registered, Perspective)):
        factory: Factory = registered
        return factory

    def create(name: str, options: Mapping[str, Any], loading: Loading) -> Perspective:
        """Make the perspective of a class whose arguments are a bundle's options."""
        perspective: Perspective = registered(**options)
        return perspective

    return create

"""The perspectives of a reranker: a bundle's, the caller's own, or both."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpir.core.weights import RESERVED as RESERVED_NAMES
from mpir.errors import InputError
from mpir.models.bundles.bundle import Bundle
from mpir.models.options import device_names, precision_name
from mpir.models.perspectives import Perspective, open_bundle
from mpir.models.perspectives.llm import LlmPerspective, open_llm
from mpir.models.perspectives.named_models import DeclaredModel, NamedModels, declare_named_models, load_named_models
from mpir.models.perspectives.registration import NO_FOLDER, Loading
from mpir.reranking.options import RunOptions
from mpir.reranking.prepare import BM25
from mpir.reranking.validation import as_perspectives

RESERVED = (BM25, *RESERVED_NAMES)
"""Names that a model's column cannot have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Options for loading a bundle's models; None selects the default."""

    device: str | None = None
    precision: str | None = None
    run: RunOptions

    def arguments(self) -> dict[str, Any]:
        """Return the options by their names in `Loading`. Raises InputError for an invalid one."""
        return {
            "device": device_names(self.device),
            "precision": precision_name(self.precision),
            "tokens_per_batch": self.run.tokens_per_batch,
            "trust_code": self.run.trust_code,
        }

    def check_unused(self) -> None:
        """Raise InputError if an option is set: without a bundle, the caller's models are already loaded."""
        values = {"device": self.device, "precision": self.precision, "tokens_per_batch": self.run.tokens_per_batch}
        for name, value in values.items():
            if value is not None:
                raise InputError(
                    f"{name} applies to a bundle's models, but the given perspectives have already loaded theirs; name "
                    f"a bundle, or leave {name} out."
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModels:
    """The perspectives of a reranker by source: the bundle, models that the user names, and the caller's objects."""

    bundle: Bundle | None
    of_bundle: tuple[Perspective, ...] = ()
    named: tuple[Perspective, ...] = ()
    callers: tuple[Perspective, ...] = ()
    declared: tuple[DeclaredModel, ...] = ()
    """The declarations of the `named` perspectives, as a bundle would store them."""

    @property
    def perspectives(self) -> tuple[Perspective, ...]:
        """All perspectives, the bundle's first."""
        return (*self.of_bundle, *self.named, *self.callers)


def chat_models(choice: NamedModels) -> tuple[Perspective, ...]:
    """Return the chat model that the user names, if any.

    Raises:
        EndpointError: the URL serves several models, and none is named.
    """
    if choice.llm is None:
        return ()
    url, _, name = choice.llm.partition("#")
    return (open_llm(url, name, instruction=choice.instruction or ""),)


def load_models(
    bundle: str | Path | None, perspectives: Sequence[Perspective], options: ModelOptions, choice: NamedModels
) -> LoadedModels:
    """Load the perspectives of a bundle and of the models that the user names; the caller's are already loaded.

    If models that read whole documents replace the bundle's columns, the bundle still orders the sentences.

    Raises:
        ArtefactError: the bundle or a model is missing, damaged or unknown.
        InputError: an option or perspective is invalid, or a model is not a reranker.
    """
    callers = as_perspectives(perspectives)
    if bundle is None and callers and not (choice.names or choice.encoders):
        options.check_unused()
        return LoadedModels(bundle=None, callers=callers)
    has_readers = any(perspective.level == "sentence" for perspective in callers)
    without_bundle = (choice.only and choice.level != "document") or (bundle is None and has_readers)
    opened = None if without_bundle else open_bundle("default" if bundle is None else bundle)
    addresses = {caller.endpoint.url for caller in callers if isinstance(caller, LlmPerspective)}
    of_bundle = () if opened is None else _load_bundle(opened, options, addresses, sentences_only=choice.only)
    callers = tuple(caller for caller in callers if not _is_declared(caller, of_bundle))
    names = [perspective.name for perspective in (*of_bundle, *callers)]
    declared = declare_named_models(choice, [*names, *RESERVED], trust_code=options.run.trust_code)
    named = load_named_models(declared, Loading(folder=NO_FOLDER, **options.arguments())) if declared else ()
    return LoadedModels(bundle=opened, of_bundle=of_bundle, named=named, callers=callers, declared=declared)


def _load_bundle(
    bundle: Bundle, options: ModelOptions, addresses: Collection[str], *, sentences_only: bool
) -> tuple[Perspective, ...]:
    loaded = bundle.perspectives(**options.arguments(), addresses=addresses)
    return tuple(item for item in loaded if item.level == "sentence" or not sentences_only)


def _is_declared(caller: Perspective, of_bundle: Sequence[Perspective]) -> bool:
    """Whether the user names a chat model that the bundle declares, and so only allows it."""
    return isinstance(caller, LlmPerspective) and any(
        (judge.endpoint.url, judge.endpoint.model) == (caller.endpoint.url, caller.endpoint.model)
        and caller.instruction in ("", judge.instruction)
        for judge in of_bundle
        if isinstance(judge, LlmPerspective)
    )

"""Find the families of models, and recognise a model's family from its files.

A family is never guessed from a model's name; settings that are missing in a model's files are listed in
known_models.json by the beginning of its hub name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from mpir.errors import ArtefactError, InputError, format_names, format_value
from mpir.models import families as package
from mpir.models.checkpoint_files.model_files import ModelFiles
from mpir.models.recognition.model_family import ModelFamily, Task
from mpir.plugins import FAMILIES as GROUP
from mpir.plugins import load_plugin, plugins_of


@cache
def families() -> tuple[ModelFamily, ...]:
    """Return all families, in the order in which they are asked: by precedence, then mpir's own, then packages'.

    mpir's own are those in their folder. Entry points would be as old as the installation: an editable one would miss a
    family that is new, and fail for one that is gone.

    Raises:
        InputError: a package's family cannot be imported.
    """
    names = sorted(module.name for module in iter_modules(package.__path__))
    own = [import_module(f"{package.__name__}.{name}").FAMILY for name in names]
    added = [load_plugin(GROUP, name) for name in sorted(plugins_of(GROUP))]
    return tuple(sorted([*own, *added], key=lambda family: -family.precedence))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecognisedModel:
    """A model with its family and the options that its files declare."""

    files: ModelFiles
    family: ModelFamily
    options: Mapping[str, Any]


def family_of(files: ModelFiles) -> ModelFamily | None:
    """Return the family of a model, or None for a model of no known family."""
    return next((family for family in families() if family.matches(files)), None)


def recognise(files: ModelFiles, task: Task, template: str | None = None) -> RecognisedModel:
    """Return the family of a model and what its files declare.

    Args:
        files: the model's files.
        task: the purpose for which the user names it.
        template: the name of a prompt that the user chooses; the model is read by the family that has it.

    Raises:
        ArtefactError: no family matches; the message names the files' declarations and the supported families.
        InputError: the model is for the other task; the message names the option for it.
    """
    family = family_of(files)
    if family is None:
        raise ArtefactError(
            f"{files.name}: is not a model that mpir knows (its files declare {describe(files)}); expected one of "
            f"{format_names([family.name for family in families()], 20)}."
        )
    if family.task != task:
        raise InputError(_wrong_task(files, family))
    if template is not None:
        family = next((family for family in families() if template in family.templates()), family)
    return RecognisedModel(files=files, family=family, options=family.options(files))


def template_names() -> list[str]:
    """Return the names of all families' prompts."""
    return [name for family in families() for name in family.templates()]


def register_types() -> None:
    """Let transformers know the types of models that families add."""
    for family in families():
        family.register_types()


def describe(files: ModelFiles) -> str:
    """Return a short description of the files' declarations, for a message."""
    architecture = files.architecture or f"the model type {format_value(files.config.get('model_type'))}"
    modules = f" with the modules {format_names(files.module_types)}" if files.modules else ""
    return f"{architecture}{modules}"


def _wrong_task(files: ModelFiles, family: ModelFamily) -> str:
    if family.task == "embedding":
        return (
            f"{files.name}: is an embedding model ({describe(files)}), which makes vectors and does not rerank; use it "
            "as an encoder, for an index with vectors, or name a reranker as the model."
        )
    return (
        f"{files.name}: is a reranker ({describe(files)}), which scores pairs and makes no vectors; use it as the "
        "model of `mpir rerank`, or name an embedding model as the encoder."
    )

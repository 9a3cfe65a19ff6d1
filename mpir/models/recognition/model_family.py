"""A family of models: how its files are recognised, and what it adds to the reading of models.

Only `name`, `task`, `perspective_type`, `matches` and `options` are needed. The other fields are hooks for a family
whose models mpir's own readers do not read as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mpir.core.columns import Level
from mpir.models.checkpoint_files.model_files import ModelFiles
from mpir.models.vectors.embedding import Pooling

Task = Literal["reranking", "embedding"]


def _opens_nothing(checkpoint: str) -> None:
    """Leave a checkpoint to mpir's readers."""


def _has_classifier(files: ModelFiles) -> None:
    """Leave the outputs to the model's classifier."""


def _accepts(files: ModelFiles, options: Mapping[str, Any]) -> None:
    """Accept all options."""


def _registers_nothing() -> None:
    """Use types that transformers has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFamily:
    """A family of models.

    Attributes:
        name: for messages and `mpir bundle show`.
        task: the purpose of its models: to score pairs, or to make vectors of texts.
        perspective_type: the ``kind`` of perspective that a bundle declares for them.
        matches: tells from its files whether a model belongs to the family.
        options: returns the keys of the bundle's entry besides ``checkpoint``, including the scale of the raw score.
        precedence: families with a higher one are asked first, where a model also has the form of a more general one.
        levels: what its models can read.
        takes_instruction: whether its models read a sentence about the task.
        templates: returns the names of its prompts; a user who names one reads the model by this family.
        check_options: raises InputError if a model cannot be read with the user's options and those of its files.
        load: makes the `Perspective` of the kind `perspective_type` from its name, the options of a bundle's entry and
            the `Loading` (models/perspectives/registration.py); None for a kind that is registered elsewhere.
        open_checkpoint: returns a `Checkpoint` (models/loading/checkpoint.py) if the files of a folder or hub name have
            a form of their own, and else None.
        score_layers: returns the pooling and the layers that make a pair's outputs in place of a classifier.
        model_types: types of configurations that the family adds to those of transformers. Such models read as many
            tokens as their configuration has positions.
        register_types: registers these types.
    """

    name: str
    task: Task
    perspective_type: str
    matches: Callable[[ModelFiles], bool]
    options: Callable[[ModelFiles], dict[str, Any]]
    precedence: int = 0
    levels: tuple[Level, ...] = ("document", "sentence")
    takes_instruction: bool = False
    templates: Callable[[], tuple[str, ...]] = tuple
    check_options: Callable[[ModelFiles, Mapping[str, Any]], None] = _accepts
    load: Callable[[str, Mapping[str, Any], Any], Any] | None = None
    open_checkpoint: Callable[[str], Any] = _opens_nothing
    score_layers: Callable[[ModelFiles], Pooling | None] = _has_classifier
    model_types: tuple[str, ...] = ()
    register_types: Callable[[], None] = _registers_nothing

"""Perspectives of models that the user names, recognised by their files and declared like entries of a bundle."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from mpir.errors import InputError, format_value
from mpir.models.checkpoint_files.hub import find_model, without_revision
from mpir.models.checkpoint_files.known_models import known_settings, warn_of_missing_prompts
from mpir.models.checkpoint_files.model_files import ModelFiles, read_model_files
from mpir.models.perspectives.base import Perspective
from mpir.models.perspectives.registration import Loading, build
from mpir.models.recognition.model_family import Task
from mpir.models.recognition.recognise import RecognisedModel, recognise
from mpir.validation import check_choice

ModelLevel = Literal["document", "sentence", "both"]
LEVELS: tuple[str, ...] = get_args(ModelLevel)
SENTENCES = "-sentences"
"""Suffix of a model's sentence column if it also has a document column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedModels:
    """Models named by the user, with their options.

    Attributes:
        names: hub names or folders.
        only: whether they replace the bundle's columns instead of joining them.
        level: what they read: ``document``, ``sentence`` or ``both``.
        revision: a branch, tag or commit of the hub's repository; for one model.
        options: settings that override those in the files, such as ``output``, ``max_length`` or ``scale``.
        encoders: hub names or folders of embedding models, whose similarity is a document column.
        llm: the URL of an OpenAI-compatible interface, with ``#MODEL`` where it serves several; the judgement of that
            chat model is a document column (models/perspectives/llm.py).
        instruction: a sentence about the task, for language models and the chat model.

    Raises:
        InputError: an invalid name, level or combination.
    """

    names: Sequence[str | Path] = ()
    only: bool = False
    level: ModelLevel = "document"
    revision: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    encoders: Sequence[str | Path] = ()
    llm: str | None = None
    instruction: str | None = None

    def __post_init__(self) -> None:
        check_choice("level", self.level, LEVELS)
        for name in (*self.names, *self.encoders):
            if not isinstance(name, str | Path) or not str(name).strip():
                raise InputError(f"model is {format_value(name)}; expected a hub name or a folder.")
        for field_name in ("names", "encoders"):
            object.__setattr__(self, field_name, tuple(map(str, getattr(self, field_name))))
        if not self.names and (self.only or self.revision is not None or self.options or self.level != "document"):
            raise InputError("only, level, revision and options are for a model, but none is named.")
        if self.revision is not None and len(self.names) > 1:
            raise InputError(f"revision {format_value(self.revision)} is for one model (got {len(self.names)} models).")
        if not isinstance(self.options, Mapping):
            raise InputError(f"options is {format_value(self.options)}; expected an object of options by name.")
        if self.instruction is not None and not self.names and self.llm is None:
            raise InputError("instruction needs a model or llm, but none is named. Name one, or leave it out.")

    @property
    def model_options(self) -> dict[str, Any]:
        """The options of the models, with the instruction among them."""
        return {**self.options, **({} if self.instruction is None else {"instruction": self.instruction})}


def open_model(
    name: str, task: Task, revision: str | None = None, *, template: str | None = None, with_code: bool = False
) -> RecognisedModel:
    """Find a model's files and recognise its family; a `template` chooses the family that has it.

    Raises:
        ArtefactError: the model does not exist, or mpir does not support it.
        InputError: the model is for the other task.
    """
    snapshot = find_model(name, revision, with_code=with_code)
    name = name if snapshot.revision is None else without_revision(name)
    return recognise(read_model_files(snapshot.folder, name, revision=snapshot.revision), task, template)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredModel:
    """One column of a model that a user names: its entry in a bundle's manifest, and the model's files."""

    entry: Mapping[str, Any]
    files: ModelFiles


def declare_named_models(
    choice: NamedModels, reserved: Collection[str] = (), *, trust_code: bool = False
) -> tuple[DeclaredModel, ...]:
    """Declare the columns of the models that a user names: one for each level that each model reads.

    Args:
        choice: the models.
        reserved: names of other columns, which must not be repeated.
        trust_code: whether a model's own Python code may run.

    Raises:
        ArtefactError: a model does not exist, or mpir does not support it.
        InputError: a model is for another task, or an option is invalid.
    """
    names = set(reserved)
    trusted = {"trust_remote_code": True} if trust_code else {}
    declared: list[DeclaredModel] = []
    tasks: list[tuple[str, Task]] = [(str(name), "reranking") for name in choice.names]
    tasks += [(str(name), "embedding") for name in choice.encoders]
    for name, task in tasks:
        revision = choice.revision if task == "reranking" else None  # an encoder has its own: org/name@REVISION
        template = choice.options.get("template") if task == "reranking" else None
        recognised = open_model(name, task, revision, template=template, with_code=trust_code)
        column = short_name(recognised.files.name, names)
        names |= {column, column + SENTENCES}
        declare = _declare if task == "reranking" else _declare_encoder
        declared += (
            DeclaredModel(entry={**entry, **trusted}, files=recognised.files)
            for entry in declare(recognised, column, choice)
        )
    return tuple(declared)


def load_named_models(declared: Sequence[DeclaredModel], loading: Loading) -> tuple[Perspective, ...]:
    """Load the perspectives of declared models; those of one checkpoint share its encoder.

    Raises:
        ArtefactError: a model cannot be loaded.
        InputError: an option is invalid.
    """
    loading = replace(loading, may_fetch=True)
    return tuple(build(model.entry, loading) for model in declared)


def _declare(recognised: RecognisedModel, column: str, choice: NamedModels) -> Iterator[dict[str, Any]]:
    """Yield the bundle entries of one reranker."""
    _check_level(recognised, choice.level)
    options = model_options(recognised, choice.model_options)
    options |= {"checkpoint": str(recognised.files.transformer_folder.resolve())}
    sentence_output = options.pop("sentence_output", None)
    of_sentences = {} if sentence_output is None else {"output": sentence_output}
    for level in ("document", "sentence"):
        if choice.level not in (level, "both"):
            continue
        # Tuned weights never rescale sentence columns, so these need a bounded scale.
        reading = {**options, **of_sentences, "scale": "probability"} if level == "sentence" else options
        name = column + SENTENCES if level == "sentence" and choice.level == "both" else column
        yield {"name": name, "kind": recognised.family.perspective_type, "level": level, **reading}


def _check_level(recognised: RecognisedModel, level: str) -> None:
    """Raise InputError for a level that models of the family do not read."""
    levels = recognised.family.levels
    if len(levels) == 1 and level != levels[0]:
        raise InputError(f"{recognised.files.name}: orders {levels[0]}s (got level {level}). Leave level out.")


def _declare_encoder(recognised: RecognisedModel, column: str, _: NamedModels) -> Iterator[dict[str, Any]]:
    """Yield the bundle entry of one embedding model, with the settings that mpir knows for its hub name."""
    warn_of_missing_prompts(recognised.files)
    options = {**recognised.options, **known_settings(recognised.files)}
    checkpoint = str(recognised.files.folder.resolve())
    yield {"name": column, "kind": "bi-encoder", "level": "document", **options, "checkpoint": checkpoint}


def model_options(recognised: RecognisedModel, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a model's perspective: the chosen ones, then those that its files declare.

    Raises:
        InputError: the model cannot be read with these options.
    """
    files, family = recognised.files, recognised.family
    options = {**recognised.options, **chosen}
    if "output" in chosen and "against" not in chosen:
        options.pop("against", None)
    if "instruction" in options and not family.takes_instruction:
        raise InputError(
            f"{files.name}: a model of this family ({family.name}) takes no instruction. Leave it out, or name a "
            "language model."
        )
    family.check_options(files, options)
    return options


def short_name(name: str, reserved: Collection[str]) -> str:
    """Return the name of a model's column: the last part of its name, numbered if another column has that name."""
    base = Path(name).resolve().name if name.startswith((".", "~")) else name.rstrip("/").rpartition("/")[2]
    numbered = (base if number == 1 else f"{base}-{number}" for number in range(1, len(reserved) + 2))
    return next(candidate for candidate in numbered if candidate not in reserved)

"""Read the declarations in a checkpoint's files: architecture, modules, pooling, prompts, length and licence.

Only JSON files and the head of the model card are read. No code from the checkpoint runs, and no library is imported.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mpir.errors import ArtefactError, format_value, shortened
from mpir.models.checkpoint_files.foreign_forms import check_form

CONFIG, MODULES = "config.json", "modules.json"
SENTENCE_TRANSFORMERS = "config_sentence_transformers.json"
TRANSFORMER = tuple(
    f"sentence_{name}_config.json"
    for name in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
"""sentence-transformers' names for a transformer's settings, the later ones from its first versions."""
CARD, ADAPTER = "README.md", "adapter_config.json"
LARGEST = 2**22
"""The largest size, in bytes, of a JSON file or model card."""


@dataclass(frozen=True, slots=True)
class Module:
    """A sentence-transformers module: its class name, its folder inside the model, and its configuration."""

    type: str
    path: str
    config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """The declarations in a model's files; a missing file is an empty mapping.

    Attributes:
        name: a hub name or a folder, as given by the user.
        folder: the folder of the files.
        config: config.json.
        modules: the modules of modules.json, in order, with their configurations.
        sentence_transformers: config_sentence_transformers.json (prompts, similarity, activation).
        transformer: sentence_bert_config.json, or a file with a former name, in the first module's folder.
        revision: the commit of a hub's snapshot.
        licence: the licence in the model card.
    """

    name: str
    folder: Path
    config: Mapping[str, Any]
    modules: tuple[Module, ...] = ()
    sentence_transformers: Mapping[str, Any] = field(default_factory=dict)
    transformer: Mapping[str, Any] = field(default_factory=dict)
    revision: str | None = None
    licence: str | None = None

    @property
    def architecture(self) -> str:
        """The transformers class that saved the checkpoint, such as BertForSequenceClassification."""
        architectures = self.config.get("architectures")
        named = isinstance(architectures, list) and architectures and isinstance(architectures[0], str)
        return str(architectures[0]) if named and architectures else ""

    @property
    def transformer_folder(self) -> Path:
        """The folder of the transformer's own files; older sentence-transformers models have a separate one."""
        return self.folder / next((module.path for module in self.modules), "")

    @property
    def labels_count(self) -> int:
        """The number of a classifier's outputs."""
        labels = self.config.get("id2label")
        return len(labels) if isinstance(labels, dict) else int(self.config.get("num_labels") or 2)

    @property
    def max_seq_length(self) -> int | None:
        """The declared limit of tokens in a text or pair, or None."""
        declared = self.transformer.get("max_seq_length")
        is_limit = isinstance(declared, int) and not isinstance(declared, bool) and declared > 0
        return declared if is_limit else None

    @property
    def default_prompt(self) -> str:
        """The prompt that sentence-transformers applies unless another is named, or none."""
        prompts = self.sentence_transformers.get("prompts") or {}
        return prompts.get(self.sentence_transformers.get("default_prompt_name")) or ""

    @property
    def reads_messages(self) -> bool:
        """Whether sentence-transformers reads inputs with the tokenizer's chat template."""
        modalities = self.transformer.get("modality_config")
        return isinstance(modalities, dict) and "message" in modalities

    @property
    def module_types(self) -> tuple[str, ...]:
        """The class names of the modules."""
        return tuple(module.type for module in self.modules)

    def module(self, type_name: str) -> Module | None:
        """Return the first module of a class name, or None."""
        return next((module for module in self.modules if module.type == type_name), None)


def check_no_adapter(checkpoint: str | Path) -> None:
    """Raise ArtefactError for a folder with an adapter, which refers to its base model by name."""
    if (Path(checkpoint) / ADAPTER).is_file():
        raise ArtefactError(
            f"{checkpoint}: contains an adapter ({ADAPTER}), which mpir does not load; merge it into its model "
            "(merge_and_unload in peft) and give that folder."
        )


def read_model_files(folder: Path, name: str | None = None, *, revision: str | None = None) -> ModelFiles:
    """Read the declarations in a folder's files.

    Args:
        folder: a folder with a config.json or a modules.json.
        name: the model's name in messages; by default the folder.
        revision: the commit of a hub's snapshot.

    Raises:
        ArtefactError: neither file exists, one of them is damaged, or the model has a form that mpir does not read.
    """
    name = str(folder) if name is None else name
    check_no_adapter(folder)
    if not (folder / CONFIG).is_file() and not (folder / MODULES).is_file():
        check_form(folder, name, {}, (), {})
        raise ArtefactError(
            f"{name}: has neither a {CONFIG} nor a {MODULES}, so it is not a model; give the folder of a checkpoint or "
            "a hub name."
        )
    modules = _read_modules(folder)
    first = next((module.path for module in modules), "")
    config, settings = _read_object(folder / first / CONFIG), _read_object(folder / SENTENCE_TRANSFORMERS)
    check_form(folder, name, config, [module.type for module in modules], settings)
    return ModelFiles(
        name=name,
        folder=folder,
        config=config,
        modules=modules,
        sentence_transformers=settings,
        transformer=next(filter(None, (_read_object(folder / first / name) for name in TRANSFORMER)), {}),
        revision=revision,
        licence=read_licence(folder / CARD),
    )


def _read_modules(folder: Path) -> tuple[Module, ...]:
    path = folder / MODULES
    if not path.is_file():
        return ()
    entries = _read(path)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ArtefactError(f"{path}: is {format_value(entries)}; expected a list of modules. Restore the file.")
    modules = []
    for entry in entries:
        type_name, subfolder = entry.get("type"), entry.get("path", "")
        if not isinstance(type_name, str) or not isinstance(subfolder, str) or not _is_inside(subfolder):
            raise ArtefactError(
                f"{path}: invalid module (got {format_value(entry)}, expected a type and a path inside the model). "
                "Restore the file."
            )
        config = _read_object(folder / subfolder / CONFIG) if subfolder else {}
        modules.append(Module(type_name.rpartition(".")[2], subfolder, config))
    return tuple(modules)


def _is_inside(subfolder: str) -> bool:
    return not subfolder.startswith(("/", "\\")) and ".." not in Path(subfolder).parts


def _read_object(path: Path) -> Mapping[str, Any]:
    """Return a file's JSON object, or {} if there is no such file. Raises ArtefactError for another value."""
    if not path.is_file():
        return {}
    values = _read(path)
    if not isinstance(values, dict):
        raise ArtefactError(f"{path}: is {format_value(values)}; expected a JSON object. Restore the checkpoint.")
    return values


def _read(path: Path) -> Any:
    if path.stat().st_size > LARGEST:
        raise ArtefactError(
            f"{path}: is too large (got {path.stat().st_size:,} bytes, expected at most {LARGEST:,}). Restore the "
            "checkpoint."
        )
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ArtefactError(
            f"{path}: cannot be read as JSON ({shortened(str(error))}). Restore the checkpoint."
        ) from error


def read_licence(path: Path) -> str | None:
    """Return the licence in the YAML head of a model card, or None."""
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            head = stream.read(2**16)
    except OSError:
        return None
    if not head.startswith("---"):
        return None
    for line in head[3:].partition("\n---")[0].splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip() in ("license", "licence") and value.strip():
            return value.strip().strip("\"'")
    return None

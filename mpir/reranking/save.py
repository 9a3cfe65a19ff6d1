"""Save a reranker as a bundle: its perspectives, the files or pinned hub names of their models, weights and card."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from tabulate import tabulate

from mpir.core.calibration import Calibration
from mpir.core.weights import Weights
from mpir.errors import InputError, format_value
from mpir.files.checksum import write_json_with_checksum
from mpir.files.folder_format import file_names
from mpir.files.paths import checked_path
from mpir.files.weights import write_weights
from mpir.files.write import atomic_folder, write_json
from mpir.models.bundles.bundle import BUNDLE, MANIFEST, RELEVANCE, Bundle, seal
from mpir.models.bundles.bundle_models import UNKNOWN, models_of
from mpir.models.checkpoint_files.hub import OLD_WEIGHTS, SAFE_WEIGHTS, SETTINGS, SKIPPED, find_hub_model, revision_of
from mpir.models.checkpoint_files.model_files import CARD
from mpir.models.perspectives.named_models import DeclaredModel
from mpir.reranking.models import LoadedModels

WEIGHTS, BUNDLE_CARD = "weights.json", "CARD.md"
OMITTED = (*SKIPPED, "checkpoint-*/*")
"""Files of a checkpoint's folder that no model reads: other formats, and states of training."""


@dataclass(frozen=True, slots=True)
class Contents:
    """A bundle's entries, that of its encoder for search (at most one), and the source folders and licences of its
    checkpoints by their names in the bundle."""

    entries: list[dict[str, Any]] = field(default_factory=list)
    encoder: list[dict[str, Any]] = field(default_factory=list)
    sources: dict[str, Path] = field(default_factory=dict)
    licences: dict[str, str] = field(default_factory=dict)

    def add(self, entry: Mapping[str, Any], source: Path, licence: str | None) -> None:
        """Add an entry whose checkpoint is copied into the bundle."""
        known = next((name for name, folder in self.sources.items() if folder == source), None)
        name = known or self._free_name(source.name)
        self.sources[name] = source
        self.licences[name] = licence or UNKNOWN
        self.entries.append({**entry, "checkpoint": name})

    def _free_name(self, base: str) -> str:
        numbered = (base if number == 1 else f"{base}-{number}" for number in range(1, len(self.sources) + 2))
        return next(name for name in numbered if name not in self.sources)


def save_bundle(folder: str | Path, loaded: LoadedModels, weights: Weights, calibration: Calibration | None) -> None:
    """Write a bundle; see `Reranker.save_pretrained`.

    Raises:
        InputError: a perspective of the caller cannot be declared in a file.
        OutputError: the folder cannot be written, or the path already exists and is not a bundle.
    """
    contents = Contents()
    encoders = [model for model in loaded.declared if model.entry["kind"] == "bi-encoder"]
    for model in encoders:  # first, since an index takes the first bi-encoder of a bundle
        _add_named(contents, model)
    _add_bundle(contents, loaded)
    for model in loaded.declared:
        if model not in encoders:
            _add_named(contents, model)
    contents.entries.extend(map(_declaration, loaded.callers))
    manifest: dict[str, Any] = {"name": checked_path(folder).resolve().name, "perspectives": contents.entries}
    manifest |= {"weights": WEIGHTS, "card": BUNDLE_CARD}
    manifest |= dict(zip(["encoder"], contents.encoder, strict=False))
    with atomic_folder(folder, BUNDLE) as temporary:
        for name, source in contents.sources.items():
            _copy_checkpoint(source, temporary / name, contents.licences[name])
        write_weights(temporary / WEIGHTS, weights)
        if calibration is not None:
            write_json_with_checksum(temporary / RELEVANCE, calibration.to_dict())
            manifest["relevance"] = RELEVANCE
        (temporary / BUNDLE_CARD).write_text(_card(manifest, contents, loaded.bundle, weights), encoding="utf-8")
        write_json(temporary / MANIFEST, manifest)
        seal(temporary, built=True)


def _add_bundle(contents: Contents, loaded: LoadedModels) -> None:
    """Add the entries of the bundle's loaded perspectives; hub names are pinned to a commit."""
    if loaded.bundle is None:
        return
    names = {perspective.name for perspective in loaded.of_bundle}
    licences = {model.checkpoint: model.licence for model in models_of(loaded.bundle)}
    encoder = loaded.bundle.manifest.get("encoder")
    for entry in loaded.bundle.entries:
        if entry is not encoder and entry["name"] not in names:
            continue
        checkpoint = entry.get("checkpoint")
        source = loaded.bundle.folder / str(checkpoint)
        if checkpoint is None:
            contents.entries.append(dict(entry))
        elif source.is_dir():
            contents.add(entry, source.resolve(), licences.get(checkpoint))
        else:
            revision = entry.get("revision") or revision_of(checkpoint)
            contents.entries.append({**entry, "revision": find_hub_model(checkpoint, revision, fetch=False).revision})
    if encoder is not None:
        contents.encoder.append(contents.entries.pop())


def _add_named(contents: Contents, model: DeclaredModel) -> None:
    """Add the entry of a model that the user named: pinned to the hub's commit, or with a copy of its folder."""
    files, entry = model.files, _pin_query_encoder(model.entry)
    source = Path(entry["checkpoint"])
    if files.revision is not None and source == files.folder.resolve():
        contents.entries.append({**entry, "checkpoint": files.name, "revision": files.revision})
    else:
        contents.add(entry, source, files.licence)


def _pin_query_encoder(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Pin the query encoder of an entry to the hub's commit, if queries have their own encoder."""
    name = entry.get("query_encoder")
    commit = None if name is None else find_hub_model(str(name)).revision
    return {**entry, "query_encoder": f"{str(name).partition('@')[0]}@{commit}"} if commit else dict(entry)


def _declaration(perspective: Any) -> dict[str, Any]:
    """Return the bundle entry of a caller's perspective. Raises InputError if it has none."""
    declaration = getattr(perspective, "declaration", None)
    if declaration is None:
        raise InputError(
            f"perspective {format_value(perspective.name)} is a Python object, which a bundle cannot contain; leave it "
            "out, or register its class and declare it in bundle.json (docs/guides/perspectives.md)."
        )
    return dict(declaration)


def _copy_checkpoint(source: Path, folder: Path, licence: str) -> None:
    """Copy the files of a model; if it has no card, write one with its licence."""
    for name in _model_files(source):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, folder / name)
    if not (folder / CARD).is_file() and licence != UNKNOWN:
        (folder / CARD).write_text(f"---\nlicense: {licence}\n---\n", encoding="utf-8")


def _model_files(source: Path) -> Iterator[str]:
    """Yield the names of a model's files; Python files only for models that need them."""
    has_safe_weights = any(source.glob(SAFE_WEIGHTS[0]))
    patterns = (*SETTINGS, *SAFE_WEIGHTS, "*.py", "*.jinja", *(() if has_safe_weights else OLD_WEIGHTS))
    for name in sorted(file_names(source)):
        is_omitted = any(fnmatch(name, pattern) for pattern in OMITTED)
        if not is_omitted and any(fnmatch(name, pattern) for pattern in patterns):
            yield name


def _card(manifest: Mapping[str, Any], contents: Contents, base: Bundle | None, weights: Weights) -> str:
    """Return a model card: perspectives and models, untuned weights, and the card of the bundle it was made from."""
    columns = ("name", "kind", "checkpoint", "revision")
    rows = [[entry.get(key, "") for key in columns] for entry in manifest["perspectives"]]
    licences = {*contents.licences.values()}
    licence = f"license: {licences.pop()}\n" if len(licences) == 1 and UNKNOWN not in licences else ""
    head = f"---\n{licence}library_name: mpir\npipeline_tag: text-ranking\ntags:\n  - reranking\n---\n"
    tuned = weights.made_by.get("perspectives", {})
    untuned = [entry["name"] for entry in manifest["perspectives"] if entry["name"] not in tuned]
    note = f"No weight is tuned for: {', '.join(untuned)} (mpir score, mpir tune).\n" if untuned else ""
    licence_rows = tabulate(sorted(contents.licences.items()), ("checkpoint", "licence"), tablefmt="github")
    copied = f"{licence_rows}\n\n" if contents.licences else ""
    below = "" if base is None else f"\n## Made from the bundle {base.name}\n\n{_without_head(base.card)}"
    table = tabulate(rows, columns, tablefmt="github")
    return f"{head}\n# {manifest['name']}\n\n{table}\n\n{copied}{note}{below}"


def _without_head(card: str) -> str:
    """Return a card without its YAML header."""
    return card.partition("\n---\n")[2].lstrip() if card.startswith("---\n") else card

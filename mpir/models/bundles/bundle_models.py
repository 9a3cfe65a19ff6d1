"""The models of a bundle's perspectives: checkpoints, revisions and licences."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from mpir.errors import ArtefactError
from mpir.models.bundles.bundle import Bundle
from mpir.models.checkpoint_files.hub import find_hub_model
from mpir.models.checkpoint_files.model_files import CARD, CONFIG, read_licence, read_model_files

UNKNOWN = "not declared"


class BundleModel(NamedTuple):
    """One checkpoint of a bundle, and the perspectives that read it."""

    checkpoint: str
    perspectives: str
    revision: str
    licence: str


def models_of(bundle: Bundle) -> list[BundleModel]:
    """Return the checkpoints of a bundle in the order of its manifest.

    A checkpoint inside the bundle without its own card has the licence of the bundle.

    Raises:
        ArtefactError: a hub's model is not in the local cache and cannot be fetched.
    """
    names: dict[tuple[str, str | None], list[str]] = {}
    for entry in bundle.entries:
        if "checkpoint" in entry:
            names.setdefault((str(entry["checkpoint"]), entry.get("revision")), []).append(entry["name"])
    return [_describe(bundle, checkpoint, revision, ", ".join(readers))
            for (checkpoint, revision), readers in names.items()]  # fmt: skip


def _describe(bundle: Bundle, checkpoint: str, revision: str | None, perspectives: str) -> BundleModel:
    inside = bundle.folder / checkpoint
    if inside.is_dir():
        licence = read_licence(inside / CARD) or read_licence(_card(bundle))
        return BundleModel(checkpoint, perspectives, revision or "in the bundle", licence or UNKNOWN)
    snapshot = find_hub_model(checkpoint, revision, fetch=False)
    if not (snapshot.folder / CONFIG).is_file():
        raise ArtefactError(f"{checkpoint}: {CONFIG} is missing; fetch the model again.")
    licence = read_model_files(snapshot.folder, checkpoint).licence
    return BundleModel(checkpoint, perspectives, revision or f"{snapshot.revision} (not pinned)", licence or UNKNOWN)


def _card(bundle: Bundle) -> Path:
    return bundle.folder / str(bundle.manifest.get("card", CARD))

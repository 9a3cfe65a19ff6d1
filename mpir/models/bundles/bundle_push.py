"""Upload a bundle to a hub's repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mpir.errors import InputError, OutputError, format_value, shortened
from mpir.models.bundles.bundle import HUB_NAME, MANIFEST, Bundle, open_bundle
from mpir.models.checkpoint_files.model_files import CARD


def push_bundle(folder: str | Path, name: str, *, private: bool = False, message: str | None = None) -> str:
    """Upload the files that a sealed bundle lists as one commit, and return the URL of the commit.

    Args:
        folder: the bundle.
        name: the hub's repository, ``org/name``, which is created if it does not exist.
        private: whether a new repository is private.
        message: the commit message.

    Raises:
        ArtefactError: the folder is not a bundle, or its files don't match its manifest.
        InputError: the name is invalid, or the bundle needs files outside its folder.
        OutputError: the hub rejects the upload, or cannot be reached.
    """
    from huggingface_hub import HfApi

    if HUB_NAME.fullmatch(name) is None or "@" in name:
        raise InputError(f"repository {format_value(name)} is invalid (expected org/name).")
    bundle = open_bundle(Path(folder))
    _check_complete(bundle)
    operations = list(_operations(bundle, name))
    try:
        hub = HfApi(library_name="mpir")
        hub.create_repo(name, private=private, exist_ok=True)
        commit = hub.create_commit(name, operations, commit_message=message or f"Upload bundle {bundle.name}")
    except (
        Exception
    ) as error:  # HTTP, the hub's client and the network raise unrelated types, and all mean that uploading failed
        raise OutputError(_refusal(name, error)) from error
    return str(commit.commit_url)


def _check_complete(bundle: Bundle) -> None:
    """Raise InputError for a bundle that is not sealed, or has a checkpoint outside its folder."""
    files = bundle.manifest.get("files")
    if not files:
        raise InputError(
            f"{bundle.folder}: the bundle is not sealed, so its files cannot be verified; run `mpir bundle seal`."
        )
    for entry in bundle.manifest["perspectives"]:
        checkpoint = str(entry.get("checkpoint", ""))
        is_inside = any(name.startswith(f"{checkpoint}/") for name in files)
        if checkpoint and not is_inside and HUB_NAME.fullmatch(checkpoint) is None:
            raise InputError(
                f"{bundle.folder}: the checkpoint {format_value(checkpoint)} of {format_value(entry['name'])} is not "
                "in the bundle, so others could not load it; run `mpir bundle new` to make a bundle that contains it."
            )


def _operations(bundle: Bundle, name: str) -> Iterator[Any]:
    """Yield the files of the commit: the manifest, its files, and the card under the name that the hub displays."""
    from huggingface_hub import CommitOperationAdd

    files = [MANIFEST, *bundle.manifest["files"]]
    for file in files:
        yield CommitOperationAdd(path_in_repo=file, path_or_fileobj=bundle.folder / file)
    if CARD not in files:
        card = bundle.card or f"# {name}\n"
        yield CommitOperationAdd(path_in_repo=CARD, path_or_fileobj=card.encode())


def _refusal(name: str, error: Exception) -> str:
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status in (401, 403):
        return f"{name}: the hub rejected the upload (status {status}). Set $HF_TOKEN to a token with write access."
    reason = shortened(f"{type(error).__name__}: {error}", 160) if status is None else f"status {status}"
    return f"{name}: upload failed ({reason}). Check the name and the network, and try again."

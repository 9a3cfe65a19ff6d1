"""Upload a bundle to a hub's repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mpir.errors import InputError, OutputError, format_value, shortened
from mpir.models.model_files import CARD
from mpir.perspectives.bundle import HUB_NAME, MANIFEST, Bundle, open_bundle


def push_bundle(folder: str | Path, name: str, *, private: bool = False, message: str | None = None) -> str:
    """Upload the files that a sealed bundle lists as one commit, and return its address.

    Args:
        folder: the bundle.
        name: the hub's repository, ``org/name``, which is created if it does not exist.
        private: whether a new repository is private.
        message: the commit message.

    Raises:
        ArtefactError: no bundle, or files that don't match its manifest.
        InputError: an invalid name, or a bundle that needs files outside it.
        OutputError: the hub refuses, or cannot be reached.
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
    except Exception as error:  # errors of HTTP, the hub or the network
        raise OutputError(_refusal(name, error)) from error
    return str(commit.commit_url)


def _check_complete(bundle: Bundle) -> None:
    """Raise InputError for a bundle that is not sealed, or has a checkpoint outside its folder."""
    files = bundle.manifest.get("files")
    if not files:
        raise InputError(f"{bundle.folder}: is not sealed, so nobody could check it; run `mpir bundle seal` on it.")
    for entry in bundle.manifest["perspectives"]:
        checkpoint = str(entry.get("checkpoint", ""))
        is_inside = any(name.startswith(f"{checkpoint}/") for name in files)
        if checkpoint and not is_inside and HUB_NAME.fullmatch(checkpoint) is None:
            raise InputError(
                f"{bundle.folder}: the checkpoint {format_value(checkpoint)} of {format_value(entry['name'])} is not "
                "in the bundle, so it would work nowhere else; make a bundle that has it by `mpir bundle new`."
            )


def _operations(bundle: Bundle, name: str) -> Iterator[Any]:
    """Return the files of the commit: the manifest, its files, and the card under the name that the hub displays."""
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
        return f"{name}: the hub refuses the upload (status {status}). Set $HF_TOKEN to a key that may write there."
    reason = shortened(f"{type(error).__name__}: {error}", 160) if status is None else f"status {status}"
    return f"{name}: cannot be uploaded ({reason}). Check the name and the network, and try again."

"""Fetch a bundle from a hub's repository."""

from __future__ import annotations

import glob
from functools import lru_cache
from pathlib import Path

from mpir.errors import ArtefactError, MpirError, format_value
from mpir.files.checksum import read_json_with_checksum
from mpir.models.checkpoint_files.hub import describe_failure, revision_of, run_download, without_revision

MOST_FILES = 1000
"""Maximum number of files in the manifest of a hub's bundle."""
NO_MANIFEST = ("EntryNotFoundError", "RemoteEntryNotFoundError")
"""Errors of the hub's client for a repository without a manifest."""


@lru_cache(maxsize=32)
def fetch_bundle(name: str, manifest: str) -> Path:
    """Fetch a hub's bundle into the local cache, once in a process, and return the path of its manifest.

    Args:
        name: ``org/name``, or ``org/name@REVISION`` with a branch, tag or commit.
        manifest: the name of a manifest.

    Raises:
        ArtefactError: the repository does not exist or is not a bundle, or the hub cannot be reached.
    """
    from huggingface_hub import hf_hub_download, snapshot_download

    repository, revision = without_revision(name), revision_of(name)
    try:
        manifest_path = Path(run_download(repository, hf_hub_download, repository, manifest, revision=revision))
        patterns = [manifest, *map(glob.escape, _listed_files(manifest_path))]
        options = {"revision": manifest_path.parent.name, "allow_patterns": patterns}
        run_download(repository, snapshot_download, repository, **options)
    except MpirError:
        raise
    except (
        Exception
    ) as error:  # HTTP, the hub's client and the disk raise unrelated types, and all mean that fetching failed
        if type(error).__name__ in NO_MANIFEST:
            raise ArtefactError(_no_bundle(name, manifest)) from error
        message = describe_failure(repository, revision, error).removeprefix("model ")
        raise ArtefactError(f"bundle {message}") from error
    return manifest_path


def _listed_files(manifest_path: Path) -> list[str]:
    files = read_json_with_checksum(manifest_path).get("files")
    if not isinstance(files, dict) or len(files) > MOST_FILES:
        raise ArtefactError(
            f"{manifest_path}: invalid files (got {format_value(files)}, expected hashes of at most {MOST_FILES:,} "
            "files). Seal the bundle before uploading it."
        )
    return list(files)


def _no_bundle(name: str, manifest: str) -> str:
    return (
        f"bundle {format_value(name)}: the repository has no {manifest}, so it is not a bundle. Name a reranker "
        "as a model, and an embedding model as an encoder."
    )

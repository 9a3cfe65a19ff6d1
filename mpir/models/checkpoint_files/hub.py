"""Locate a model's files: a folder, or the local snapshot of a hub repository, downloaded if needed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from mpir.errors import ArtefactError, InputError, format_names, format_value, shortened
from mpir.files.read import found_file, found_folder
from mpir.models.checkpoint_files.foreign_forms import form_of_file

SETTINGS = ("*.json", "*.txt", "*.model", "*.tiktoken", "README.md", "artifact.metadata")
SAFE_WEIGHTS, OLD_WEIGHTS = ("*.safetensors",), ("pytorch_model*.bin", "*/pytorch_model.bin")
SKIPPED = ("onnx/*", "openvino/*", "original/*", "coreml/*", "gguf/*", "*consolidated*", "*.onnx")
"""Copies of the weights in other formats."""


STALL, STALL_BYTES = 60.0, 2**16
"""Seconds, and the bytes that a hub must send in them; its client would wait for ever for an answer that trickles."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A model's files: their folder, and the commit of a hub repository, or None for a local folder."""

    folder: Path
    revision: str | None = None


def find_model(name: str, revision: str | None = None, *, with_code: bool = False, fetch: bool = True) -> Snapshot:
    """Locate a model's files; those on a hub are downloaded unless they are in the local cache.

    Args:
        name: a folder, or a hub name such as ``org/model``, or ``org/model@REVISION``.
        revision: a branch, tag or commit of the hub's repository.
        with_code: whether to download Python files, too.
        fetch: whether to ask a hub; False for a name that the user did not give, which is then read from the cache.

    Raises:
        ArtefactError: no such folder or model, or the hub is unreachable or refuses.
        InputError: a revision is given for a folder, or a model must be fetched and `fetch` is False.
    """
    folder = found_folder(name)
    if folder is not None:
        if revision is not None:
            raise InputError(f"{name}: is a folder and has no revision (got {format_value(revision)}); leave it out.")
        if name.count("/") == 1 and name[0] not in "./~" and name in cached_models():
            _log.warning("%s: the folder of that name is read, not the hub's model; write ./%s to name it", name, name)
        return Snapshot(folder)
    if (path := found_file(name)) is not None:
        form = form_of_file(path)
        kind = "a file" if form is None else f"a file of the form {form}, which mpir does not read"
        raise ArtefactError(f"model {format_value(name)}: is {kind}; give the folder of a checkpoint, or a hub name.")
    return find_hub_model(name, revision, with_code=with_code, fetch=fetch)


def find_hub_model(name: str, revision: str | None = None, *, with_code: bool = False, fetch: bool = True) -> Snapshot:
    """Locate a hub's model, whatever folders the working folder has: a file names it, and not the user.

    Raises:
        ArtefactError, InputError: as `find_model`.
    """
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or not name.strip():
        raise ArtefactError(f"model {format_value(name)}: no such folder; check the path, or give a hub name.")
    return _fetch(without_revision(name), revision_of(name) or revision, with_code=with_code, fetch=fetch)


def without_revision(name: str) -> str:
    """Return the hub name of ``org/model@REVISION``."""
    return name.partition("@")[0]


def revision_of(name: str) -> str | None:
    """Return the revision of ``org/model@REVISION``, or None for a name without one."""
    return name.partition("@")[2] or None


def _fetch(name: str, revision: str | None, *, with_code: bool, fetch: bool) -> Snapshot:
    """Return the snapshot of a hub repository. Raises ArtefactError if it is not available."""
    from huggingface_hub import snapshot_download

    patterns = (*SETTINGS, *SAFE_WEIGHTS, *(("*.py",) if with_code else ()))
    options: dict[str, Any] = {"revision": revision, "ignore_patterns": list(SKIPPED), "local_files_only": not fetch}
    try:
        folder = Path(run_download(name, snapshot_download, name, allow_patterns=list(patterns), **options))
        if not any(folder.glob(SAFE_WEIGHTS[0])):
            run_download(name, snapshot_download, name, allow_patterns=list(OLD_WEIGHTS), **options)
    except Exception as error:  # HTTP, hub and disk errors alike
        if not fetch:
            raise InputError(
                f"model {format_value(name)}: would be fetched from a hub by its name in a file, which is not done "
                "unasked. Name it yourself as a model or an encoder, or allow it (--trust-code, trust_code=True)."
            ) from None
        raise ArtefactError(describe_failure(name, revision, error)) from error
    return Snapshot(folder, folder.name)


def run_download(name: str, fetch: Callable[..., str], *arguments: Any, **options: Any) -> str:
    """Return what a function of the hub's client returns, as long as a repository's files arrive in the local cache.

    Raises:
        TimeoutError: fewer than STALL_BYTES bytes came in STALL seconds. The client's thread is left behind.
    """
    result: Future[str] = Future()

    def run() -> None:
        """Fetch, and hand the result or the error to the waiting thread."""
        try:
            result.set_result(fetch(*arguments, **options))
        except BaseException as error:  # raised again in the waiting thread, which would wait for ever otherwise
            result.set_exception(error)

    threading.Thread(target=run, name="mpir-hub", daemon=True).start()
    size = -STALL_BYTES
    while wait([result], STALL).not_done:
        size, before = _bytes_of(name), size
        if size - before < STALL_BYTES:
            raise TimeoutError
    return result.result()


def _bytes_of(name: str) -> int:
    """The bytes of a repository's files in the local cache, those that are not complete included."""
    from huggingface_hub import constants

    size = 0
    for path in Path(constants.HF_HUB_CACHE, f"models--{name.replace('/', '--')}", "blobs").glob("*"):
        with suppress(FileNotFoundError):  # renamed as it is complete
            size += path.stat().st_size
    return size


def describe_failure(name: str, revision: str | None, error: Exception) -> str:
    """Describe an error of the hub's client in one sentence, with a remedy."""
    cause = type(error).__name__
    if cause == "GatedRepoError":
        return f"model {format_value(name)}: is gated; accept its terms on the hub's page and set $HF_TOKEN."
    if cause == "RevisionNotFoundError":
        return f"model {format_value(name)}: has no revision {format_value(revision)}; check the branch, tag or commit."
    cached = cached_models()
    similar = get_close_matches(name, cached, n=1, cutoff=0.75)
    remedy = f"did you mean {similar[0]}?" if similar else "check the name, or give the folder of a model."
    if cause in ("RepositoryNotFoundError", "HFValidationError"):
        return f"model {format_value(name)}: the hub has no such model, or only for those with a key; {remedy}"
    if cause == "TimeoutError":
        return f"model {format_value(name)}: the hub sends nothing, or too slowly; check the network, and try again."
    in_cache = f"the local cache has {format_names(cached, 5)}" if cached else "the local cache has no model"
    return (
        f"model {format_value(name)}: neither a folder nor in the local cache, and the hub cannot be reached "
        f"({shortened(cause)}); {in_cache}; {remedy}"
    )


def cached_models() -> list[str]:
    """The hub names of the models in the local cache, sorted."""
    from huggingface_hub import constants

    folders = Path(constants.HF_HUB_CACHE).glob("models--*/snapshots/*/config.json")
    return sorted({path.parents[2].name.removeprefix("models--").replace("--", "/") for path in folders})

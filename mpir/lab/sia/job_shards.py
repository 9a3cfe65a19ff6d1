"""Make SIA data in several processes: each computes every n-th chunk of the steps that need models."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from mpir.files.corpora import corpus_fingerprint
from mpir.files.corpora.corpus import corpus_content
from mpir.files.files import check_files, link_file, link_files, list_files
from mpir.files.job_shards import CORPUS, FinishedShard, Shard, write_finished
from mpir.lab.sia.collect import Collected
from mpir.lab.sia.filters import Filters
from mpir.lab.sia.pipeline import Generation
from mpir.lab.sia.settings import GenerationSettings
from mpir.lab.sia.steps import source_identity
from mpir.lab.sia.workspace import STEPS, Workspace, check_inputs
from mpir.version import __version__

JOB_KIND = "sia"
"""The name of a generation's steps in a shard's manifest."""
LISTS = ("bioasq", "exclude", "corpus", "sources")
INDEXES = ("questions", "corpus")
"""The indexes that steps search; every shard builds them from all questions or documents."""


def make_shard(
    settings: GenerationSettings, folder: Path, shard: Shard, *, resume: bool = False, progress: bool = False
) -> int:
    """Make a shard of a generation in a folder, with its manifest last. Return the shard's number of chunks.

    Raises:
        InputError, ArtefactError, OutputError: as `Generation`, or for the method generated, which has no shards.
    """
    steps = Generation(settings, folder, resume=resume, progress=progress, shard=shard).run_shard()
    chunks = [chunk for step in steps for chunk in step.chunks]
    marks = [folder / STEPS / step.name / "made.json" for step in steps]
    job = {**_job(settings), **{f"step {step.name}": step.fingerprint for step in steps}}
    write_finished(folder, shard, job, {"files": list_files(folder, [*chunks, *marks])})
    return len(chunks)


def _job(settings: GenerationSettings) -> dict[str, Any]:
    """The settings common to all shards, in the form in which manifests store them."""
    names = ("qasc", "bioasq", "exclude")
    files = {name: [source_identity(path) for path in _as_tuple(getattr(settings, name))] for name in names}
    corpus = corpus_content(corpus_fingerprint(settings.corpus)) if settings.corpus else {}
    job = {"kind": JOB_KIND, "mpir": __version__, "settings": asdict(settings), "files": files, CORPUS: corpus}
    return dict(json.loads(json.dumps(job)))


def merge_shards(shards: Sequence[FinishedShard], folder: Path, *, progress: bool = False) -> Collected:
    """Join the chunks of all shards, given in order, and finish the job, with the same files as a single run.

    The methods combined and swap and the files of rows remain to be made. The inputs are read again from the paths
    given to the shards.

    Raises:
        ArtefactError: a shard is damaged.
        InputError, OutputError: as `Generation`, or this process would make different chunks than the shards have.
    """
    for shard in shards:
        check_files(shard.folder, shard.details["files"], f"make shard {shard.position} again", content=True)
    settings = _settings(shards[0].job["settings"])
    inputs = {name: getattr(settings, name) for name in ("qasc", "vectors", *LISTS)}
    check_inputs(folder, [(f"the input {name}", path) for name, paths in inputs.items() for path in _as_tuple(paths)])
    workspace = Workspace(folder)
    for shard in shards:
        _link_steps(shard, workspace.folder)
    return Generation(settings, folder, resume=True, progress=progress, accept_changes=False).run()


def _link_steps(shard: FinishedShard, folder: Path) -> None:
    """Link a shard's chunks into the steps of a folder; from the first shard, also link the indexes."""
    for name in INDEXES if shard.position.number == 1 else ():
        link_files(shard.folder / STEPS / name, folder / STEPS / name)
    for name in shard.details["files"]:
        if not (folder / name).exists():
            link_file(shard.folder / name, folder / name)


def _as_tuple(paths: str | Sequence[str]) -> tuple[str, ...]:
    """The paths of a setting: none for an empty text, one for any other text."""
    return tuple(filter(None, (paths,))) if isinstance(paths, str) else tuple(paths)


def _settings(values: Mapping[str, Any]) -> GenerationSettings:
    """Restore settings from their JSON form."""
    is_tuple = {item.name for item in fields(GenerationSettings) if isinstance(item.default, tuple)}
    restored: dict[str, Any] = {name: tuple(value) if name in is_tuple else value for name, value in values.items()}
    restored["filters"] = Filters(**values["filters"])
    return GenerationSettings(**restored)

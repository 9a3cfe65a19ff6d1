"""Steps on disk: each processes its inputs in chunks that are written atomically, so that a run can resume."""

from __future__ import annotations

import json
import logging
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from tqdm import tqdm

from mpir.core.checksum import add_checksum, fingerprint
from mpir.errors import InputError, OutputError
from mpir.files.checksum import read_json_lines_with_checksums, read_json_with_checksum, write_json_with_checksum
from mpir.files.folder_format import CHECKPOINT, FolderFormat, file_names, under
from mpir.files.job_shards import SHARD_MANIFEST, Shard
from mpir.files.output_checks import check_files, check_folders
from mpir.files.write import atomic_write, write_json
from mpir.search.lucene.build import INDEX

log = logging.getLogger(__name__)
T = TypeVar("T")
Record = dict[str, Any]
Work = Callable[[Sequence[T]], tuple[Iterable[Record], Mapping[str, int]]]
MARK = "sia.json"
STEPS = ".steps"
CHUNK = 1024
FILES = ("train.jsonl", "dev.jsonl", "report.md", "report.json")
_STEP = ("made.json", f"{'[0-9]' * 6}.jsonl", "state.pt", *under("model", ("made_by.json", *CHECKPOINT.names)))
STEP = FolderFormat(names=_STEP)
"""The files of a step: its chunks, or a language model and the state of its training."""


def _index_files(steps: Path) -> Iterator[str]:
    """The files of the indexes among the steps."""
    for manifest in steps.glob(f"*/{INDEX.marker}"):
        index = manifest.parent
        foreign = set(INDEX.foreign_files(index))
        yield from (f"{index.name}/{name}" for name in file_names(index) if name not in foreign)


STEPS_FORMAT = FolderFormat(names=under("*", _STEP), listed=_index_files)
"""The folders of all steps."""


@dataclass(frozen=True, slots=True)
class Step:
    """A finished step: its chunks on disk, its counts, and a fingerprint of everything it depended on."""

    name: str
    chunks: tuple[Path, ...]
    counts: Mapping[str, int]
    fingerprint: str

    def records(self) -> Iterator[Record]:
        """The step's records in order, one in memory at a time."""
        for path in self.chunks:
            lines = _read(path)
            next(lines)
            for _, record in lines:
                yield record


def check_inputs(folder: Path, read: Sequence[tuple[str, str | None]]) -> None:
    """Raise OutputError for a generation whose outputs would replace its inputs."""
    check_files([("the output", folder / name) for name in FILES], read)
    check_folders([("the output", folder / STEPS), ("the output", folder / "dataset")], read)


class Workspace:
    """The folder of a generation. Nothing in it is ever half-written."""

    def __init__(
        self,
        folder: str | Path,
        *,
        resume: bool = False,
        progress: bool = False,
        shard: Shard | None = None,
        accept_changes: bool = True,
    ) -> None:
        """Open or start a folder; without `resume`, the steps of an earlier run are removed.

        Only the `shard`'s chunks of a divided step are made. Without `accept_changes`, a step made with other settings
        is an error and does not start over.

        Raises:
            OutputError: the folder is something else, or cannot be written.
        """
        self.folder, self.progress, self.accept_changes = Path(folder), progress, accept_changes
        self.shard = shard or Shard()
        if self.folder.exists() and not (self.folder / MARK).is_file() and _has_content(self.folder):
            raise OutputError(
                f"{folder}: is not a folder of generated SIA data, so it is not replaced; remove it or choose another."
            )
        write_json(self.folder / MARK, {"format": 1})
        (self.folder / SHARD_MANIFEST).unlink(missing_ok=True)  # it marks a part as finished
        if not resume:
            STEPS_FORMAT.refuse_foreign_files(self.folder / STEPS)
            shutil.rmtree(self.folder / STEPS, ignore_errors=True)

    def path(self, name: str) -> Path:
        """The folder of a step."""
        return self.folder / STEPS / name

    def run(
        self,
        name: str,
        inputs: Iterable[T],
        work: Work[T],
        *,
        depends: Mapping[str, Any],
        size: int = CHUNK,
        divided: bool = False,
    ) -> Step:
        """Process `inputs` in chunks of `size`; finished chunks of an earlier run are kept.

        `depends` (JSON-able) is everything that the results depend on; if it has changed, the step starts over. A
        `divided` step has only the chunks of the workspace's shard.

        Raises:
            InputError: the step was made with other settings, and the workspace does not accept changes.
        """
        identity = fingerprint({"step": name, "size": size, **depends})
        folder = self.prepare(name, identity)
        chunks, counts = [], Counter[str]()
        bar = tqdm(batched(inputs, size), desc=name, unit="chunk", disable=not self.progress)
        for number, chunk in enumerate(bar):
            if divided and not self.shard.takes(number):
                continue
            path = folder / f"{number:06d}.jsonl"
            if not path.exists():
                _write(path, *work(chunk))
            _, head = next(_read(path))
            counts.update(head["counts"])
            chunks.append(path)
        return Step(name, tuple(chunks), counts, identity)

    def prepare(self, name: str, identity: str) -> Path:
        """A step's folder, emptied if it was made with other settings."""
        folder = self.path(name)
        mark = folder / "made.json"
        remedy = f"remove {folder}, and the step starts over"
        if mark.exists() and read_json_with_checksum(mark, remedy) != {"fingerprint": identity}:
            if not self.accept_changes:
                raise InputError(
                    f"{name}: the shards were made from other inputs, or in another number format, than this process "
                    "would use; merge them in the same folder and on the same kind of machine where they were made."
                )
            log.warning("%s: made with other settings or inputs, so the step starts over", name)
            STEP.refuse_foreign_files(folder)
            shutil.rmtree(folder)
        write_json_with_checksum(mark, {"fingerprint": identity})
        return folder


def _has_content(folder: Path) -> bool:
    return not folder.is_dir() or any(folder.iterdir())


def _write(path: Path, records: Iterable[Record], counts: Mapping[str, int]) -> None:
    record_list = list(records)
    with atomic_write(path) as stream:
        for value in ({"counts": dict(counts)}, *record_list):
            stream.write(json.dumps(add_checksum(value), ensure_ascii=False) + "\n")


def _read(path: Path) -> Iterator[tuple[int, Record]]:
    """Yield (line number, record) of a chunk. Raises ArtefactError for a line that does not match its checksum."""
    return read_json_lines_with_checksums(path, f"remove {path.name} and resume")


def batched(values: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of `size` values; the last may be shorter."""
    stream = iter(values)
    while chunk := list(islice(stream, size)):
        yield chunk

"""Check a command's outputs at its start: that they can be written and replace neither its inputs nor others' files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from mpir.errors import OutputError
from mpir.files.folder_format import FolderFormat
from mpir.files.paths import checked_path, resolved
from mpir.files.write import check_folder

Named = tuple[str, str | Path | None]
"""An option and its file, if any."""
Form = FolderFormat | Callable[[bytes], object]
"""What an earlier version of an output looks like: a folder's format, or a test of a file's first bytes."""
HEAD = 2**16
"""Number of bytes at the beginning of a file by which its writer is recognised."""
_RANKING = re.compile(
    rb'\{"id": [^\n]*"query": [^\n]*"documents": \[(\{"id": [^\n]*"index": \d+, |\], "weights": \{)', re.DOTALL
)
are_training_rows = re.compile(
    rb'\{"id": [^\n]*"question": [^\n]*"sentence": [^\n]*"label": [\d.]+, "kind": "[\w-]+"\}\n'
).match
"""Whether a file has the rows of `mpir data negatives`."""
is_benchmark_table = re.compile(rb"### [^\n]*\n\n\d+ queries, candidates by ").match
"""Whether a file has the tables of `mpir benchmark`."""
_FIELDS = (rb'"id": [^\n]*', rb'"body": [^\n]*', rb'"type": [^\n]*', rb'"documents": \[')
is_submission = re.compile(rb'\{\n  "questions": \[\n    \{\n      ' + rb"\n      ".join(_FIELDS)).match
"""Whether a file has the fields of a submission in the order of `write_submission`."""


@dataclass(frozen=True)
class Output:
    """A file or folder that a command will write, the option that names it, and its form."""

    option: str
    path: str | Path | None
    form: Form


def check_outputs(outputs: Iterable[Output], read: Iterable[Named] = (), *, overwrite: bool | None = None) -> None:
    """Check all outputs of a command before its work; every command calls this.

    Each can be written, is neither an input nor another output, and replaces only an earlier version of itself. With
    `overwrite`, any file is replaced; None is for commands without that option.

    Raises:
        OutputError: an output cannot be written, or a file would be lost.
    """
    named = [output for output in outputs if output.path is not None]
    inputs = list(read)
    files = [(output.option, output.path) for output in named if not isinstance(output.form, FolderFormat)]
    check_files(files, inputs)
    check_folders(((output.option, output.path) for output in named if isinstance(output.form, FolderFormat)), inputs)
    for option, path, form in ((output.option, output.path, output.form) for output in named):
        if isinstance(form, FolderFormat) and path is not None:
            check_folder(path)
            form.check_replaceable(path)
        elif not isinstance(form, FolderFormat):
            check_replaceable_file(option, path, form, overwrite=overwrite)


def check_file(option: str, path: str | Path | None) -> None:
    """Refuse an option's output file that cannot be written, before hours of work; None is accepted.

    A pipe or a device is accepted, too.

    Raises:
        OutputError: `path` is a folder, or its folder is not writable.
    """
    if path is None:
        return
    target = checked_path(path)
    try:
        if target.is_dir():
            raise OutputError(f"{path}: is a folder; give {option} the name of a file.")
        if _is_kept(target):
            check_folder(resolved(target).parent)
    except OSError as error:
        raise OutputError(f"{option} {path}: cannot be written ({error.strerror}); choose another name.") from error


def check_files(written: Iterable[Named], read: Iterable[Named] = ()) -> None:
    """Apply `check_file` to all outputs, and check that none is another output or an input, or inside one.

    Raises:
        OutputError: an output cannot be written, or would overwrite another file.
    """
    sources = [(option, resolved(path)) for option, path in read if path]
    user_of: dict[Path, str] = {}
    for option, path in written:
        check_file(option, path)
        if path is None or not _is_kept(checked_path(path)):
            continue
        target = resolved(path)
        reader = next((name for name, source in sources if _is_within(target, source)), option)
        if (user := user_of.setdefault(target, reader)) != option:
            raise OutputError(f"{path}: is also {user}, which would be lost; give {option} another name.")


def check_replaceable_file(
    option: str, path: str | Path | None, is_own: Callable[[bytes], object], *, overwrite: bool | None = None
) -> None:
    """Refuse to replace a file whose first `HEAD` bytes the option would not have written, unless it is empty.

    With `overwrite`, any file is replaced; None is for commands without that option.

    Raises:
        OutputError: the file has another origin, or cannot be read.
    """
    if path is None or overwrite or not (target := checked_path(path)).is_file():
        return
    try:
        with target.open("rb") as stream:
            head = stream.read(HEAD)
    except OSError as error:
        raise OutputError(f"{option} {path}: cannot be read ({error.strerror}); choose another name.") from error
    if head and not is_own(head):
        remedy = (
            "remove it or choose another name" if overwrite is None else "choose another name, or allow overwriting"
        )
        raise OutputError(f"{path}: exists and was not written by {option}, so it is not replaced; {remedy}.")


def check_folders(written: Iterable[Named], read: Iterable[Named] = ()) -> None:
    """Refuse to replace a folder that is or contains an input or another output.

    Raises:
        OutputError: an input or output would be lost.
    """
    inputs = [(option, resolved(path)) for option, path in read if path]
    for option, path in written:
        if path is None:
            continue
        folder = resolved(path)
        for input_option, input_path in inputs:
            if folder == input_path or folder in input_path.parents:
                holds = "is also" if folder == input_path else "holds"
                raise OutputError(f"{path}: {holds} {input_option}, which would be lost; give {option} another name.")
        inputs.append((option, folder))


def _is_within(target: Path, source: Path) -> bool:
    """Whether two paths are the same file, or the source already exists inside the target folder."""
    return target == source or (source in target.parents and target.exists())


def _is_kept(path: Path) -> bool:
    """Whether content written there persists, unlike in a pipe or device."""
    return path.is_file() or not path.exists()


are_values = re.compile(rb"system,query,measure,value\n").match
"""Whether a file has the values of every query that `mpir evaluate` writes."""
are_weights = re.compile(rb'\s*\{[^\x00]*"(alpha|beta|beta_bm25)"\s*:').match
"""Whether a file has weights, which may also be written by hand."""
is_journal = re.compile(rb'\{"mpir": "[^"\n]*", "settings": "[0-9a-f]+"\}\n').match
"""Whether a file is a journal of finished work."""
is_training_log = re.compile(rb'\{[^\n]*"step": ').match
"""Whether a file is the log of a training run."""


def is_run(head: bytes) -> bool:
    """Whether a file is a TREC run with mpir's tag."""
    columns = head.partition(b"\n")[0].split()
    return len(columns) == 6 and columns[1] == b"Q0" and columns[5] == b"mpir"


def are_rankings(head: bytes) -> bool:
    """Whether a file has rankings: a TREC run with mpir's tag, or lines of JSON with scored documents."""
    return is_run(head) or _RANKING.match(head) is not None


def are_figures(head: bytes) -> bool:
    """Whether a file may be the figures of a script: JSON, but neither documents nor questions."""
    start = b"".join(head[:100].split())
    return start.startswith((b"{", b"[")) and not re.match(rb'\[?\{"(id|pmid|_id|questions":\[)', start)


def is_picture(head: bytes) -> bool:
    """Whether a file is a picture by matplotlib, which names itself in it."""
    return b"atplotlib" in head


def is_never_ours(head: bytes) -> bool:
    """Return False, for formats that users and other programs write, too, without a sign of their writer."""
    del head
    return False

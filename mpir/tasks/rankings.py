"""The rankings of a file of queries, written whole or not at all: of all of them, or of one part in a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from mpir.errors import ArtefactError
from mpir.io.checksum import add_checksum, read_json_lines_with_checksums
from mpir.io.files import check_files, list_files
from mpir.io.folder_format import FolderFormat
from mpir.io.job_shards import SHARD_MANIFEST, FinishedShard, Shard, write_finished
from mpir.io.journal import Journal
from mpir.io.write import atomic_folder, atomic_write

JOB_KIND = "rankings"
"""What a part's manifest calls the rankings of queries."""
LINES, TOTAL = "lines.jsonl", "all queries"
RANKINGS_SHARD = FolderFormat(marker=SHARD_MANIFEST, names=(SHARD_MANIFEST, LINES))
Query = TypeVar("Query")


def write_rankings(
    queries: Iterable[Query],
    rank: Callable[[Query], str],
    output: Path,
    job: Mapping[str, Any],
    shard: Shard | None = None,
) -> int:
    """Write what `rank` gives for each query, in their order, to a file, or those of one part to a folder.

    Finished queries are in a journal beside the output until all are, so that an interrupted run goes on.

    Args:
        queries: all of them; a part takes every n-th.
        rank: the lines of a query's ranking, each with its end.
        output: the file, or the folder of the part.
        job: what the lines depend on, in JSON-able values.
        shard: the part; by default all.

    Returns:
        How many queries there are in all.

    Raises:
        OutputError: the output cannot be written, holds something else, or is being written by another process.
    """
    shard, total = shard or Shard(), 0
    with Journal(f"{output}.rankings.jsonl", {**job, "part": str(shard)}) as journal:
        for total, query in enumerate(queries, 1):
            if shard.takes(total - 1) and str(total - 1) not in journal.records:
                journal.add(str(total - 1), {"lines": rank(query)})
        texts = (str(journal.records[str(number)]["lines"]) for number in filter(shard.takes, range(total)))
        if shard.count == 1:
            _write_lines(output, texts)
        else:
            _write_part(output, texts, shard, {"kind": JOB_KIND, TOTAL: total, **job})
        journal.path.unlink()
    return total


def _write_lines(output: Path, texts: Iterable[str]) -> None:
    with atomic_write(output) as stream:
        stream.writelines(texts)


def _write_part(output: Path, texts: Iterable[str], shard: Shard, job: Mapping[str, Any]) -> None:
    with atomic_folder(output, RANKINGS_SHARD) as folder:
        entries = (json.dumps(add_checksum({"lines": text}), ensure_ascii=False) + "\n" for text in texts)
        _write_lines(folder / LINES, entries)
        write_finished(folder, shard, job, {"files": list_files(folder, [folder / LINES])})


def merge_rankings(shards: Sequence[FinishedShard], output: Path) -> int:
    """Write the lines of all parts, which stand in order, to a file; return of how many queries.

    Raises:
        ArtefactError: a part is damaged.
        OutputError: the file cannot be written.
    """
    for shard in shards:
        check_files(shard.folder, shard.details["files"], f"make part {shard.position} again", content=True)
    streams = [read_json_lines_with_checksums(shard.folder / LINES) for shard in shards]
    total = int(shards[0].job[TOTAL])

    def lines_of(number: int) -> str:
        for _, record in streams[number % len(shards)]:
            return str(record["lines"])
        shard = shards[number % len(shards)]
        raise ArtefactError(f"{shard.folder}: lacks query {number + 1}; make part {shard.position} again.")

    _write_lines(output, map(lines_of, range(total)))
    return total

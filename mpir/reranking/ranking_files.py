"""Write the rankings of a file of queries, completely or not at all: all to a file, or one shard to a folder."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tqdm import tqdm

from mpir.core.checksum import add_checksum
from mpir.errors import ArtefactError
from mpir.files.checksum import read_json_lines_with_checksums
from mpir.files.files import check_files, list_files
from mpir.files.folder_format import FolderFormat
from mpir.files.job_shards import SHARD_MANIFEST, FinishedShard, Shard, write_finished
from mpir.files.journal import Journal
from mpir.files.write import atomic_folder, atomic_write

JOB_KIND = "rankings"
"""The name of query rankings in a shard's manifest."""
LINES, TOTAL = "lines.jsonl", "all queries"
RANKINGS_SHARD = FolderFormat(marker=SHARD_MANIFEST, names=(SHARD_MANIFEST, LINES))
Query = TypeVar("Query")


def write_rankings(
    queries: Iterable[Query],
    rank: Callable[[Iterator[Query]], Iterator[str]],
    output: Path,
    job: Mapping[str, Any],
    shard: Shard | None = None,
    *,
    progress: bool = False,
) -> int:
    """Write the results of `rank` for all queries, in order, to a file, or those of one shard to a folder.

    Finished queries are kept in a journal next to the output until all are done, so that an interrupted run resumes.

    Args:
        queries: all queries; a shard takes every n-th.
        rank: yields the lines of each query's ranking, with line ends, in order; it may read some queries ahead.
        output: the output file, or the shard's folder.
        job: everything that the lines depend on, as JSON-able values.
        shard: the shard; by default all.
        progress: show a bar of ranked queries on standard error.

    Returns:
        The total number of queries.

    Raises:
        OutputError: the output cannot be written, is something else, or is being written by another process.
    """
    shard, total, pending = shard or Shard(), 0, deque[str]()

    def unranked() -> Iterator[Query]:
        """Yield the queries that the job must still rank, and count all queries."""
        nonlocal total
        for total, query in enumerate(queries, 1):
            if shard.takes(total - 1) and str(total - 1) not in journal.records:
                pending.append(str(total - 1))
                yield query

    with Journal(f"{output}.rankings.jsonl", {**job, "shard": str(shard)}) as journal:
        for lines in tqdm(rank(unranked()), desc="queries", unit="query", disable=not progress):
            journal.add(pending.popleft(), {"lines": lines})
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
    """Write the lines of all shards, given in order, to a file; return the number of queries.

    Raises:
        ArtefactError: a shard is damaged.
        OutputError: the file cannot be written.
    """
    for shard in shards:
        check_files(shard.folder, shard.details["files"], f"make shard {shard.position} again", content=True)
    streams = [read_json_lines_with_checksums(shard.folder / LINES) for shard in shards]
    total = int(shards[0].job[TOTAL])

    def lines_of(number: int) -> str:
        """Return the lines of a query by its number, from the shard that has it."""
        for _, record in streams[number % len(shards)]:
            return str(record["lines"])
        shard = shards[number % len(shards)]
        raise ArtefactError(f"{shard.folder}: lacks query {number + 1}; make shard {shard.position} again.")

    _write_lines(output, map(lines_of, range(total)))
    return total

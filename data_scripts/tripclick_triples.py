"""TripClick's improved training triples: BM25's candidates that nobody clicked, against each click.

    python data_scripts/tripclick_triples.py --run bm25.train.run --qrels qrels.raw.head.train.txt --output triples.tsv

Writes lines of `query⇥positive⇥negative`, as ids. For every (query, clicked document) up to --negatives documents are
sampled from the --depth best candidates of the run, without everything in the query's relevant pool, whatever its grade
(Hofstätter et al. 2022); --keep-judged lets judged documents that were not clicked be negatives, and --recipe
above-click is the collection's own way. Triples are shuffled on disk and the first --number kept. The run's lines stand
query by query, as `mpir search --trec` and every search engine write them; it may be gzipped.

Memory holds the judgements and one chunk of queries. Finished chunks stay in OUTPUT.parts until the end: the same
command goes on, and the file is the same whatever was interrupted.
"""

from __future__ import annotations

import argparse
import heapq
import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from tqdm import tqdm

from mpir.cli import guarded
from mpir.corpora.trec import read_qrels, stream_run
from mpir.errors import ArtefactError, InputError
from mpir.io.hash import fingerprint
from mpir.io.read import read_json, read_lines
from mpir.io.write import atomic_write, write_json
from mpir.train.clicks import SAMPLERS, Judged, triples_of

QUERIES_PER_CHUNK = 5000
Chunk = Sequence[tuple[str, list[str]]]


def main() -> int:
    """Sample, shuffle, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True, help="TREC run with candidates of the training queries")
    parser.add_argument("--qrels", type=Path, nargs="+", required=True, help="clicks as qrels: grades above 0")
    parser.add_argument("--output", type=Path, required=True, help="the triples to write")
    parser.add_argument("--depth", type=int, default=500, help="candidates of each query (%(default)s)")
    parser.add_argument("--negatives", type=int, default=20, help="for each click, at most (%(default)s)")
    parser.add_argument("--number", type=int, default=10_000_000, help="triples to keep, at most (%(default)s)")
    parser.add_argument("--recipe", choices=sorted(SAMPLERS), default="filtered", help="%(default)s")
    parser.add_argument("--keep-judged", action="store_true", help="what was judged and not clicked may be a negative")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same file (%(default)s)")
    arguments = parser.parse_args()
    return guarded("tripclick_triples", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole job; 0 is the exit status. Raises MpirError for a user's mistake."""
    for option in ("depth", "negatives", "number"):
        if (value := getattr(arguments, option)) < 1:
            raise InputError(f"--{option} is {value}; expected at least 1.")
    clicks = _clicks(arguments.qrels)
    parts = _parts(arguments)
    _sample(arguments, clicks, parts)
    with atomic_write(arguments.output) as stream:
        lines = heapq.merge(*map(_lines, sorted(parts.glob("*.tsv"))))
        count = 0
        for line in islice(lines, arguments.number):
            stream.write(line.partition("\t")[2] + "\n")
            count += 1
        if not count:
            raise InputError(f"{arguments.run}: not one triple was found; do run and qrels belong to the same queries?")
    shutil.rmtree(parts)
    print(f"{arguments.output}: {count} triples of {len(clicks)} judged queries.")
    return 0


def _clicks(paths: Sequence[Path]) -> dict[str, Judged]:
    """Judgements by query, from several groups' files. Raises InputError where nothing was clicked."""
    judged: dict[str, Judged] = {}
    for path in paths:
        for query, grades in read_qrels(path).items():
            judged[query] = {**judged.get(query, {}), **grades}
    if not any(grade > 0 for grades in judged.values() for grade in grades.values()):
        raise InputError(f"{paths[0]}: no document has a grade above 0; expected clicks.")
    return judged


def _parts(arguments: argparse.Namespace) -> Path:
    """The folder of finished chunks. Raises ArtefactError where they are of other settings."""
    folder = arguments.output.with_name(f"{arguments.output.name}.parts")
    options = {name: str(value) for name, value in vars(arguments).items() if name not in ("output", "number")}
    sizes = [path.stat().st_size for path in (arguments.run, *arguments.qrels) if path.exists()]
    settings = {"settings": fingerprint([options, sizes, QUERIES_PER_CHUNK])}
    manifest = folder / "manifest.json"
    if manifest.is_file() and read_json(manifest) != settings:
        raise ArtefactError(f"{folder}: holds parts of other settings or data; remove it, or choose another output.")
    folder.mkdir(parents=True, exist_ok=True)
    write_json(manifest, settings)
    return folder


def _sample(arguments: argparse.Namespace, clicks: dict[str, Judged], parts: Path) -> None:
    """Every chunk's triples in a file of their own, sorted by their place."""
    queries = stream_run(arguments.run)
    bar = tqdm(desc="queries", unit="query", disable=not sys.stderr.isatty())
    with bar:
        for number, chunk in enumerate(_chunks(queries)):
            path = parts / f"{number:06d}.tsv"
            if not path.is_file():
                lines = sorted(line for query, found in chunk for line in _triples(arguments, clicks, query, found))
                with atomic_write(path) as stream:
                    stream.writelines(f"{line}\n" for line in lines)
            bar.update(len(chunk))


def _chunks(queries: Iterator[tuple[str, list[str]]]) -> Iterator[Chunk]:
    while chunk := list(islice(queries, QUERIES_PER_CHUNK)):
        yield chunk


def _triples(
    arguments: argparse.Namespace, clicks: dict[str, Judged], query: str, candidates: list[str]
) -> Iterator[str]:
    options = {name: getattr(arguments, name) for name in ("seed", "negatives", "recipe", "keep_judged")}
    for place, positive, negative in triples_of(query, candidates[: arguments.depth], clicks.get(query, {}), **options):
        yield f"{place:016x}\t{query}\t{positive}\t{negative}"


def _lines(path: Path) -> Iterator[str]:
    return (line for _, line in read_lines(path))


if __name__ == "__main__":
    sys.exit(main())

"""Collect the rows of all methods: remove repeated pairs, split questions into train and dev, and gather statistics."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

from mpir.core.text.characters import normalise
from mpir.errors import OutputError
from mpir.files.write import atomic_write
from mpir.lab.sia.workspace import Record

SPLITS = ("train", "dev")
DEV_SHARE = 10
"""One question in ten goes to dev."""
READ, SAMPLED = 20, 10_000


class Reservoir:
    """A uniform sample of a stream of any length (Vitter 1985, algorithm R)."""

    def __init__(self, size: int, random: Random) -> None:
        self.size, self.random, self.seen = size, random, 0
        self.kept: list[Record] = []

    def add(self, record: Record) -> None:
        """Offer a record, which the sample may keep."""
        self.seen += 1
        if len(self.kept) < self.size:
            self.kept.append(record)
        elif (position := self.random.randrange(self.seen)) < self.size:
            self.kept[position] = record


@dataclass(kw_only=True)
class Collected:
    """Statistics of the rows. `rows` and `words` are by (score, method); `reading` has 20 random rows of each."""

    rows: Counter[tuple[int, str]] = field(default_factory=Counter)
    words: Counter[tuple[int, str]] = field(default_factory=Counter)
    query_words: Counter[tuple[int, str]] = field(default_factory=Counter)
    splits: Counter[str] = field(default_factory=Counter)
    removed: Counter[str] = field(default_factory=Counter)
    leakage: dict[str, float] = field(default_factory=dict)
    reading: dict[tuple[int, str], Reservoir] = field(default_factory=dict)


def collect(records: Iterable[Record], folder: Path, seed: int) -> Collected:
    """Write ``train.jsonl`` and ``dev.jsonl``, both or neither, and return their statistics.

    A (query, sentence) pair is kept once, regardless of punctuation; the first method that made it decides its score.
    Memory does not grow with the rows, because the pairs seen so far are in a temporary database.

    Raises:
        OutputError: the files, or the temporary database, cannot be written.
    """
    collected = Collected()
    try:
        with TemporaryDirectory() as temporary, closing(sqlite3.connect(Path(temporary) / "seen.db")) as database:
            _write(records, folder, database, collected, seed)
    except sqlite3.OperationalError as error:
        raise OutputError(f"{gettempdir()}: cannot be written ({error}); free some space, or set TMPDIR.") from error
    return collected


def _write(
    records: Iterable[Record], folder: Path, database: sqlite3.Connection, collected: Collected, seed: int
) -> None:
    sample = Reservoir(SAMPLED, Random(seed))
    database.execute("create table seen (pair blob primary key, query blob, sentence blob, score integer, split text)")
    with ExitStack() as stack:
        streams = {name: stack.enter_context(atomic_write(folder / f"{name}.jsonl")) for name in SPLITS}
        for record in _distinct(records, database, collected):
            streams[_split(record["query"])].write(json.dumps(record, ensure_ascii=False) + "\n")
            _describe(record, collected, seed)
            sample.add(record)
    collected.leakage = {**_seen_twice(database), **_surface(sample.kept)}


def _distinct(records: Iterable[Record], database: sqlite3.Connection, collected: Collected) -> Iterator[Record]:
    for record in records:
        query, sentence = _hash(record["query"]), _hash(record["sentence"])
        pair, score = query + sentence, record["sia_score"]
        before = database.execute("select score from seen where pair = ?", (pair,)).fetchone()
        if before is None:
            database.execute(
                "insert into seen values (?, ?, ?, ?, ?)", (pair, query, sentence, score, _split(record["query"]))
            )
            yield record
        else:
            collected.removed["repeated pair" if before[0] == score else "repeated pair with another score"] += 1


def _hash(text: str) -> bytes:
    return hashlib.blake2b(normalise(text).encode(), digest_size=10).digest()


def _split(query: str) -> str:
    return SPLITS[int.from_bytes(_hash(query)[:4]) % DEV_SHARE == 0]


def _describe(record: Record, collected: Collected, seed: int) -> None:
    key = (record["sia_score"], record["method"])
    collected.rows[key] += 1
    collected.words[key] += len(record["sentence"].split())
    collected.query_words[key] += len(record["query"].split())
    collected.splits[_split(record["query"])] += 1
    if key not in collected.reading:
        collected.reading[key] = Reservoir(READ, Random(f"{seed}{key}"))
    collected.reading[key].add(record)


def _seen_twice(database: sqlite3.Connection) -> dict[str, float]:
    """Count what the two splits share, and how often a sentence alone reveals its score."""

    def ask(group: str, condition: str) -> float:
        """Return the number of groups of rows that meet a condition."""
        query = f"select count(*) from (select 1 from seen group by {group} having {condition})"
        return float(database.execute(query).fetchone()[0])

    return {
        "queries in both splits": ask("query", "count(distinct split) > 1"),
        "sentences in both splits": ask("sentence", "count(distinct split) > 1"),
        "sentences in more than one row": ask("sentence", "count(*) > 1"),
        "of these, always with the same score": ask("sentence", "count(*) > 1 and count(distinct score) = 1"),
    }


def _surface(records: list[Record]) -> dict[str, float]:
    """Spearman's correlation of the score with surface features; near 0 is good, except for shared words."""
    from scipy.stats import spearmanr

    features: dict[str, list[float]] = defaultdict(list)
    for record in records:
        query, sentence = (set(normalise(record[name]).split()) for name in ("query", "sentence"))
        features["words in the sentence"].append(len(sentence))
        features["share of the query's words in the sentence"].append(len(query & sentence) / max(1, len(query)))
        features["full stop at the end"].append(record["sentence"].endswith("."))
        features["capital at the start"].append(record["sentence"][:1].isupper())
    scores = [record["sia_score"] for record in records]
    return {f"correlation: {name}": _correlation(spearmanr, values, scores) for name, values in features.items()}


def _correlation(spearmanr: Any, values: list[float], scores: list[int]) -> float:
    constant = len(set(values)) < 2 or len(set(scores)) < 2
    return 0.0 if constant else round(float(spearmanr(values, scores)[0]), 3)

"""Compare sentence splitters on sentence ends that were marked by hand in texts written for mpir (marked.txt).

An end is identified by the start of the next sentence; a text's last sentence has none. Every second text of each kind
is reserved for reporting; the others are for developing the rules, and `--show` prints a splitter's errors in them.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from experiments.splitting.compare import SPLITTERS, Splitter, speed
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path
from mpir.extras import MissingExtraError
from mpir.files.write import write_json
from mpir.validation import real_number

MARKED = Path(__file__).with_name("marked.txt")
BASE = "mpir.core.text.split"
_RESAMPLES, _REPEATS = 10_000, 200


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A text, its kind, and the offsets at which its second and later sentences begin."""

    genre: str
    text: str
    ends: frozenset[int]


def read_marked(path: Path = MARKED) -> tuple[list[MarkedText], list[MarkedText]]:
    """The texts for changing rules by, and those for reporting.

    The file has a sentence on each line and a blank line between texts, whose first lines are "# KIND". A "+" before a
    sentence says that no white space is before it.
    """
    halves: tuple[list[MarkedText], list[MarkedText]] = ([], [])
    counts = Counter[str]()
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        head, *lines = block.splitlines()
        text, ends = "", set[int]()
        for line in lines:
            text += "" if not text or line.startswith("+") else " "
            ends |= {len(text)} - {0}
            text += line.removeprefix("+")
        genre = head.removeprefix("# ")
        halves[counts[genre] % 2].append(MarkedText(genre, text, frozenset(ends)))
        counts[genre] += 1
    return halves


def ends_of(splitter: Splitter, text: str) -> set[int]:
    """The offsets at which a splitter begins its second and later sentences, white space before them aside."""
    begins = (begin + len(text[begin:end]) - len(text[begin:end].lstrip()) for begin, end in splitter(text))
    return {begin for begin in begins if 0 < begin < len(text)}


def counted(splitter: Splitter, marked: Sequence[MarkedText]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Ends that are right, found and marked in each text; shape (texts, 3)."""
    proposed = [ends_of(splitter, item.text) for item in marked]
    rows = [(len(ends & item.ends), len(ends), len(item.ends)) for ends, item in zip(proposed, marked, strict=True)]
    return np.array(rows, dtype=np.int64)


def measures(counts: np.ndarray[Any, np.dtype[np.int64]]) -> dict[str, float]:
    """Precision, recall and F1 in percent over texts whose counts lie in rows."""
    right, proposed, marked = counts.sum(axis=0)
    return {
        "precision": 100 * right / max(1, proposed),
        "recall": 100 * right / max(1, marked),
        "F1": 200 * right / max(1, proposed + marked),
    }


def difference(counts: np.ndarray[Any, Any], base: np.ndarray[Any, Any]) -> tuple[float, float]:
    """The 95 % interval of F1 less the base's, over texts drawn with replacement."""
    draws = np.random.default_rng(0).integers(0, len(counts), (_RESAMPLES, len(counts)))
    ours, theirs = counts[draws].sum(axis=1), base[draws].sum(axis=1)
    gaps = [200 * sums[:, 0] / np.maximum(1, sums[:, 1] + sums[:, 2]) for sums in (ours, theirs)]
    low, high = np.percentile(gaps[0] - gaps[1], [2.5, 97.5])
    return float(low), float(high)


def errors_of(splitter: Splitter, marked: Sequence[MarkedText]) -> Iterator[str]:
    """A line for each end that is missed or wrong, with what stands around it."""
    for item in marked:
        proposed = ends_of(splitter, item.text)
        for end in sorted(proposed ^ item.ends):
            around = f"{item.text[max(0, end - 30) : end]}|{item.text[end : end + 30]}"
            yield f"{'wrong ' if end in proposed else 'missed'}  {item.genre:14} {around}"


def available() -> Iterator[tuple[str, Splitter]]:
    """The splitters that are installed; of the others a message."""
    for name, make in SPLITTERS.items():
        try:
            yield name, make()
        except MissingExtraError as error:
            print(f"{name} is left out: {error}")


def rows_of(
    splitters: Mapping[str, Splitter], marked: Sequence[MarkedText], seconds: float
) -> Iterator[dict[str, Any]]:
    """A row of figures for each splitter."""
    base = counted(splitters[BASE], marked)
    texts = [item.text for item in marked] * _REPEATS
    for name, splitter in splitters.items():
        counts = counted(splitter, marked)
        low, high = difference(counts, base)
        rate, _ = speed(splitter, texts, seconds)
        yield {"splitter": name, **measures(counts), "from": low, "to": high, "per second": rate}


def by_kind(splitters: Mapping[str, Splitter], marked: Sequence[MarkedText]) -> Iterator[dict[str, Any]]:
    """A row for each kind of text: its ends, and each splitter's F1."""
    for genre in dict.fromkeys(item.genre for item in marked):
        texts = [item for item in marked if item.genre == genre]
        scores = {name: measures(counted(splitter, texts))["F1"] for name, splitter in splitters.items()}
        yield {"kind": genre, "ends": sum(len(item.ends) for item in texts), **scores}


def main() -> int:
    """The command line."""
    parser = script_parser(__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="time for each speed measurement (%(default)s)")
    parser.add_argument("--show", choices=tuple(SPLITTERS), help="print a splitter's errors in the other half, and end")
    parser.add_argument("--json", type=file_path, help="also write the figures here")
    arguments = parser.parse_args()
    return guarded("marked_ends", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Print the tables, and write them as JSON where asked."""
    real_number("--seconds", arguments.seconds, "a number above 0", lambda value: value > 0)
    check_figures(arguments)
    for_rules, reported = read_marked()
    if arguments.show:
        print("\n".join(errors_of(SPLITTERS[arguments.show](), for_rules)))
        return 0
    splitters = dict(available())
    rows, genres = list(rows_of(splitters, reported, arguments.seconds)), list(by_kind(splitters, reported))
    print(f"{sum(len(item.ends) for item in reported)} ends in {len(reported)} texts")
    print(tabulate(rows, headers="keys", tablefmt="github", floatfmt=("", *[".1f"] * 5, ".0f")))
    print(tabulate(genres, headers="keys", tablefmt="github", floatfmt=".1f"))
    if arguments.json:
        write_json(arguments.json, {"splitters": rows, "kinds": genres})
    return 0


if __name__ == "__main__":
    sys.exit(main())

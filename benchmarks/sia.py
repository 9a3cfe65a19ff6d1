"""Time and memory of generating SIA data, at several numbers of rows.

    python benchmarks/sia.py --qasc DATA/qasc/dev.jsonl --vectors runs/vectors --rows 3000 10000 30000

Rows in QASC's format are copied with their words replaced: every copy has its own vocabulary, used consistently in
question, choices and facts, so that texts are distinct and as long as real ones, but without meaning. Each size has its
own process, which runs combined, partial, similar and swap; wall time, processor time and peak memory are measured.
Speed doesn't depend on the texts' meaning, but the number of rows of each score does.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from tabulate import tabulate

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive, text_path
from mpir.files.read import read_json, read_json_lines
from mpir.files.write import write_json

SCRIPT = Path(__file__).parents[1] / "data_scripts" / "generate_sia.py"
WORD = re.compile(r"[A-Za-z]+")
RETAINED, BAND = 100, 200
"""The most frequent words stay; the others change places with some that are about as frequent."""


def main() -> int:
    """Make the rows, measure every size, print and write."""
    parser = script_parser(__doc__)
    parser.add_argument("--qasc", type=file_path, default=SCRIPT.parents[1] / "mpir/sample/qasc.jsonl", metavar="FILE")
    parser.add_argument("--vectors", type=text_path, required=True, metavar="PATH", help="word vectors, for the swaps")
    parser.add_argument("--bundle", type=text_path, default="default", help="the models that score pairs (%(default)s)")
    parser.add_argument("--tokens-per-batch", type=positive, metavar="N", help="size of the models' batches")
    parser.add_argument("--rows", type=positive, nargs="+", default=[3000, 10_000, 30_000])
    parser.add_argument("--json", type=file_path, metavar="FILE", help="write the figures")
    arguments = parser.parse_args()
    return guarded("sia", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """A row of figures for each number of rows."""
    check_figures(arguments)
    figures = [measured(arguments, rows) for rows in arguments.rows]
    print(tabulate(figures, headers="keys", tablefmt="github", floatfmt=".0f", intfmt=","))
    if arguments.json:
        write_json(arguments.json, figures)
    return 0


def measured(arguments: argparse.Namespace, rows: int) -> dict[str, Any]:
    """One generation over so many rows, in a process of its own."""
    with TemporaryDirectory() as folder:
        source, output = Path(folder) / "qasc.jsonl", Path(folder) / "sia"
        rows_made = islice(copies(arguments.qasc), rows)
        source.write_text("".join(json.dumps(row) + "\n" for row in rows_made), encoding="utf-8")
        options = ["--qasc", source, "--vectors", arguments.vectors, "--bundle", arguments.bundle, "--output", output]
        if arguments.tokens_per_batch:
            options += ["--set", f"batch.tokens={arguments.tokens_per_batch}"]
        start = time.perf_counter()
        process = subprocess.Popen([sys.executable, str(SCRIPT), "--quiet", *map(str, options)])
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        if status:
            raise SystemExit(f"{rows} rows: generate_sia.py failed")
        total = sum(report["rows"] for report in read_json(output / "report.json")["rows"])
    return {
        "rows": rows,
        "seconds": seconds,
        "processor seconds": usage.ru_utime + usage.ru_stime,
        "peak MiB": usage.ru_maxrss // 1024,
        "SIA rows": total,
    }


def copies(qasc: Path) -> Iterator[dict[str, Any]]:
    """Yield the file's rows repeatedly, unchanged at first and then in other words."""
    records = [record for _, record in read_json_lines(qasc)]
    words = Counter(word for record in records for word in WORD.findall(json.dumps(record).lower()))
    ranked = [word for word, _ in words.most_common()]
    for number in count():
        exchange = exchanger(ranked, number)
        yield from ({**_changed(record, exchange), "id": f"{number}-{record['id']}"} for record in records)


def exchanger(ranked: list[str], number: int) -> Callable[[str], str]:
    """A function that exchanges the words of a text; number 0 changes nothing."""
    new: dict[str, str] = {}
    random = Random(number)
    for start in range(RETAINED, len(ranked), BAND):
        band = ranked[start : start + BAND]
        new.update(zip(band, random.sample(band, len(band)) if number else band, strict=True))
    return lambda text: WORD.sub(lambda match: new.get(match.group().lower(), match.group()), text)


def _changed(value: Any, exchange: Callable[[str], str]) -> Any:
    """A record with all its texts changed; labels are single letters, which stay."""
    if isinstance(value, dict):
        return {key: _changed(item, exchange) for key, item in value.items()}
    if isinstance(value, list):
        return [_changed(item, exchange) for item in value]
    return exchange(value) if isinstance(value, str) and len(value) > 1 else value


if __name__ == "__main__":
    sys.exit(main())

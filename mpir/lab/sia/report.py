"""Write a generation's results: a report to read, a data card, and a folder for the `datasets` library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mpir.errors import OutputError
from mpir.extras import needs
from mpir.files.folder_format import FolderFormat
from mpir.files.write import atomic_folder, atomic_write, write_json
from mpir.lab.sia.collect import SPLITS, Collected
from mpir.lab.sia.rows import METHODS, SCALE
from mpir.lab.sia.writer_steps import ORIGIN
from mpir.version import __version__

CARD_HEAD = """\
---
language: en
task_categories: [text-ranking]
tags: [semantic-information-availability, synthetic]
configs:
- config_name: default
  data_files:
{files}
---
"""
DATASET = FolderFormat(marker="README.md", names=("README.md", *(f"{name}.parquet" for name in SPLITS)))
FIELDS = """\
| field | type | meaning |
| --- | --- | --- |
| query | string | the question |
| sentence | string | the sentence that may have the information |
| sia_score | integer | 0 to 4, as above |
| method | string | how the row was made, as above |
| source_ids | list of strings | the rows, questions or sentences from which the row was made |
| seed | integer | the random seed |
"""


def write_report(folder: Path, collected: Collected, counts: Mapping[str, Mapping[str, int]], made_by: Any) -> None:
    """Write ``report.md`` and ``report.json``. Raises OutputError where they cannot be written."""
    with atomic_write(folder / "report.md") as stream:
        stream.write("\n".join(_report(collected, counts)) + "\n")
    rows = [{"score": s, "method": m, "rows": n} for (s, m), n in sorted(collected.rows.items(), reverse=True)]
    values = {"rows": rows, "splits": collected.splits, "removed": collected.removed, "leakage": collected.leakage}
    write_json(folder / "report.json", {**values, "counts": counts, "made_by": made_by})


def _report(collected: Collected, counts: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    yield f"# SIA data: {collected.rows.total():,} rows\n"
    yield from _table(collected)
    yield "\n## Splits, repetitions, leakage\n"
    yield from (f"- {name}: {n:,} rows" for name, n in sorted(collected.splits.items(), reverse=True))
    yield from (f"- removed, {name}: {n:,}" for name, n in sorted(collected.removed.items()))
    yield from (f"- {name}: {value:g}" for name, value in collected.leakage.items())
    yield "\n## What each step counted\n"
    yield from (
        f"- {step}: {name}: {n:,}" for step, step_counts in counts.items() for name, n in sorted(step_counts.items())
    )
    yield "\n## Rows to read\n\nWould a person agree with the order of the scores?"
    for (score, method), reservoir in sorted(collected.reading.items(), reverse=True):
        yield f"\n### {score} · {method}\n"
        yield from (f"{i}. **{r['query']}** {r['sentence']}" for i, r in enumerate(reservoir.kept, 1))


def _table(collected: Collected) -> Iterator[str]:
    yield "| score | method | rows | words in the query | words in the sentence |\n| --- | --- | --- | --- | --- |"
    for key, n in sorted(collected.rows.items(), reverse=True):
        score, method = key
        yield f"| {score} | {method} | {n:,} | {collected.query_words[key] / n:.1f} | {collected.words[key] / n:.1f} |"


def write_dataset(folder: Path, collected: Collected, made_by: Mapping[str, Any]) -> None:
    """Write ``folder/dataset``: one Parquet file for each split and a data card; `load_dataset` takes the folder.

    Raises:
        OutputError: the folder cannot be written.
    """
    with needs("sia", "the dataset of a generation"):
        from datasets import Dataset, disable_progress_bars

    disable_progress_bars()
    names = [name for name in SPLITS if collected.splits[name]]
    files = "\n".join(f"  - {{split: {name}, path: {name}.parquet}}" for name in names)
    card = CARD_HEAD.format(files=files) + "\n".join(_card(collected, made_by))
    try:
        with atomic_folder(folder / "dataset", DATASET) as temporary, TemporaryDirectory() as cache:
            for name in names:
                rows = Dataset.from_json(str(folder / f"{name}.jsonl"), cache_dir=cache)
                rows.to_parquet(temporary / f"{name}.parquet")
            (temporary / "README.md").write_text(card, encoding="utf-8")
    except OSError as error:
        message = f"{folder / 'dataset'}: cannot be written ({error.strerror or error}); check free space."
        raise OutputError(message) from error


def _card(collected: Collected, made_by: Mapping[str, Any]) -> Iterator[str]:
    yield "# Semantic information availability\n"
    yield f"{collected.rows.total():,} rows of (query, sentence, score), made automatically by mpir {__version__}.\n"
    yield "The score says how much of the information that the query asks for is in the sentence:\n"
    yield from (f"- {score}: {meaning}" for score, meaning in SCALE.items())
    yield "\nThe methods:\n"
    yield from (f"- {method}: {_meaning(method)}" for method in sorted({method for _, method in collected.rows}))
    yield f"\n{FIELDS}"
    yield from _table(collected)
    yield "\nThe rows have not been checked by people. Made by:\n\n```"
    yield from (f"{name}: {value}" for name, value in made_by.items())
    yield "```\n\nThe licence is that of the sources named above.\n"


def _meaning(method: str) -> str:
    generated = method.startswith(ORIGIN)
    meaning = METHODS[method.removeprefix(ORIGIN)]
    return f"{meaning}; query and partial fact by a language model" if generated else meaning

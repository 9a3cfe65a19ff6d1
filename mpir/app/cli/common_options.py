"""Options that many commands have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mpir.app.cli.option import flag, option
from mpir.app.cli.value_options import output_path


@dataclass(frozen=True, kw_only=True)
class QuietArguments:
    """Whether progress is shown."""

    quiet: bool = flag("--quiet", help="no progress (never shown in a pipe)")


@dataclass(frozen=True, kw_only=True)
class OverwriteArguments:
    """Whether an output may replace a file that mpir did not write."""

    overwrite: bool = flag("--overwrite", help="replace an existing output file, whoever wrote it")


@dataclass(frozen=True, kw_only=True)
class ReportArguments:
    """The form of a report on standard output."""

    format: str = option(
        "--format", help="form of standard output (%(default)s)", default="table", choices=("table", "json")
    )


@dataclass(frozen=True, kw_only=True)
class ComparisonArguments(ReportArguments):
    """The files with all values of a comparison, and its pictures."""

    per_query: Path | None = option(
        "--per-query", help="write every value: CSV of system, query, measure, value", type=output_path, metavar="FILE"
    )
    plots: Path | None = option(
        "--plots",
        help="draw all pairs and the differences of their queries (PNG and SVG)",
        type=output_path,
        metavar="DIR",
    )

"""Store a command's measurements next to the pages that show them, with command, commit, date and machine.

    python -m experiments.common.publish scoring.json --command "python benchmarks/scoring.py --data DATA" \\
        --output docs/evidence/figures/scoring.json

Values of single questions are left out. tests/docs/test_figures.py compares README with the files in that folder.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path
from mpir.errors import InputError
from mpir.files.output_checks import Output, are_figures, check_outputs
from mpir.files.read import read_json
from mpir.files.write import write_json


def main() -> int:
    """Read arguments, write the file."""
    parser = script_parser(__doc__)
    parser.add_argument("result", type=file_path, metavar="FILE", help="the file that the command wrote with --json")
    parser.add_argument("--command", required=True, help="the command, with DATA for the folder of data")
    parser.add_argument("--output", type=file_path, required=True, metavar="FILE")
    parser.add_argument("--commit", help="the commit that was measured (default: that of the current folder)")
    arguments = parser.parse_args()
    return guarded("publish", lambda: publish(arguments))


def publish(arguments: argparse.Namespace) -> int:
    """Write the figures with their origin.

    Raises:
        InputError: the result is not a JSON object, or there is no git commit.
    """
    check_outputs([Output("--output", arguments.output, are_figures)], [("FILE", arguments.result)])
    result = read_json(arguments.result)
    if not isinstance(result, dict):
        raise InputError(f"{arguments.result}: not a JSON object of figures; give what a command wrote with --json.")
    origin: dict[str, Any] = {"command": arguments.command, "commit": arguments.commit or current_commit()}
    modified = datetime.fromtimestamp(Path(arguments.result).stat().st_mtime, UTC)
    origin |= {"date": modified.date().isoformat(), "machine": result.pop("machine", None) or machine()}
    for name in ("values", "command"):  # the command that was typed holds paths of its machine
        result.pop(name, None)
    if isinstance(origin["machine"], dict):
        origin["machine"] = {**origin["machine"], "system": platform.system()}
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    write_json(arguments.output, origin | result)
    return 0


def current_commit() -> str:
    """Return the commit of the current folder. Raises InputError outside a repository."""
    finished = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    if finished.returncode:
        raise InputError("git knows no commit in this folder; name what was measured with --commit.")
    return finished.stdout.strip()


def machine() -> str:
    """The class of the machine, in words."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} cores of {names[0] if names else platform.machine()}, {platform.system()}"


if __name__ == "__main__":
    sys.exit(main())

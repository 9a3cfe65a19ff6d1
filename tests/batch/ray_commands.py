"""Commands and inputs of the tests with Ray."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SUBJECTS = ["heart", "blood", "gene", "cell", "risk", "trial", "placebo", "attack"]
SMALL = 4
"""Sentences of a batch: about a question."""


def documents(subject: str, number: int) -> list[dict[str, Any]]:
    text = f"The {subject} is in a trial of aspirin. {'And placebo does thin the blood. ' * (number % 3)}No patients."
    return [
        {"id": f"{subject}-{i}", "title": f"A {subject}", "abstract": text * (i + 1), "grade": int(i == 0)}
        for i in range(2)
    ]


def write_lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


PROGRAM = f"""
import sys
import mpir.perspectives.scoring
import mpir.retrieve.dense.shards
from mpir.cli import main
mpir.perspectives.scoring.PAIRS_AT_ONCE = {SMALL}
mpir.retrieve.dense.shards.DOCUMENTS_PER_SHARD = {SMALL}
sys.exit(main())
"""


def started(*arguments: object, program: str = "", root: Path = ROOT, **options: Any) -> "subprocess.Popen[str]":
    """`mpir`, in small batches, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", program + PROGRAM, *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stderr=-1, stdout=-1, text=True, **options)


def ended(*arguments: object, **options: Any) -> tuple[int, str]:
    """Its exit status and what it wrote to standard error."""
    process = started(*arguments, **options)
    _, errors = process.communicate(timeout=200)
    return process.returncode, errors

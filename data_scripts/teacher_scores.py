"""Add a teacher's raw outputs to training rows, for the losses that learn from them (margin-mse, teacher-mse).

    python data_scripts/teacher_scores.py runs/data/relevance.train.jsonl --bundle BIG \\
        --output runs/data/taught.train.jsonl

Every row gets "teacher": the bundle's score of its question and sentence, as a logit. The labels stay as they are.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mpir.cli import guarded
from mpir.cli.rerank import add_model_options
from mpir.errors import InputError
from mpir.io.read import read_json_lines
from mpir.io.write import atomic_write
from mpir.perspectives import open_bundle, score_pairs
from mpir.perspectives.scales import LOGIT, TOPS

EDGE = 1e-6
"""A score this near to the end of its scale counts as that far from it: its logit is ±14."""


def main() -> int:
    """Read, score, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, help="a training file: question, sentence and label on each line")
    parser.add_argument("--output", type=Path, required=True, help="the same rows with the teacher's scores")
    parser.add_argument("--perspective", default="relevance", help="of the bundle, the teacher (%(default)s)")
    add_model_options(parser, weights=False)
    arguments = parser.parse_args()
    return guarded("teacher_scores", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole job."""
    loaded = open_bundle(arguments.bundle).perspectives(device=arguments.device, precision=arguments.precision)
    teacher = next((one for one in loaded if one.name == arguments.perspective), None)
    if teacher is None:
        names = ", ".join(one.name for one in loaded)
        raise InputError(f"bundle {arguments.bundle!r} has no {arguments.perspective!r}; choose from {names}.")
    rows = [row for _, row in read_json_lines(arguments.rows)]
    wrong = [number for number, row in enumerate(rows, 1) if not {"question", "sentence"} <= set(row)]
    if wrong:
        raise InputError(f"{arguments.rows}: row {wrong[0]} lacks a question or a sentence; give a training file.")
    pairs = [(row["question"], row["sentence"]) for row in rows]
    values = score_pairs([teacher], pairs, progress=sys.stderr.isatty()).values[:, 0]
    found = logits(values, str(teacher.identity.get("scale", LOGIT)))
    with atomic_write(arguments.output) as stream:
        for row, value in zip(rows, found.round(4).tolist(), strict=True):
            stream.write(json.dumps({**row, "teacher": value}, ensure_ascii=False) + "\n")
    print(f"{arguments.output}: {len(rows)} rows with scores of {arguments.perspective} from {arguments.bundle}")
    return 0


def logits(values: npt.NDArray[np.float64], scale: str) -> npt.NDArray[np.float64]:
    """Scores (N,) on a scale as the logits that a sigmoid would carry there."""
    if scale == LOGIT:
        return values
    shares = np.clip(values / TOPS[scale], EDGE, 1 - EDGE)
    found: npt.NDArray[np.float64] = np.log(shares / (1 - shares))
    return found


if __name__ == "__main__":
    sys.exit(main())

"""Add a teacher's raw outputs to training rows, for the losses that learn from them (kl, margin-mse, teacher-mse).

    python data_scripts/teacher_scores.py runs/data/relevance.train.jsonl --bundle BIG \\
        --output runs/data/taught.train.jsonl
    python data_scripts/teacher_scores.py runs/data/topics.train.jsonl --encoders BIG-ENCODER runs/dense/mean \\
        --output runs/data/topics.taught.train.jsonl
    python data_scripts/teacher_scores.py runs/data/topics.train.jsonl --bundle BIG --per-question 12 \\
        --keep runs/big.npz --output runs/data/topics.taught.train.jsonl
    python data_scripts/teacher_scores.py runs/data/topics.train.jsonl --kept experiments/teachers/large.npz \\
        --output runs/data/topics.taught.train.jsonl

This is a step of the recipe in docs/guides/reproduce.md. Each row gets "teacher": the bundle's score of its question
and sentence as a logit, or 10 times a cosine. With encoders it is 10 times the sum of their cosines, plus 2 if the
label is 1, so that known answers outrank similar sentences. Labels are not changed. With --add, the scores are added to
those of an earlier teacher.

Because large teachers are slow, --keep also writes their scores to a small file, by fingerprints of question and
sentence without their words, and --kept reads them in place of running a model. Rows without a stored score are left
out, and so are questions without stored scores of their best rows or of any row with label 0.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from kept_scores import fingerprints, keep, read_kept

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.model_options import add_model_options
from mpir.app.cli.value_options import file_path
from mpir.errors import InputError, error_context, format_value
from mpir.files.output_checks import Output, check_outputs
from mpir.files.read import read_json_lines
from mpir.files.write import atomic_write
from mpir.models.perspectives import Perspective, open_bundle, score_pairs
from mpir.models.perspectives.base import LOGIT, TOPS
from mpir.models.perspectives.bi_encoder import COSINE, SCALES
from mpir.types import F64
from mpir.validation import check_choice, real_number, whole_number

STEEPNESS, KNOWN = 10.0, 2.0
"""Factor from a cosine, or a sum of cosines, to a logit; and the addition for label 1 with encoders."""
Row = dict[str, Any]
TEXTS = ("question", "sentence")
"""Keys of each row."""
Group = tuple[str, str]
"""A question's id and text."""
EDGE = 1e-6
"""Minimum distance of a score from the ends of its scale, which limits logits to ±14."""


def main() -> int:
    """Read, score, write."""
    parser = script_parser(__doc__)
    parser.add_argument("rows", type=file_path, help="a training file: question, sentence and label on each line")
    parser.add_argument("--output", type=file_path, required=True, help="the same rows with the teacher's scores")
    parser.add_argument("--perspective", default="relevance", help="of the bundle, the teacher (%(default)s)")
    parser.add_argument(
        "--per-question",
        type=int,
        metavar="N",
        help="only N rows of each question, 2 at least: one of the best label and one of the lowest are among them",
    )
    parser.add_argument("--keep", type=file_path, metavar="FILE", help="add the scores to those that FILE keeps (.npz)")
    parser.add_argument("--kept", type=file_path, metavar="FILE", help="instead of a bundle: scores that --keep wrote")
    parser.add_argument("--add", action="store_true", help="to the teacher's scores that the rows already have")
    parser.add_argument("--encoders", nargs="+", metavar="ENCODER", help="instead of a bundle: folders or hub names")
    add_model_options(parser, weights=False)
    arguments = parser.parse_args()
    return guarded("teacher_scores", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole job."""
    read = [("ROWS", arguments.rows), ("--kept", arguments.kept)]
    check_outputs(
        [Output("--output", arguments.output, are_taught), Output("--keep", arguments.keep, is_archive)], read
    )
    rows = read_training(arguments.rows, taught=arguments.add)
    if arguments.keep and arguments.keep.exists():
        read_kept(arguments.keep)  # raise errors before scoring
    if arguments.per_question is not None:
        rows = some_of_each(rows, whole_number("--per-question", arguments.per_question, minimum=2))
    if arguments.kept:
        rows, scores = by_kept(arguments, rows)
    else:
        scores = by_encoders(arguments, rows) if arguments.encoders else by_bundle(arguments, rows)
    if arguments.keep:
        keep(arguments.keep, rows, scores)
    if arguments.add:
        scores = scores + np.array([row["teacher"] for row in rows], np.float64)
    with atomic_write(arguments.output) as stream:
        for row, value in zip(rows, scores.round(4).tolist(), strict=True):
            stream.write(json.dumps({**row, "teacher": value}, ensure_ascii=False) + "\n")
    models = " and ".join(arguments.encoders or []) or f"{arguments.perspective} of {arguments.bundle}"
    print(f"{arguments.output}: {len(rows)} rows with scores of {arguments.kept or models}")
    return 0


def are_taught(head: bytes) -> bool:
    """Whether a file begins with a row that has a teacher's score."""
    return head.startswith(b"{") and b'"teacher": ' in head.partition(b"\n")[0]


def is_archive(head: bytes) -> bool:
    """Whether a file may hold scores that were kept; they are read before any work."""
    return head.startswith(b"PK")


def read_training(path: Path, texts: Sequence[str] = TEXTS, *, taught: bool = False) -> list[Row]:
    """Read and check the rows of a training file: the keys `texts`, and with `taught` a teacher's score.

    Raises:
        InputError: no rows, or an invalid text, label or score (the message has file and line).
    """
    rows = []
    for number, row in read_json_lines(path):
        with error_context(f"{path}:{number}"):
            _check(row, texts, taught)
        rows.append(row)
    if not rows:
        raise InputError(f"{path}: has no rows; give a training file.")
    return rows


def _check(row: Row, texts: Sequence[str], taught: bool) -> None:
    for name in texts:
        if not isinstance(row.get(name), str):
            raise InputError(f"the {name} is {format_value(row.get(name))}; expected a text in quotation marks.")
    real_number("the label", row.get("label", 0), "a number")
    if taught:
        real_number("the teacher's score", row.get("teacher"), "a number to add to; correct it, or leave out --add")


def some_of_each(rows: list[Row], count: int) -> list[Row]:
    """Choose at most `count` rows of each question: those with the best and lowest labels, and others at random."""
    rows_of_group: dict[Group, list[int]] = {}
    for number, row in enumerate(rows):
        rows_of_group.setdefault(group(row), []).append(number)
    draw, numbers = random.Random(1), list[int]()
    for group_rows in rows_of_group.values():
        draw.shuffle(group_rows)
        ends = dict.fromkeys(choose(group_rows, key=lambda number: label(rows[number])) for choose in (max, min))
        numbers += list(ends | dict.fromkeys(group_rows))[:count]
    return [rows[number] for number in sorted(numbers)]


def by_kept(arguments: argparse.Namespace, rows: list[Row]) -> tuple[list[Row], F64]:
    """Return the rows with a stored score, and these scores (N,).

    Questions without stored scores of a best row and of a row with label 0 are left out, because ranking losses need
    both.
    """
    known = dict(zip(*read_kept(arguments.kept), strict=True))
    pairs = [(row, known[n]) for row, n in zip(rows, fingerprints(rows).tolist(), strict=True) if n in known]
    if not pairs:
        raise InputError(
            f"{arguments.kept}: has the score of none of the {len(rows)} rows of {arguments.rows}; give those that it "
            "was made from, or a bundle that scores these."
        )
    labelled = [row for row, _ in pairs]
    best, best_found, lacking = best_labels(rows), best_labels(labelled), with_zeros(rows) - with_zeros(labelled)
    fully_scored = {key for key, value in best_found.items() if value == best[key]} - lacking
    pairs = [(row, score) for row, score in pairs if group(row) in fully_scored]
    if not pairs:
        raise InputError(
            f"{arguments.kept}: of no question of {arguments.rows} it has the scores of a best row and of one with "
            "label 0; give scores of more rows."
        )
    return [row for row, _ in pairs], np.array([score for _, score in pairs])


def best_labels(rows: list[Row]) -> dict[Group, float]:
    """Return the highest label of each question."""
    best: dict[Group, float] = {}
    for row in rows:
        best[group(row)] = max(label(row), best.get(group(row), 0.0))
    return best


def with_zeros(rows: list[Row]) -> set[Group]:
    """Return the questions that have a row with label 0."""
    return {group(row) for row in rows if label(row) <= 0}


def group(row: Row) -> Group:
    """Return the question of a row: its id, by which training groups rows, and its text."""
    return str(row.get("id")), row["question"]


def label(row: Row) -> float:
    """Return a row's label, 0 by default."""
    return float(row.get("label", 0))


def by_bundle(arguments: argparse.Namespace, rows: list[Row]) -> F64:
    """Return the logits (N,) of a bundle's perspective."""
    loaded = open_bundle(arguments.bundle).perspectives(device=arguments.device, precision=arguments.precision)
    teacher = next((perspective for perspective in loaded if perspective.name == arguments.perspective), None)
    if teacher is None:
        names = ", ".join(perspective.name for perspective in loaded)
        raise InputError(f"bundle {arguments.bundle!r} has no {arguments.perspective!r}; choose from {names}.")
    scale = scale_of(teacher)
    pairs = [(row["question"], row["sentence"]) for row in rows]
    return logits(score_pairs([teacher], pairs, progress=sys.stderr.isatty()).values[:, 0], scale)


def scale_of(teacher: Perspective) -> str:
    """Return the scale of a perspective. Raises InputError for one that `logits` does not support."""
    scale = str(teacher.identity.get("scale", LOGIT))
    check_choice(f"the scale of the perspective {format_value(teacher.name)}", scale, SCALES)
    return scale


def by_encoders(arguments: argparse.Namespace, rows: list[Row]) -> F64:
    """Return logits (N,) from the sum of encoders' cosines, with long texts truncated."""
    from mpir.models.encoder import Encoder

    texts = list(dict.fromkeys(row[key] for row in rows for key in ("question", "sentence")))
    at = {text: number for number, text in enumerate(texts)}
    left, right = (np.array([at[row[key]] for row in rows]) for key in ("question", "sentence"))
    scores = KNOWN * np.array([float(row.get("label", 0) == 1) for row in rows])
    for name in arguments.encoders:
        encoder = Encoder(name, device=arguments.device, precision=arguments.precision)
        vectors, text_of = encoder.vectors(texts, progress=sys.stderr.isatty())
        vectors = vectors[np.searchsorted(text_of, np.arange(len(texts)))]
        scores += STEEPNESS * np.einsum("ij,ij->i", vectors[left], vectors[right])
    return scores


def logits(values: F64, scale: str) -> F64:
    """Convert values (N,) on a scale to logits, the inverse of the sigmoid."""
    if scale in (LOGIT, COSINE):
        return STEEPNESS * values if scale == COSINE else values
    shares = np.clip(values / TOPS[scale], EDGE, 1 - EDGE)
    log_odds: F64 = np.log(shares / (1 - shares))
    return log_odds


if __name__ == "__main__":
    sys.exit(main())

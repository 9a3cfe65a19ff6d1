"""A picture of questions and passages in an encoder's space, by t-SNE.

    python -m experiments.dense.picture --encoder ENCODER --questions questions.json --corpus abstracts.jsonl \\
        --output runs/picture
    python -m experiments.dense.picture --output runs/picture      (mpir's sample and its default bundle's encoder)

Points are the vectors of up to --limit questions and of their relevant documents; a line joins each question with one.
OUTPUT gets picture.png and picture.svg. Distances in such a picture are not to scale, so it proves nothing: beside it,
the script prints the share of questions whose nearest drawn document is relevant, in the full space and in the picture.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from experiments.common.baselines import Start
from experiments.tripclick.sample import SAMPLE
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, not_negative, positive, text_path
from mpir.core.text import Document, Question
from mpir.errors import InputError
from mpir.evaluate.figure import COLOURS, figure_axes
from mpir.extras import needs
from mpir.files.corpora import read_corpus, read_questions
from mpir.models.perspectives import open_bundle
from mpir.types import F64


def main() -> int:
    """Read arguments, encode, project, draw."""
    parser = script_parser(__doc__)
    parser.add_argument("--encoder", type=text_path, help="a folder or hub name (default: the default bundle's)")
    parser.add_argument("--questions", type=file_path, default=SAMPLE / "questions.json", help="with gold documents")
    parser.add_argument("--corpus", type=file_path, default=SAMPLE / "documents.jsonl", help="the documents' texts")
    parser.add_argument("--limit", type=positive, default=100, help="questions (%(default)s)")
    parser.add_argument("--seed", type=not_negative, default=1, help="of t-SNE (%(default)s)")
    parser.add_argument("--output", type=file_path, default=Path("runs/picture"), help="%(default)s")
    return guarded("picture", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """One picture, and one line about it."""
    documents = {document.id: document for document in read_corpus([arguments.corpus])}
    questions = [
        question
        for question in read_questions(arguments.questions)
        if any(name in documents for name in question.documents or ())
    ][: arguments.limit]
    if len(questions) < 2:
        raise InputError(f"{arguments.questions}: fewer than two questions have a document of {arguments.corpus}.")
    relevant = {question.id: [name for name in question.documents or () if name in documents] for question in questions}
    encoder = Start(arguments.encoder or str(open_bundle("default").folder / "encoder"))
    names, vectors = vectors_of(encoder, questions, documents, relevant)
    points = projected(vectors, arguments.seed)
    draw(arguments.output / "picture", questions, names, relevant, points)
    shares = [nearest_relevant(questions, names, relevant, space) for space in (vectors, points)]
    print(
        f"{len(questions)} questions, {len(names)} documents; the nearest document is relevant for "
        f"{shares[0]:.2f} of the questions in {vectors.shape[1]} dimensions, and for {shares[1]:.2f} in the picture."
    )
    return 0


def vectors_of(
    encoder: Start, questions: Sequence[Question], documents: Mapping[str, Document], relevant: Mapping[str, list[str]]
) -> tuple[list[str], F64]:
    """The drawn documents' ids, and the unit vectors (Q + D, W) of questions and documents (first passages)."""
    names = list(dict.fromkeys(name for found in relevant.values() for name in found))
    texts = [*(question.body for question in questions), *(documents[name].text for name in names)]
    vectors, text_of = encoder.vectors(texts)
    return names, vectors[np.searchsorted(text_of, np.arange(len(texts)))].astype(np.float64)


def projected(vectors: F64, seed: int) -> F64:
    """Points (N, 2) of vectors (N, W)."""
    with needs("tune", "t-SNE"):
        from sklearn.manifold import TSNE

    perplexity = min(30.0, (len(vectors) - 1) / 3)
    points: F64 = TSNE(metric="cosine", init="random", perplexity=perplexity, random_state=seed).fit_transform(vectors)
    return points


def nearest_relevant(
    questions: Sequence[Question], names: Sequence[str], relevant: Mapping[str, list[str]], space: F64
) -> float:
    """The share of questions whose nearest document is relevant."""
    count = len(questions)
    distances = np.linalg.norm(space[:count, None] - space[None, count:], axis=2)
    nearest = [names[row] for row in distances.argmin(axis=1)]
    return float(np.mean([name in relevant[question.id] for question, name in zip(questions, nearest, strict=True)]))


def draw(
    path: Path, questions: Sequence[Question], names: Sequence[str], relevant: Mapping[str, list[str]], points: F64
) -> None:
    """Documents as dots, questions as triangles, and a line from each question to its relevant documents."""
    count = len(questions)
    at = dict(zip(names, points[count:], strict=True))
    with figure_axes(path, 6.4, 5.2) as axes:
        axis = axes[0, 0]
        for question, point in zip(questions, points, strict=False):
            for name in relevant[question.id]:
                axis.plot(*zip(point, at[name], strict=True), color="#bbbbbb", linewidth=0.5, zorder=1)
        axis.scatter(*points[count:].T, s=10, color=COLOURS[0], label="documents", zorder=2)
        axis.scatter(*points[:count].T, s=22, marker="^", color=COLOURS[1], label="questions", zorder=3)
        axis.set(xticks=[], yticks=[])
        axis.legend()


if __name__ == "__main__":
    sys.exit(main())

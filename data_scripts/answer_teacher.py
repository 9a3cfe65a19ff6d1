"""Label sentences by their similarity to the ideal answers that experts wrote for a question.

    python data_scripts/answer_teacher.py --data DATA --encoder runs/dense/mean --output runs/data \\
        --rows runs/data/topics.train.jsonl runs/data/relevance.train.jsonl runs/data/in_document.train.jsonl

BioASQ's `train` questions have ideal answers of a paragraph or two. The cosine of a sentence and the nearest ideal
answer of its question separates answers from sentences that mention the same topic, and grades unjudged sentences. A
model that learns from these labels does not need ideal answers at search time (learning with privileged information:
Vapnik & Vashist 2009; Lopez-Paz et al. 2016).

X.train.jsonl becomes X.answered.train.jsonl, in which each row has "teacher" for distillation losses (kl, margin-mse):
10 times that cosine, plus 2 if the label is 1. Rows of questions without an ideal answer are left out.
searched.answered.train.jsonl has sentences of each question's best BM25 candidates, gold or not, with the cosine as
label: the 8 nearest to the answer and 16 others. Gold sentences of evaluation questions are excluded.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from teacher_scores import KNOWN, STEEPNESS, TEXTS, label, read_training
from training_data import BioASQ, Example, check_outputs, load, row, whole_sentences, write

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, text_path
from mpir.core.text.characters import normalise
from mpir.errors import InputError, error_context, format_value
from mpir.files.read import read_json
from mpir.files.write import check_folder
from mpir.models.encoder import Encoder
from mpir.types import F32

DOCUMENTS, BEST, OTHER_DOCUMENTS = 6, 8, 16
"""BM25 candidates of each question, and the number of their sentences to use."""
LONGEST = 600
"""Characters of a sentence."""
SEARCHED = "searched"


class Teacher:
    """Cosines of sentences and ideal answers by an encoder."""

    def __init__(self, encoder: Encoder, answers: Mapping[str, list[str]]) -> None:
        self.encoder, self.answers = encoder, answers

    def cosines(self, pairs: list[tuple[str, str]]) -> npt.NDArray[np.float32]:
        """The cosine (N,) of each sentence and the nearest ideal answer of its question: (question's id, sentence)."""
        texts = list(dict.fromkeys(sentence for _, sentence in pairs))
        ids = list(dict.fromkeys(name for name, _ in pairs))
        replies = [(at, text) for at, name in enumerate(ids) for text in self.answers[name]]
        vectors, written = self.vectors(texts), self.vectors([text for _, text in replies])
        number, cosines = {text: at for at, text in enumerate(texts)}, np.full(len(pairs), -1.0, np.float32)
        replies_of: dict[str, list[int]] = {}
        for position, (name, _) in enumerate(pairs):
            replies_of.setdefault(name, []).append(position)
        for (at, _), vector in zip(replies, written, strict=True):
            rows_of_reply = replies_of[ids[at]]
            near = vectors[[number[pairs[position][1]] for position in rows_of_reply]] @ vector
            cosines[rows_of_reply] = np.maximum(cosines[rows_of_reply], near)
        return cosines

    def vectors(self, texts: list[str]) -> F32:
        """Return unit vectors (N, W) of texts; for a text in several passages, that of the first."""
        vectors, text_of = self.encoder.vectors(texts, progress=sys.stderr.isatty())
        return vectors[np.searchsorted(text_of, np.arange(len(texts)))]


def ideal_answers(path: Path) -> dict[str, list[str]]:
    """The ideal answers of a BioASQ file's questions, by question id; official files hold a list, old ones a text.

    Raises:
        InputError: an answer that is neither.
    """
    answers = {}
    for record in read_json(path)["questions"]:
        value = record.get("ideal_answer") or []
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            location = f"{path}: question {format_value(record['id'])}"
            raise InputError(f"{location}: ideal_answer is {format_value(value)}; expected a text or a list of texts.")
        if texts_of_answer := [text.strip() for text in texts if text.strip()]:
            answers[record["id"]] = texts_of_answer
    return answers


def rows_of_questions(path: Path) -> list[Example]:
    """The rows of a training file, each with its question's id. Raises InputError as `read_training`."""
    return read_training(path, ("id", *TEXTS))


def taught(rows: Sequence[Example], teacher: Teacher) -> Iterator[Example]:
    """The rows whose question has an ideal answer, with the teacher's scores. Raises InputError where there is none."""
    with_answers = [item for item in rows if item["id"] in teacher.answers]
    if not with_answers:
        raise InputError(
            f"none of the {len(rows)} rows is of a question with an ideal answer; expected rows of BioASQ's questions."
        )
    cosines = teacher.cosines([(item["id"], item["sentence"]) for item in with_answers]).tolist()
    for item, cosine in zip(with_answers, cosines, strict=True):
        yield {**item, "teacher": round(STEEPNESS * cosine + KNOWN * (label(item) == 1), 4)}


def searched(bioasq: BioASQ, teacher: Teacher) -> Iterator[Example]:
    """Sentences of BM25's best candidates for every question that has an ideal answer."""
    questions = [question for question in bioasq.train if question.id in teacher.answers]
    pairs = []
    for question in questions:
        texts = dict.fromkeys(t for d in bioasq.search(question)[:DOCUMENTS] for t in whole_sentences(d))
        fit = [text for text in texts if len(text) <= LONGEST and normalise(text) not in bioasq.held]
        pairs.append([(question.id, text) for text in fit])
    cosines = iter(teacher.cosines([pair for pairs_of_question in pairs for pair in pairs_of_question]).tolist())
    for question, pairs_of_question in zip(questions, pairs, strict=True):
        ranked = sorted(((next(cosines), text) for _, text in pairs_of_question), reverse=True)
        lower_ranked = random.Random(question.id).sample(ranked[BEST:], min(OTHER_DOCUMENTS, len(ranked[BEST:])))
        for cosine, text in ranked[:BEST] + lower_ranked:
            value = round(min(max(cosine, 0.0), 1.0), 4)
            yield {**row(question, text, value, SEARCHED), "teacher": round(STEEPNESS * cosine, 4)}


def main() -> int:
    """The command line."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the folder with bioasq/ and pubmed/")
    parser.add_argument("--encoder", type=text_path, required=True, help="makes the vectors: a folder or a hub name")
    parser.add_argument("--rows", type=file_path, nargs="+", default=[], metavar="FILE", help="training files to teach")
    parser.add_argument("--output", type=file_path, required=True, help="where the new files go")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    return guarded("answer_teacher", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Label all files, then search."""
    check_folder(arguments.output)
    for path in arguments.rows:
        if not path.name.endswith(".train.jsonl"):
            raise InputError(f"{path}: is no training file; expected a name that ends in .train.jsonl.")
    names = [*(path.name.removesuffix(".train.jsonl") for path in arguments.rows), SEARCHED]
    outputs = [arguments.output / f"{name}.answered.train.jsonl" for name in names]
    check_outputs(outputs, [("--rows", path) for path in arguments.rows])
    files = {path: rows_of_questions(path) for path in arguments.rows}
    bioasq = load(arguments.data, arguments.seed)
    known = {question.id for question in bioasq.train}
    answers = ideal_answers(arguments.data / "bioasq/training.json")
    teacher = Teacher(Encoder(arguments.encoder), {name: answers[name] for name in answers if name in known})
    for path, rows in files.items():
        name = path.name.removesuffix(".train.jsonl")
        with error_context(str(path)):
            write(arguments.output / f"{name}.answered.train.jsonl", taught(rows, teacher), bioasq.evaluation)
    write(arguments.output / f"{SEARCHED}.answered.train.jsonl", searched(bioasq, teacher), bioasq.evaluation)
    return 0


if __name__ == "__main__":
    sys.exit(main())

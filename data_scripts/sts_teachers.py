"""Create STS rows with teachers: unlabelled pairs, scored by bi-encoders, a cross-encoder and a language model.

    python data_scripts/sts_teachers.py --data DATA --rows runs/data --encoder ENCODER \\
        --cross-encoder runs/sts-alone/best --output runs/data

This is a step of the recipe in docs/guides/reproduce.md. A cross-encoder that starts from a sentence encoder must learn
similarity again from 5,749 pairs, and differs from the sentence encoder: both together agree with people better than
either. The blend of the encoder's cosine, its cosine after training on STS-B, and a cross-encoder trained on STS-B
(Thakur et al., "Augmented SBERT", 2021) therefore labels files of new pairs: sts.biomedical.train.jsonl, sentences of
abstracts, from in_document.train.jsonl, each with near ones and a random one; and sts.questions.train.jsonl, questions
with sentences, from --question-rows, so that STS is learned where it is used. sts.augmented.train.jsonl, the same as
the first with STS-B's training sentences, is labelled by these and, with --language-model, a small language model that
is first trained on STS-B, too (24 minutes on two cores for one of 135 million weights); it is slow, so it judges
--judged pairs of --pairs, and the others are left out: choose another --output than the rows of the default mixture.

Without --cross-encoder the encoder's cosine labels alone, which takes minutes and keeps what the encoder knows.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from language_model import LanguageModel
from scipy.stats import pearsonr
from torch.nn import functional
from tqdm import tqdm
from training_data import Example, check_outputs, row, sts_rows, write
from transformers import AutoModel, AutoTokenizer, get_linear_schedule_with_warmup

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, text_path
from mpir.core.text import Question
from mpir.core.text.characters import normalise
from mpir.files.read import read_json_lines
from mpir.files.write import check_folder
from mpir.models.encoder import Encoder
from mpir.models.loading.pretrained import load_pretrained
from mpir.types import F64

Pairs = list[tuple[str, str]]
Judge = Callable[[Pairs], F64]
LENGTH = 128
NEAR = 3
"""Pairs of each sentence with nearest neighbours, in addition to one with a random sentence."""
EPOCHS, ROWS, LEARNING_RATE, WARMUP = 2, 32, 3e-5, 0.1
"""Epochs of the bi-encoder on STS-B; dev does not improve after two."""


class BiEncoder:
    """A sentence encoder: the mean of its token vectors, compared by the cosine."""

    def __init__(self, checkpoint: str) -> None:
        self.tokenizer = load_pretrained(AutoTokenizer, checkpoint)
        self.model = load_pretrained(AutoModel, checkpoint).eval()

    def encode(self, texts: Sequence[str]) -> torch.Tensor:
        """Unit vectors (N, width)."""
        inputs = self.tokenizer(
            list(texts), padding=True, truncation=True, max_length=LENGTH, return_tensors="pt", pad_to_multiple_of=8
        )
        with torch.autocast("cpu", torch.bfloat16):
            states = self.model(**inputs).last_hidden_state.float()
        mask = inputs["attention_mask"].unsqueeze(-1)
        return functional.normalize((states * mask).sum(1) / mask.sum(1), dim=1)

    @torch.inference_mode()
    def vectors(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """`encode` in batches of similar length; results are in the order of the texts."""
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        batches = [self.encode([texts[i] for i in order[s : s + 64]]).numpy() for s in range(0, len(order), 64)]
        vectors = np.concatenate(batches)
        return vectors[np.argsort(order)]

    def tune(self, pairs: Pairs, labels: F64, seed: int) -> None:
        """Train on pairs and labels 0 to 5: mean squared error of the cosine from the label's fifth."""
        torch.manual_seed(seed)
        order = [
            row
            for epoch in range(EPOCHS)
            for row in random.Random(seed + epoch).sample(range(len(pairs)), k=len(pairs))
        ]
        batches = [order[start : start + ROWS] for start in range(0, len(order), ROWS)]
        optimiser = torch.optim.AdamW(self.model.parameters(), lr=LEARNING_RATE)
        schedule = get_linear_schedule_with_warmup(optimiser, int(WARMUP * len(batches)), len(batches))
        self.model.train()
        for batch in tqdm(batches, desc="bi-encoder", unit="batch", disable=not sys.stderr.isatty()):
            left, right = self.encode([pairs[row][side] for side in (0, 1) for row in batch]).chunk(2)
            loss = functional.mse_loss((left * right).sum(1), torch.from_numpy(labels[batch] / 5).float())
            loss.backward()
            optimiser.step()
            schedule.step()
            optimiser.zero_grad()
        self.model.eval()

    def score(self, pairs: Pairs) -> F64:
        """The cosine (N,) of each pair; a repeated text is encoded once."""
        number = {text: i for i, text in enumerate(dict.fromkeys(text for pair in pairs for text in pair))}
        vectors = self.vectors(list(number))
        left, right = (vectors[[number[pair[side]] for pair in pairs]] for side in (0, 1))
        return (left * right).sum(1).astype(np.float64)


class Teachers:
    """Teachers of similarity, blended by least squares on STS-B dev."""

    def __init__(self, judges: Mapping[str, Judge], dev: Pairs, labels: F64) -> None:
        self.judges = judges
        views = self._views(dev)
        self.weights = np.linalg.lstsq(views, labels, rcond=None)[0]
        self._print("STS-B dev", views, labels)

    def report(self, name: str, pairs: Pairs, labels: F64) -> None:
        """Print the correlation of each teacher and of the blend with human labels."""
        self._print(name, self._views(pairs), labels)

    def _print(self, name: str, views: F64, labels: F64) -> None:
        scores_of = {teacher: views[:, column] for column, teacher in enumerate(self.judges)}
        scores_of["all"] = views @ self.weights
        figures = (f"{teacher} {pearsonr(values, labels)[0]:.4f}" for teacher, values in scores_of.items())
        print(f"Pearson on {name}: {', '.join(figures)}")

    def _views(self, pairs: Pairs) -> F64:
        """Return the scores of each teacher and a constant: (N, teachers + 1)."""
        return np.stack([*(judge(pairs) for judge in self.judges.values()), np.ones(len(pairs))], axis=1)

    def label(self, pairs: Pairs) -> F64:
        """Labels (N,) from 0 to 5."""
        return np.clip(self._views(pairs) @ self.weights, 0.0, 5.0)


def crossing(checkpoint: str) -> Judge:
    """Return a cross-encoder's first output for pairs, 0 to 1."""
    cross = Encoder(checkpoint)

    def score(pairs: Pairs) -> F64:
        """Return the similarity (N,) of each pair, 0 to 1."""
        logits = cross.outputs(pairs, progress=sys.stderr.isatty())[0][:, 0].astype(np.float64)
        return 1 / (1 + np.exp(-logits))

    return score


def read_stsb(path: Path) -> tuple[Pairs, F64]:
    """The pairs of an STS-B file and their labels, 0 to 5."""
    rows = list(sts_rows(path))
    return [(item["question"], item["sentence"]) for item in rows], np.array([item["label"] for item in rows])


def new_pairs(bi: BiEncoder, texts: Sequence[str], known: Pairs, held_out: set[str], generator: random.Random) -> Pairs:
    """Pair each text with near neighbours and a random one, without held-out texts and known pairs."""
    texts = [text for text in dict.fromkeys(texts) if normalise(text) not in held_out]
    vectors = bi.vectors(texts)
    known_pairs = {frozenset(pair) for pair in known}
    pairs: Pairs = []
    for number, vector in enumerate(vectors):
        nearest = np.argsort(-(vectors @ vector))[1 : 2 * NEAR + 2].tolist()
        for neighbour in [*generator.sample(nearest, NEAR), generator.randrange(len(texts))]:
            pair = frozenset((texts[number], texts[neighbour]))
            if len(pair) == 2 and pair not in known_pairs:
                known_pairs.add(pair)
                pairs.append((texts[number], texts[neighbour]))
    return pairs


def read_biosses(path: Path) -> set[str]:
    """Return the sentences of BIOSSES, which is for reporting only."""
    with open(path, encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    return {normalise(row[name]) for row in rows for name in ("sentence1", "sentence2")}


def question_pairs(rows: Path, count: int, generator: random.Random) -> Pairs:
    """Draw pairs of question and sentence from a file of training rows."""
    return sample_pairs([(item["question"], item["sentence"]) for _, item in read_json_lines(rows)], count, generator)


def sample_pairs(pairs: Pairs, count: int, generator: random.Random) -> Pairs:
    """Draw this number of pairs, or return all if there are fewer."""
    return generator.sample(pairs, min(count, len(pairs)))


def rows_of(pairs: Pairs, labels: F64, subset: str) -> Iterator[Example]:
    """Make training rows, each in its own group."""
    for number, ((question, sentence), label) in enumerate(zip(pairs, labels, strict=True)):
        yield row(Question(f"{subset}-{number}", question), sentence, round(float(label), 3), subset)


def run(arguments: argparse.Namespace) -> int:
    """Blend the teachers, label, write."""
    check_folder(arguments.output)
    outputs = [arguments.output / f"sts.{name}.train.jsonl" for name in ("augmented", "biomedical", "questions")]
    check_outputs(outputs, [("--question-rows", arguments.rows / arguments.question_rows)])
    generator, folder = random.Random(arguments.seed), arguments.data / "sts"
    train, train_labels = read_stsb(folder / "stsb/sts-train.csv")
    dev, dev_labels = read_stsb(folder / "stsb/sts-dev.csv")
    test, test_labels = read_stsb(folder / "stsb/sts-test.csv")
    held_out = {normalise(text) for pair in (*dev, *test) for text in pair}
    held_out |= read_biosses(folder / "biosses/biosses.tsv")
    bi = BiEncoder(arguments.encoder)
    judges = {"encoder": bi.score}
    if arguments.cross_encoder:
        tuned = BiEncoder(arguments.encoder)
        tuned.tune(train, train_labels, arguments.seed)
        judges |= {"trained encoder": tuned.score, "cross-encoder": crossing(arguments.cross_encoder)}
    quick = best = Teachers(judges, dev, dev_labels)
    if arguments.language_model:
        reader = LanguageModel(arguments.language_model)
        reader.tune(train, train_labels, arguments.seed)
        best = Teachers({**judges, "language model": reader.score}, dev, dev_labels)
    if arguments.test:
        best.report("STS-B test", test, test_labels)

    def label(subset: str, pairs: Pairs, teachers: Teachers) -> None:
        """Write the labelled pairs of a subset."""
        write(arguments.output / f"sts.{subset}.train.jsonl", rows_of(pairs, teachers.label(pairs), f"sts-{subset}"))

    near = new_pairs(bi, [text for pair in train for text in pair], train, held_out, generator)
    near = sample_pairs(near, arguments.pairs, generator)
    judged = sample_pairs(near, arguments.judged, random.Random(arguments.seed)) if arguments.language_model else near
    label("augmented", judged, best)
    texts = [item["sentence"] for _, item in read_json_lines(arguments.rows / "in_document.train.jsonl")]
    near = new_pairs(bi, texts, [], held_out, generator)
    label("biomedical", sample_pairs(near, arguments.biomedical, generator), quick)
    questions = question_pairs(arguments.rows / arguments.question_rows, arguments.questions, generator)
    label("questions", questions, quick)
    return 0


def main() -> int:
    """Read arguments and run."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the folder with sts/stsb and sts/biosses")
    parser.add_argument(
        "--rows", type=file_path, required=True, help="the folder with in_document.train.jsonl and the question rows"
    )
    parser.add_argument(
        "--question-rows",
        type=text_path,
        default="relevance.train.jsonl",
        metavar="FILE",
        help="whose questions and sentences are paired (%(default)s)",
    )
    parser.add_argument("--encoder", type=text_path, required=True, help="sentence encoder whose cosine is a teacher")
    parser.add_argument(
        "--cross-encoder",
        type=text_path,
        help="a checkpoint trained on STS-B, whose first output is STS (default: none)",
    )
    parser.add_argument(
        "--language-model", type=text_path, help="a causal language model, which is trained on STS-B and teaches, too"
    )
    parser.add_argument("--output", type=file_path, required=True, help="where the rows go")
    parser.add_argument("--pairs", type=int, default=30_000, help="most new pairs of STS-B sentences (%(default)s)")
    parser.add_argument("--judged", type=int, default=12_000, help="most of them with a language model (%(default)s)")
    parser.add_argument(
        "--biomedical", type=int, default=15_000, help="most pairs of abstracts' sentences (%(default)s)"
    )
    parser.add_argument("--questions", type=int, default=8_000, help="most question-sentence pairs (%(default)s)")
    parser.add_argument("--test", action="store_true", help="print the teachers' figures on STS-B test, too: to report")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    return guarded("sts_teachers", lambda: run(arguments))


if __name__ == "__main__":
    sys.exit(main())

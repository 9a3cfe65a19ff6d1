"""Distil an encoder into smaller ones with fewer layers, by the vectors of abstracts and questions.

    python -m experiments.dense.smaller_encoder --data DATA --layers 3 1 0 --output runs/smaller
    python -m experiments.training.add_encoder default --encoder runs/smaller/3 --documents dense --replace \\
        --share dense --output runs/smaller/bundle-3
    python -m experiments.ranking.evaluation --data DATA --only c d --sets med --limit 60 \\
        --bundle runs/smaller/bundle-3

A student starts from evenly spread layers of the teacher, as `mpir train shrink` does. With 0 layers it is the lower
bound, a static embedding of tokens: its one layer adds nothing and stays so, and is only there because every
checkpoint has one, so its speed is not that of a static embedding. Students learn the teacher's unit vectors: the loss
is one minus the cosine. Texts are abstracts that are not gold for a dev or test question, and the questions of the
training split, each truncated to --length tokens. For each student the script prints the mean cosine with the teacher
on held-out abstracts, and how many times as fast it encodes them.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tqdm import tqdm

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, not_negative, positive, text_path
from mpir.files.corpora import read_jsonl
from mpir.files.folder_format import CHECKPOINT
from mpir.files.read import read_json
from mpir.files.write import atomic_folder
from mpir.models.encoder import Encoder
from mpir.models.perspectives import open_bundle
from mpir.types import F32, I64

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

WARM_UP = 0.1
"""Share of the steps in which the learning rate rises; it then falls to 0."""


def main() -> int:
    """Read arguments, distil, measure."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the folder with bioasq/ and pubmed/")
    parser.add_argument("--teacher", type=text_path, help="a sentence encoder (default: the bundle default's)")
    parser.add_argument("--layers", type=not_negative, nargs="+", default=[3, 1, 0], help="of each student (3 1 0)")
    parser.add_argument("--abstracts", type=positive, default=8_000, help="abstracts to learn from (%(default)s)")
    parser.add_argument("--held-out", type=positive, default=100, help="abstracts that measure (%(default)s)")
    parser.add_argument("--epochs", type=positive, default=3, help="%(default)s")
    parser.add_argument("--batch-size", type=positive, default=32, help="%(default)s")
    parser.add_argument("--length", type=positive, default=192, help="tokens of a text (%(default)s)")
    parser.add_argument("--rate", type=float, default=3e-4, help="learning rate (%(default)s)")
    parser.add_argument("--seed", type=not_negative, default=1)
    parser.add_argument(
        "--output", type=file_path, required=True, help="folder of the checkpoints, each named by its layers"
    )
    return guarded("smaller_encoder", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """Distil and measure."""
    import torch
    from transformers import AutoTokenizer

    from mpir.models.loading.pretrained import load_pretrained

    folders = {layers: arguments.output / str(layers) for layers in arguments.layers}
    for folder in folders.values():
        CHECKPOINT.check_replaceable(folder)
    teacher = arguments.teacher or str(open_bundle("default").folder / "encoder")
    training, held_out = texts(arguments.data, arguments.abstracts, arguments.held_out, arguments.seed)
    tokenizer = load_pretrained(AutoTokenizer, teacher)
    targets = first_vectors(*Encoder(teacher, max_length=arguments.length, over_length="truncate").vectors(training))
    for layers, folder in folders.items():
        torch.manual_seed(arguments.seed)
        student = first_layers(teacher, layers)
        distil(student, tokenizer, training, targets, arguments)
        with atomic_folder(folder, CHECKPOINT) as temporary:
            student.half().save_pretrained(temporary)
            tokenizer.save_pretrained(temporary)
        cosine, ratio = compare(teacher, str(folder), held_out)
        print(f"{layers} layers: cosine with the teacher {cosine:.3f}, {ratio:.1f} times as fast", flush=True)
    return 0


def texts(data: Path, count: int, held_out: int, seed: int) -> tuple[list[str], list[str]]:
    """Training texts (abstracts and questions of the training split), and held-out abstracts."""
    splits, excluded, questions = read_json(data / "bioasq/splits.json"), set[str](), []
    training_ids = set(splits["train"])
    for question in read_json(data / "bioasq/training.json")["questions"]:
        if question["id"] in training_ids:
            questions.append(question["body"])
        else:
            excluded |= {url.rsplit("/", 1)[-1] for url in question["documents"]}
    abstracts = [item.text for item in read_jsonl(data / "pubmed/abstracts.jsonl") if item.id not in excluded]
    random.Random(seed).shuffle(abstracts)
    return [*abstracts[held_out : held_out + count], *questions[:count]], abstracts[:held_out]


def first_layers(checkpoint: str, count: int) -> PreTrainedModel:
    """An encoder with `count` of the checkpoint's layers, evenly spread, or with one that adds nothing for 0."""
    import torch
    from transformers import AutoModel

    from mpir.lab.train.pretrained import load_model

    model = load_model(checkpoint, AutoModel)
    layers = model.encoder.layer
    kept = max(count, 1)
    numbers = [(number + 1) * len(layers) // kept - 1 for number in range(kept)]
    model.encoder.layer = torch.nn.ModuleList(layers[number] for number in numbers)
    model.config.num_hidden_layers = kept
    if count == 0:
        for residual in (layers[numbers[0]].attention.output.dense, layers[numbers[0]].output.dense):
            for parameter in residual.parameters():
                torch.nn.init.zeros_(parameter).requires_grad_(False)
    return model


def distil(
    student: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    training: Sequence[str],
    targets: F32,
    arguments: argparse.Namespace,
) -> None:
    """Train the student on the teacher's vectors."""
    import torch

    steps = arguments.epochs * -(-len(training) // arguments.batch_size)
    optimiser = torch.optim.AdamW([p for p in student.parameters() if p.requires_grad], lr=arguments.rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, arguments.rate, total_steps=steps, pct_start=WARM_UP, anneal_strategy="linear"
    )
    student.train()
    for rows in tqdm(batches(training, arguments), total=steps, desc="distilling", disable=None):
        encoded = tokenizer(
            [training[row] for row in rows],
            truncation=True,
            max_length=arguments.length,
            padding=True,
            return_tensors="pt",
        )
        with torch.autocast("cpu", torch.bfloat16):
            states = student(**encoded).last_hidden_state
        vectors = mean_vectors(states.float(), encoded["attention_mask"])
        loss = 1 - torch.cosine_similarity(vectors, torch.from_numpy(targets[rows])).mean()
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    student.eval()


def batches(training: Sequence[str], arguments: argparse.Namespace) -> Iterator[list[int]]:
    """Rows of each batch: every text once an epoch, texts of similar length together, batches in random order."""
    draw = random.Random(arguments.seed)
    for _ in range(arguments.epochs):
        rows = sorted(range(len(training)), key=lambda row: (len(training[row]) // 200, draw.random()))
        starts = list(range(0, len(rows), arguments.batch_size))
        draw.shuffle(starts)
        yield from (rows[start : start + arguments.batch_size] for start in starts)


def mean_vectors(states: Tensor, mask: Tensor) -> Tensor:
    """The mean state (N, W) of each text's tokens."""
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1)


def first_vectors(vectors: F32, text_of: I64) -> F32:
    """The vector of each text's first passage."""
    return vectors[np.diff(text_of, prepend=-1) > 0]


def compare(teacher: str, student: str, held_out: Sequence[str]) -> tuple[float, float]:
    """The mean cosine of both encoders' vectors, and the teacher's time over the student's: medians of three."""
    times: dict[str, list[float]] = {teacher: [], student: []}
    vectors: dict[str, F32] = {}
    encoders = {checkpoint: Encoder(checkpoint) for checkpoint in times}
    for _ in range(4):
        for checkpoint, encoder in encoders.items():
            started = time.perf_counter()
            vectors[checkpoint] = first_vectors(*encoder.vectors(held_out))
            times[checkpoint].append(time.perf_counter() - started)
    cosine = float((vectors[teacher] * vectors[student]).sum(1).mean())
    seconds = {checkpoint: float(np.median(measured[1:])) for checkpoint, measured in times.items()}
    return cosine, seconds[teacher] / seconds[student]


if __name__ == "__main__":
    sys.exit(main())

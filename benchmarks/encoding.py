"""Making vectors: mpir's encoder against sentence-transformers' `encode`, on the same texts with the same weights.

    python benchmarks/encoding.py --data DATA --checkpoint FOLDER_OR_HUB_NAME --json encoding.json

The texts are whole abstracts (title and text), single sentences, and eight texts of 64 tokens. Longer texts are
truncated to --length before, because mpir would read them in passages. The checkpoint is a sentence-transformers model
with mean pooling and unit vectors, such as all-MiniLM-L6-v2. The peer runs with its defaults (fp32, batches of 32,
sorted by length), and also with bfloat16 weights. Every contender has its own process, and they take turns. Vectors
must agree: the lowest cosine to the peer's fp32 vectors is printed. "The system's" is the share of processor time spent
in the operating system, mostly on memory that is released and requested again.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from measure import Timed, alternate, default_threads, describe, machine, show, spread, start_all, table
from peers import load_quietly
from workload import read_documents

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive, text_path
from mpir.core.text.split import sentences
from mpir.files.write import write_json
from mpir.models.loading.checkpoint import open_checkpoint
from mpir.types import F32

SHORT, FEW = 64, 8
"""The tokens and texts of a batch as a thesis timed it."""
PEER, MPIR = "sentence-transformers", "mpir"
PRECISIONS = {"fp32": "float32", "bf16": "bfloat16"}


def main() -> int:
    """Read arguments, measure, print, write."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, help="folder with bioasq/ and pubmed/ (default: mpir's sample)")
    parser.add_argument("--checkpoint", type=text_path, required=True, help="a sentence encoder's folder or hub name")
    parser.add_argument("--documents", type=positive, default=200, help="(%(default)s)")
    parser.add_argument("--rounds", type=positive, default=3, help="(%(default)s)")
    parser.add_argument("--length", type=positive, default=512, help="most tokens in a text (%(default)s)")
    parser.add_argument("--threads", type=positive, default=default_threads(), help="of each (%(default)s)")
    parser.add_argument("--sentences", type=positive, metavar="N", help="at most (default: all of the documents)")
    parser.add_argument(
        "--processor", action="store_true", help="measure processor time instead of wall time, on a busy machine"
    )
    parser.add_argument("--json", type=file_path, metavar="FILE", help="also write the figures there")
    return guarded("encoding", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """Print a table for each kind of text. Raises ArtefactError for an invalid checkpoint before reading data."""
    check_figures(arguments)
    open_checkpoint(arguments.checkpoint, None)
    facts = machine(arguments.threads)
    documents = read_documents(arguments.data, arguments.documents, partial=False)
    texts, sentence_texts = (
        [document.text for document in documents],
        [sentence.text for document in documents for sentence in sentences(document)],
    )
    works = {
        "documents": cut(texts, arguments.checkpoint, arguments.length),
        "sentences": cut(sentence_texts[: arguments.sentences], arguments.checkpoint, 128),
        f"texts of {SHORT} tokens": cut(texts, arguments.checkpoint, SHORT)[:FEW],
    }
    with ExitStack() as stack:
        makers = {MPIR: mpir_encoder, PEER: peer}
        contenders = {
            f"{who}, {precision}": (makers[who], arguments.checkpoint, precision, arguments.length)
            for who in makers
            for precision in PRECISIONS
        }
        workers, _, notes = start_all(stack, contenders, arguments.threads, works["documents"][:2])
        figures_of = {
            name: figures(alternate(workers, arguments.rounds, texts), len(texts), processor=arguments.processor)
            for name, texts in works.items()
        }
        peaks = {name: worker.peak_mib() for name, worker in workers.items()}
    report(figures_of, peaks, [describe(facts), *notes])
    if arguments.json:
        write_json(arguments.json, {"machine": facts, "works": figures_of, "peak_mib": peaks})
    return 0


def cut(texts: Sequence[str], checkpoint: str, length: int) -> list[str]:
    """Truncate texts to this number of tokens, including special ones."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(checkpoint, trust_remote_code=False)
    longest = length - tokenizer.num_special_tokens_to_add()
    offsets = tokenizer(list(texts), add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    return [
        text if len(spans) <= longest else text[: spans[longest - 1][1]]
        for text, spans in zip(texts, offsets, strict=True)
    ]


class Encoded(NamedTuple):
    """Vectors (N, W), and the processor's seconds that they took: the program's and the system's."""

    vectors: F32
    user: float
    system: float


def watched(encode: Callable[[Sequence[str]], F32]) -> Callable[[Sequence[str]], Encoded]:
    """Makes vectors with an eye on the processor's time."""

    def run(texts: Sequence[str]) -> Encoded:
        before = os.times()
        vectors, after = encode(texts), os.times()
        return Encoded(vectors, after.user - before.user, after.system - before.system)

    return run


def mpir_encoder(checkpoint: str, precision: str, length: int) -> Callable[[Sequence[str]], Encoded]:
    """mpir's encoder; a text has one vector, as none is longer than a passage."""
    from mpir.models.encoder import Encoder

    encoder = Encoder(checkpoint, device="cpu", precision=precision, max_length=length)
    return watched(lambda texts: encoder.vectors(texts)[0])


def peer(checkpoint: str, precision: str, length: int) -> Callable[[Sequence[str]], Encoded]:
    """sentence-transformers with its defaults, but for the precision."""
    load_quietly()
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(
        checkpoint, device="cpu", model_kwargs={"dtype": PRECISIONS[precision]}, trust_remote_code=False
    )
    model.max_seq_length = length
    return watched(lambda texts: np.asarray(model.encode(list(texts), normalize_embeddings=True), np.float32))


def figures(timed: dict[str, list[Timed]], count: int, *, processor: bool) -> dict[str, Any]:
    """Texts a second, ratios to the peer round by round, and the least cosine to the peer's fp32 vectors."""
    rates = {
        name: [count / (turn.value.user + turn.value.system if processor else turn.seconds) for turn in turns]
        for name, turns in timed.items()
    }
    base = timed.get(f"{PEER}, fp32")
    values: dict[str, Any] = {"texts": count, "texts_per_second": {name: spread(turn) for name, turn in rates.items()}}
    for against in ("fp32", "bf16"):
        rivals = rates.get(f"{PEER}, {against}", [])
        values[f"times_peer_{against}"] = {
            name: spread(a / b for a, b in zip(turn, rivals, strict=True)) for name, turn in rates.items() if rivals
        }
    values["system"] = {
        name: median(turn.value.system / (turn.value.user + turn.value.system or 1.0) for turn in turns)
        for name, turns in timed.items()
    }
    if base:
        values["least_cosine"] = {
            name: float((turn[0].value.vectors * base[0].value.vectors).sum(axis=1).min())
            for name, turn in timed.items()
        }
    return values


def report(figures_of: dict[str, Any], peaks: dict[str, float], notes: Sequence[str]) -> None:
    """Print the tables."""
    print("\n".join(notes))
    for work, values in figures_of.items():
        rows = [cells(name, values, peaks[name]) for name in values["texts_per_second"]]
        heads = ("", "texts/s", "times the peer's fp32", "times its bf16", "least cosine", "the system's", "peak MiB")
        print(f"\n{values['texts']} {work}\n\n{table(rows, heads)}")


def cells(name: str, values: dict[str, Any], peak: float) -> tuple[str, ...]:
    """A contender's row."""
    times = (values[f"times_peer_{precision}"].get(name) for precision in PRECISIONS)
    shown = (show(ratio, 2) if ratio else "" for ratio in times)
    cosine = f"{values['least_cosine'][name]:.6f}" if "least_cosine" in values else ""
    return (
        name,
        show(values["texts_per_second"][name], 1),
        *shown,
        cosine,
        f"{values['system'][name]:.0%}",
        f"{peak:,.0f}",
    )


if __name__ == "__main__":
    sys.exit(main())

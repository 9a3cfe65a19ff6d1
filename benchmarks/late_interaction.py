"""(question, document) pairs per second of ColBERT, TK and a cross-encoder, with pre-encoded documents.

    python benchmarks/late_interaction.py --data DATA

The cross-encoder (CAT) and ColBERT have the same encoder, that of --bundle; ColBERT compares unprojected states, which
are wider than its published 128 dimensions. TK has random word vectors of 300 dimensions for all words of the
documents. ColBERT and TK have encoded the documents before; every question is new to them. MaxSim is also timed
separately, in mpir and in sentence-transformers, on the same vectors. Every contender has its own process, and they
take turns.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from measure import alternate, default_threads, describe, machine, show, spread, start_all, table
from workload import read_asked, read_documents

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive, text_path
from mpir.files.write import write_json
from mpir.types import F64

PEER, MPIR = "MaxSim alone, sentence-transformers", "MaxSim alone, mpir"
WIDTH = 300


def main() -> int:
    """Read arguments, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, help="folder with bioasq/ and pubmed/ (default: mpir's sample)")
    parser.add_argument("--bundle", type=text_path, default="default", help="whose encoder is used (%(default)s)")
    parser.add_argument("--documents", type=positive, default=100, help="for each question (%(default)s)")
    parser.add_argument("--questions", type=positive, default=10, help="(%(default)s)")
    parser.add_argument("--precision", default="auto", help="auto, fp32, bf16 (%(default)s)")
    parser.add_argument("--rounds", type=positive, default=5, help="(%(default)s)")
    parser.add_argument("--threads", type=positive, default=default_threads(), help="(%(default)s)")
    parser.add_argument("--json", type=file_path, help="write the figures there, too")
    return guarded("late_interaction", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """One table for all contenders."""
    check_figures(arguments)
    before = machine(arguments.threads)
    questions = [question.body for question in read_asked(arguments.data)[: arguments.questions]]
    texts = [document.text for document in read_documents(arguments.data, arguments.documents, partial=False)]
    with TemporaryDirectory() as folder, ExitStack() as stack:
        common = arguments.bundle, arguments.precision, texts
        contenders = {
            "CAT": (cross_encoder, *common),
            "ColBERT": (late, *common),
            "TK": (tk, folder, texts),
            MPIR: (maxsim_alone, *common, questions, False),
            PEER: (maxsim_alone, *common, questions, True),
        }
        workers, values, notes = start_all(stack, contenders, arguments.threads, questions, together=True)
        timed = alternate(workers, arguments.rounds, questions)
        peaks = {name: worker.peak_mib() for name, worker in workers.items()}
    figures = _figures(timed, values, len(questions) * len(texts), peaks)
    if arguments.json:
        write_json(arguments.json, {"machine": before, "contenders_left_out": notes, **figures})
    _print(figures, [describe(before), *notes])
    return 0


def _figures(timed: dict[str, Any], values: dict[str, F64], pairs: int, peaks: dict[str, float]) -> dict[str, Any]:
    rates = {name: spread(pairs / turn.seconds for turn in times) for name, times in timed.items()}
    figures: dict[str, Any] = {
        "pairs": pairs,
        "contenders": {name: {"pairs_per_second": rates[name], "peak_mib": peaks[name]} for name in rates},
        "times_the_cross_encoder": {
            name: rates_of["median"] / rates["CAT"]["median"] for name, rates_of in rates.items()
        },
    }
    if MPIR in values and PEER in values:
        figures["maxsim_max_difference"] = float(np.abs(values[MPIR] - values[PEER]).max())
    return figures


def _print(figures: dict[str, Any], notes: Sequence[str]) -> None:
    rows = [
        (
            name,
            show(values["pairs_per_second"]),
            f"{figures['times_the_cross_encoder'][name]:.1f}",
            f"{values['peak_mib']:,.0f}",
        )
        for name, values in figures["contenders"].items()
    ]
    print(table(rows, ("", "pairs a second", "times CAT's", "peak MiB")))
    if "maxsim_max_difference" in figures:
        print(f"\nMaxSim differs from sentence-transformers' by at most {figures['maxsim_max_difference']:.2g}.")
    print("\n".join(["", *notes]))


def cross_encoder(bundle: str, precision: str, texts: Sequence[str]) -> Callable[[Sequence[str]], F64]:
    """Reads every pair."""
    encoder = _encoder(bundle, precision)
    return lambda questions: encoder.outputs([(q, text) for q in questions for text in texts])[0][:, 0].astype(float)


def late(bundle: str, precision: str, texts: Sequence[str]) -> Callable[[Sequence[str]], F64]:
    """Has read the texts; reads the questions."""
    return _ready(_late(bundle, precision), texts)


def tk(folder: str, texts: Sequence[str]) -> Callable[[Sequence[str]], F64]:
    """A model with random vectors of all words, that has read the texts."""
    from mpir.lab.train.tk_init import WORD, make_tk
    from mpir.models.encoder import Encoder
    from mpir.models.late_interaction.late import FORMS
    from mpir.models.perspectives.late_interaction import LatePerspective

    words = sorted({word for text in texts for word in re.findall(WORD, text.lower())})
    vectors = np.random.default_rng(1).normal(size=(len(words), WIDTH)).round(3)
    rows = (" ".join([word, *map(str, row)]) for word, row in zip(words, vectors.tolist(), strict=True))
    (Path(folder) / "words.txt").write_text("\n".join([f"{len(words)} {WIDTH}", *rows]) + "\n", encoding="utf-8")
    checkpoint = make_tk(Path(folder) / "words.txt", Path(folder) / "tk")
    encoder = Encoder(checkpoint, device="cpu", precision="fp32")
    return _ready(LatePerspective("tk", encoder, FORMS["words"]), texts)


def maxsim_alone(
    bundle: str, precision: str, texts: Sequence[str], questions: Sequence[str], peer: bool
) -> Callable[[Sequence[str]], F64]:
    """Compares vectors that are all there, those of each text's first passage."""
    import torch

    perspective = _late(bundle, precision)
    queries = perspective.encoder.token_vectors(questions, perspective.late, is_query=True)[0]
    vectors, text_of = perspective.encoder.token_vectors(texts, perspective.late, is_query=False)
    text_vectors = [vectors[row].float() for row in np.unique(text_of, return_index=True)[1].tolist()]
    queries = [query.float() for query in queries]
    if peer:
        from sentence_transformers.util import maxsim as theirs

        return lambda _: theirs(queries, text_vectors).numpy().astype(float)
    from mpir.models.late_interaction.interaction import scores

    lengths = torch.tensor([len(vector) for vector in text_vectors])

    @torch.inference_mode()
    def run(_: Sequence[str]) -> F64:
        values = scores(perspective.encoder.interaction, queries, torch.cat(text_vectors), lengths)
        return np.asarray(values.numpy().astype(float))

    return run


def _encoder(bundle: str, precision: str) -> Any:
    from mpir.models.encoder import Encoder
    from mpir.models.perspectives import open_bundle

    opened = open_bundle(bundle)
    checkpoint = opened.folder / opened.manifest["perspectives"][0]["checkpoint"]
    return Encoder(checkpoint, device="cpu", precision=precision)


def _late(bundle: str, precision: str) -> Any:
    from mpir.models.late_interaction.late import FORMS
    from mpir.models.perspectives.late_interaction import LatePerspective

    return LatePerspective("late", _encoder(bundle, precision), FORMS["states"])


def _ready(perspective: Any, texts: Sequence[str]) -> Callable[[Sequence[str]], F64]:
    perspective.score_pairs([("What is this?", text) for text in texts])
    return lambda questions: perspective.score_pairs([(q, text) for q in questions for text in texts])[0]


if __name__ == "__main__":
    sys.exit(main())

"""Does another runtime pay? One cross-encoder by torch and by OpenVINO, against mpir's encoder with all its scores.

    pip install --constraint constraints.txt --editable . && pip install "sentence-transformers[openvino]"
    python benchmarks/runtimes.py --data DATA --json runtimes.json

sentence-transformers' OpenVINO backend wants other versions of its packages than mpir pins, so give it an environment
of its own. Work is pairs of a dev question with sentences, and pairs of a question with whole abstracts. `int8` is
OpenVINO's static quantisation, calibrated on other pairs of questions and sentences. τ is Kendall's, within a question,
between a contender's scores and those of fp32 by torch; `gap` is the largest difference of two probabilities.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from measure import Timed, Worker, alternate, default_threads, describe, helper, machine, show, spread, start_all, table
from peers import PAIRS, cut_outputs, load_quietly, mpir_score
from scipy.stats import kendalltau
from workload import Pair, make_pairs, read_asked, read_documents

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive
from mpir.files.write import write_json
from mpir.types import F64

TORCH, OPENVINO = "sentence-transformers, torch", "sentence-transformers, OpenVINO"
PEER = f"{TORCH}, fp32"
CORPUS = 3_000
Score = Callable[[Sequence[Pair]], F64]


def main() -> int:
    """Measure, print and write."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, help="folder with bioasq/ and pubmed/ (default: mpir's sample)")
    parser.add_argument("--sentences", type=positive, default=384, help="pairs with sentences (%(default)s)")
    parser.add_argument("--abstracts", type=positive, default=60, help="pairs with abstracts (%(default)s)")
    parser.add_argument("--calibration", type=positive, default=100, help="pairs for int8 (%(default)s)")
    parser.add_argument("--rounds", type=positive, default=3, help="(%(default)s)")
    parser.add_argument("--threads", type=positive, default=default_threads(), help="of each (every core)")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="write the figures")
    return guarded("runtimes", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """The whole benchmark."""
    check_figures(arguments)
    facts = machine(arguments.threads)
    works, calibration = pairs_of(arguments)
    figures: dict[str, Any] = {"machine": facts, "command": sys.argv, "works": {}}
    with ExitStack() as stack, TemporaryDirectory(prefix="mpir-runtimes-") as folder:
        with Worker(helper, threads=arguments.threads) as aside:
            checkpoint = aside.call(cut_outputs, PAIRS, folder).value[0]
        contenders = {
            "mpir, fp32": (mpir_score, PAIRS, "cpu", "fp32", 3),
            "mpir, its own choice": (mpir_score, PAIRS, "cpu", "auto", 3),
            PEER: (torch_score, checkpoint, "float32"),
            f"{TORCH}, bf16": (torch_score, checkpoint, "bfloat16"),
            f"{OPENVINO}, fp32": (openvino_score, checkpoint, "f32"),
            f"{OPENVINO}, its own choice": (openvino_score, checkpoint, None),
            f"{OPENVINO}, int8": (openvino_score, checkpoint, None, calibration),
        }
        workers, _, notes = start_all(stack, contenders, arguments.threads, works["sentences"][:2])
        figures["left_out"] = notes
        for name, pairs in works.items():
            figures["works"][name] = summary(alternate(workers, arguments.rounds, pairs), pairs)
    report(figures)
    if arguments.json:
        write_json(arguments.json, figures)
    return 0


def pairs_of(arguments: argparse.Namespace) -> tuple[dict[str, list[Pair]], list[Pair]]:
    """Pairs of each kind, and others to calibrate on: the last ones with sentences."""
    questions, documents = read_asked(arguments.data), read_documents(arguments.data, CORPUS, partial=False)
    pairs = make_pairs(questions, documents, arguments.sentences + arguments.calibration)
    abstracts = [
        (question.body, document.text)
        for index, question in enumerate(questions)
        for document in islice(documents, 20 * index, 20 * index + 20)
    ]
    works = {"sentences": pairs[: arguments.sentences], "abstracts": abstracts[: arguments.abstracts]}
    return works, pairs[arguments.sentences :]


def torch_score(checkpoint: Path, dtype: str) -> Score:
    """A loaded CrossEncoder by torch."""
    load_quietly()
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(checkpoint), device="cpu", model_kwargs={"dtype": dtype}, trust_remote_code=False)
    return _predict(model)


def openvino_score(checkpoint: Path, precision: str | None, calibration: Sequence[Pair] = ()) -> Score:
    """A CrossEncoder by OpenVINO, quantised to int8 where there are pairs to calibrate on."""
    load_quietly()
    from sentence_transformers import CrossEncoder

    options = {"ov_config": {"INFERENCE_PRECISION_HINT": precision}} if precision else {}
    model = CrossEncoder(
        str(checkpoint),
        device="cpu",
        backend="openvino",
        model_kwargs={"export": True, **options},
        trust_remote_code=False,
    )
    if calibration:
        import nncf

        data = nncf.Dataset(
            [dict(model.tokenizer(*pair, truncation=True, max_length=512, return_tensors="np")) for pair in calibration]
        )
        model.model.model = nncf.quantize(model.model.model, data, model_type=nncf.ModelType.TRANSFORMER)
        model.model.request = None  # that of the model in fp32
        model.model.compile()
    return _predict(model)


def _predict(model: Any) -> Score:
    return lambda pairs: np.asarray(model.predict(list(pairs), show_progress_bar=False), np.float64).reshape(-1, 1)


def summary(timed: Mapping[str, Sequence[Timed]], pairs: Sequence[Pair]) -> dict[str, dict[str, Any]]:
    """Pairs a second, ratios to torch's fp32 round by round, and how far scores and their order are from it."""
    peer = timed[PEER]
    return {
        name: {
            "pairs_per_second": spread(len(pairs) / turn.seconds for turn in turns),
            "times_peer": spread(base.seconds / turn.seconds for base, turn in zip(peer, turns, strict=True)),
            "tau": order(turns[0].value[:, 0], peer[0].value[:, 0], pairs),
            "gap": float(np.abs(turns[0].value[:, 0] - peer[0].value[:, 0]).max()),
        }
        for name, turns in timed.items()
    }


def order(scores: F64, expected: F64, pairs: Sequence[Pair]) -> float:
    """The mean over questions of Kendall's τ between two orders of their pairs."""
    queries = np.array([query for query, _ in pairs])
    rows = [np.flatnonzero(queries == query) for query in dict.fromkeys(queries.tolist())]
    return float(np.mean([kendalltau(scores[row], expected[row]).statistic for row in rows if len(row) > 1]))


def report(figures: Mapping[str, Any]) -> None:
    """A table for each kind of pair."""
    print(f"\n{describe(figures['machine'])}", *figures["left_out"], sep="\n")
    for work, contenders in figures["works"].items():
        rows = [
            [
                name,
                show(row["pairs_per_second"], 1),
                show(row["times_peer"], 2),
                f"{row['tau']:.4f}",
                f"{row['gap']:.4f}",
            ]
            for name, row in contenders.items()
        ]
        print(f"\n{work}\n\n{table(rows, ('', 'pairs/s', 'times torch, fp32', 'τ', 'gap'))}")


if __name__ == "__main__":
    sys.exit(main())

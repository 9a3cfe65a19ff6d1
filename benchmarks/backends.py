"""What the forward pass costs by several backends, on the same batches: what was tried, losers too.

    python benchmarks/backends.py --data DATA --json backends.json

Without --data the pairs are made of the sample that ships with mpir. The bundle's first checkpoint reads the same pairs
in the same batches (sorted by length, a budget of 4,096 padded tokens) by transformers' forward pass in PyTorch, by
mpir's unpadded pass and variants of it, compiled, quantised, and by ONNX Runtime and OpenVINO. Tokenising is not timed,
but for `CrossEncoder.outputs`, with one process and with several that share the threads.

Every contender has a process of its own; they take turns. Ratios are of pairs per second to transformers in fp32, round
by round. Start-up is what it takes to load, convert and compile: the seconds from nothing to the prepared process, and
what the first pass over all batches takes longer than later ones. Agreement is with fp32: the largest difference of
any probability, and Kendall's tau-b of the first output over all pairs.

ONNX Runtime and OpenVINO are no dependencies of mpir: `pip install onnxruntime onnx onnxscript openvino`. A contender
that is missing, fails, or gives no answer within --limit seconds is named with its reason and left out.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from importlib.metadata import distributions
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from measure import Timed, Worker, default_threads, describe, machine, show, spread, table
from scipy.stats import kendalltau
from tqdm import tqdm
from workload import Pair, make_pairs, read_asked, read_documents

from mpir.cli import guarded
from mpir.cli.number_options import positive
from mpir.cli.path_options import file_path, text_path
from mpir.errors import MpirError
from mpir.io.write import write_json
from mpir.types import Float

BASE, TOKENS = "transformers, fp32", 4096
DOCUMENTS, CHARACTERS = 10_000, 1000
BACKENDS = ("onnxruntime", "onnx", "onnxscript", "openvino")
CONTENDERS: dict[str, tuple[str, str, int, dict[str, Any]]] = {
    BASE: ("plain", "fp32", TOKENS, {}),
    "transformers, bf16": ("plain", "bf16", TOKENS, {}),
    "unpadded, fp32": ("unpad", "fp32", TOKENS, {}),
    "unpadded, bf16 (mpir)": ("unpad", "bf16", TOKENS, {}),
    **{f"unpadded, bf16, {tokens} tokens": ("unpad", "bf16", tokens, {}) for tokens in (1024, 2048, 8192, 16_384)},
    "unpadded, bf16, fused attention": ("unpad_with_fused_attention", "bf16", TOKENS, {}),
    "unpadded, bf16, last layer in full": ("unpad_with_full_last_layer", "bf16", TOKENS, {}),
    "unpadded, bf16, torch.compile": ("unpad_compiled", "bf16", TOKENS, {}),
    "unpadded, fp32, three of four linears int8": ("unpad_int8", "fp32", TOKENS, {}),
    "transformers, bf16, torch.compile": ("compiled", "bf16", TOKENS, {"dynamic": None}),
    "transformers, bf16, torch.compile, dynamic": ("compiled", "bf16", TOKENS, {"dynamic": True}),
    "transformers, int8 (torch, x86)": ("int8", "fp32", TOKENS, {"engine": "x86"}),
    "transformers, int8 (torch, onednn)": ("int8", "fp32", TOKENS, {"engine": "onednn"}),
    "ONNX Runtime, fp32": ("onnx_runtime", "fp32", TOKENS, {"quantised": False}),
    "ONNX Runtime, int8": ("onnx_runtime", "fp32", TOKENS, {"quantised": True}),
    "OpenVINO, fp32": ("openvino", "fp32", TOKENS, {"precision": "f32"}),
    "OpenVINO, bf16": ("openvino", "fp32", TOKENS, {"precision": "bf16"}),
    "OpenVINO, int8": ("openvino", "fp32", TOKENS, {"precision": "f32", "quantised": True}),
}


class LimitedWorker(Worker):
    """A worker that is ended when it gives no answer in time."""

    limit = 120.0

    def _receive(self) -> tuple[float, Any]:
        if not self._pipe.poll(self.limit):
            self._process.kill()
            raise RuntimeError(f"no answer within {self.limit:g} seconds")
        return super()._receive()


def main() -> int:
    """Measure, print and write."""
    arguments = _arguments()
    return guarded("backends", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole benchmark, from arguments to exit status."""
    found: dict[str, Any] = {"machine": machine(arguments.threads), "command": sys.argv}
    found["machine"]["packages"] |= {one.name: one.version for one in distributions() if one.name in BACKENDS}
    documents = read_documents(arguments.data, DOCUMENTS, partial=False)
    made = make_pairs(read_asked(arguments.data), documents, arguments.pairs)
    pairs = [pair for pair in made if sum(map(len, pair)) < CHARACTERS]  # none is read in passages
    with TemporaryDirectory(prefix="mpir-backends-") as folder:
        os.environ["TMPDIR"] = folder  # for exported graphs, and so that nothing is found compiled already
        found |= {"pairs": len(pairs), "rounds": arguments.rounds} | compare(arguments, pairs)
    report(found)
    if arguments.json:
        write_json(arguments.json, found)
    return 0


def compare(arguments: argparse.Namespace, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Start the contenders, let them take turns, and put their figures together."""
    LimitedWorker.limit = arguments.limit
    contenders = chosen(arguments, str(checkpoint_of(arguments.bundle)), pairs)
    with ExitStack() as stack:
        workers, first, notes = start(stack, contenders, arguments.threads)
        if BASE not in workers:
            raise MpirError("; ".join(notes))
        timed = take_turns(workers, arguments.rounds, notes)
        memory = {name: workers[name].peak_mib() for name in timed}
    if BASE not in timed:
        raise MpirError("; ".join(notes))
    figures = {
        name: {
            "ratio": spread(base.seconds / own.seconds for base, own in zip(timed[BASE], turns, strict=True)),
            "pairs_per_second": spread(len(pairs) / own.seconds for own in turns),
            "start_seconds": start_seconds(workers[name], first[name], turns),
            "peak_mib": memory[name],
            **agreement(first[name].value, first[BASE].value),
        }
        for name, turns in timed.items()
    }
    return {"contenders": figures, "left_out": notes}


def chosen(arguments: argparse.Namespace, checkpoint: str, pairs: Sequence[Pair]) -> dict[str, tuple[Any, ...]]:
    """What prepares each contender asked for, and its arguments; what all are compared with is always there."""
    processes = max(2, arguments.threads)
    contenders: dict[str, tuple[Any, ...]] = {
        **{name: (prepare, "over_batches", settings) for name, settings in CONTENDERS.items()},
        "unpadded, bf16, with tokenising": (prepare, "whole_call", "bf16", "cpu"),
        f"unpadded, bf16, with tokenising, {processes} processes": (
            *(prepare, "whole_call", "bf16"),
            ",".join(["cpu"] * processes),
        ),
    }
    return {
        name: (*contender, checkpoint, pairs)
        for name, contender in contenders.items()
        if name == BASE or any(part in name for part in arguments.only)
    }


def prepare(function: str, *arguments: Any) -> Callable[[], Any]:
    """A contender in its process, where torch is imported and not before."""
    import passes

    warnings.simplefilter("ignore")  # what is deprecated is tried all the same
    logging.disable(logging.WARNING)
    run: Callable[[], Any] = getattr(passes, function)(*arguments)
    return run


def checkpoint_of(bundle: str) -> Path:
    """The first checkpoint of a bundle."""
    from mpir.perspectives import open_bundle

    opened = open_bundle(bundle)
    return Path(opened.folder / opened.manifest["perspectives"][0]["checkpoint"])


def start(
    stack: ExitStack, contenders: Mapping[str, tuple[Any, ...]], threads: int
) -> tuple[dict[str, Worker], dict[str, Timed], list[str]]:
    """The workers that passed over all batches once, what that gave, and a note for each that failed."""
    workers: dict[str, Worker] = {}
    first: dict[str, Timed] = {}
    notes: list[str] = []
    for name, contender in tqdm(contenders.items(), desc="starting", disable=None):
        try:
            worker = stack.enter_context(LimitedWorker(*contender, threads=threads))
            first[name] = worker.call()
            workers[name] = worker
        except RuntimeError as error:
            notes.append(f"{name} is left out: {error}")
    return workers, first, notes


def take_turns(workers: Mapping[str, Worker], rounds: int, notes: list[str]) -> dict[str, list[Timed]]:
    """Every worker's turns, each round starting with the next one; one that fails is noted and left out."""
    timed: dict[str, list[Timed]] = {name: [] for name in workers}
    for number in tqdm(range(rounds), desc="rounds", disable=None):
        names = list(timed)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            try:
                timed[name].append(workers[name].call())
            except RuntimeError as error:
                notes.append(f"{name} is left out: {error}")
                del timed[name]
    return timed


def start_seconds(worker: Worker, first: Timed, turns: Sequence[Timed]) -> float:
    """What a contender took before it worked at its pace."""
    return worker.started + max(0.0, first.seconds - median(turn.seconds for turn in turns))


def agreement(outputs: Float, expected: Float) -> dict[str, float]:
    """How far outputs (N, K) are from those expected: as probabilities, and in the order that the first ones make."""
    difference = np.abs(_probabilities(outputs) - _probabilities(expected)).max()
    tau = kendalltau(outputs[:, 0], expected[:, 0]).statistic
    return {"max_difference": float(difference), "kendall_tau": float(tau)}


def _probabilities(outputs: Float) -> Float:
    return 1 / (1 + np.exp(-outputs.astype(np.float64)))


def report(found: Mapping[str, Any]) -> None:
    """The table, fastest first, and what was left out."""
    print(f"\n{describe(found['machine'])}")
    print(f"{found['pairs']:,} pairs, {found['rounds']} rounds, medians (least to most); ratios are to {BASE}.\n")
    ordered = sorted(found["contenders"].items(), key=lambda item: -item[1]["ratio"]["median"])
    rows = [
        [
            *(name, show(one["ratio"], 2), show(one["pairs_per_second"]), f"{one['start_seconds']:.1f}"),
            *(f"{one['peak_mib']:,.0f}", f"{one['max_difference']:.1g}", f"{one['kendall_tau']:.4f}"),
        ]
        for name, one in ordered
    ]
    heads = ["", "ratio", "pairs/s", "start-up s", "peak MiB", "largest difference", "Kendall's τ"]
    print(table(rows, heads), end="\n\n")
    print(*found["left_out"], sep="\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=file_path, help="folder with bioasq/ and pubmed/ (default: mpir's sample)")
    parser.add_argument("--pairs", type=positive, default=512, help="(%(default)s)")
    parser.add_argument("--rounds", type=positive, default=3, help="(%(default)s)")
    parser.add_argument("--threads", type=positive, default=default_threads(), help="of every contender (every core)")
    parser.add_argument("--limit", type=float, default=120, help="seconds to wait for any answer (%(default)s)")
    parser.add_argument("--only", nargs="+", default=[""], metavar="PART", help="contenders with this in their names")
    parser.add_argument("--bundle", type=text_path, default="default", help="mpir's bundle (%(default)s)")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="write the figures")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

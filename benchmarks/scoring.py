"""Scoring (question, sentence) pairs: mpir's perspectives in one call against peers called once per perspective.

    python benchmarks/scoring.py --data DATA --json scoring.json

Without --data, the pairs come from the sample that ships with mpir. The peers get the same weights, extracted from the
bundle as one fp32 checkpoint for each perspective: sentence-transformers' CrossEncoder.predict (for a bi-encoder,
SentenceTransformer.encode) with its defaults and with the best of its settings (tried first, with one checkpoint), and
the rerankers package's cross-encoder. Every contender has a process of its own with the same threads; they take turns.
All pairs differ, and no score cache is used. Settings and peers ten times as slow as the best in a probe are left out,
and --seconds limits rounds and pairs, so that the benchmark takes about ten minutes on any machine. Results are
checked: fp32 scores must agree within 1e-4 on the probability scale, and those in half precision must correlate.

`ratios` in the JSON are of pairs per second, the medians of the rounds: `three_vs_default` (mpir's three perspectives :
sentence-transformers' defaults three times), `three_vs_best` (: the fastest peer three times), `one_vs_default` (mpir
with one perspective : sentence-transformers' defaults once), `three_vs_one_default` (mpir's three : that).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from measure import (
    Worker,
    alternate,
    default_threads,
    describe,
    fast_enough,
    helper,
    machine,
    show,
    spread,
    start_all,
    table,
)
from peers import (
    PAIRS,
    Pair,
    cut_outputs,
    gpu_name,
    matmul_rate,
    mpir_score,
    operations,
    rerankers_score,
    sentence_transformers_score,
)
from workload import make_pairs, read_asked, read_documents

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive, text_path
from mpir.errors import MpirError
from mpir.files.write import write_json
from mpir.models.options import cpu_precision

MPIR, MPIR_FP32, MPIR_ONE = "mpir", "mpir, fp32", "mpir, 1 perspective"
DEFAULT, BEST, RERANKERS = "sentence-transformers, default", "sentence-transformers, best", "rerankers, default"
DEFAULT_ONE = "sentence-transformers, default, 1 perspective"
PEERS = (DEFAULT, BEST, RERANKERS)
TRIAL, TRIAL_CHARACTERS = 64, 600
PROBE = 16
PASSES = 12
"""Passes of a single model, at the speed of sentence-transformers' defaults, that a round of all contenders takes."""
HALF = ("bfloat16", "float16")
TOLERANCE, CORRELATION = 1e-4, 0.99
DOCUMENTS = 10_000
Settings = dict[str, Any]


def settings_for(device: str, threads: int) -> dict[str, Settings]:
    """Settings that a user can choose without further packages.

    Batches are sorted by sentence-transformers itself and attention is PyTorch's SDPA already by default. Its ONNX and
    OpenVINO backends need an environment of their own, and are not measured here.
    """
    if device != "cpu":
        half = {f"{dtype}, {n}": {"dtype": dtype, "batch_size": n} for dtype in HALF for n in (32, 128, 512)}
        compiled = {"dtype": "float16", "batch_size": 512, "compile": True}
        return {"default (fp32, 32)": {}, "fp32, 256": {"batch_size": 256}, **half, "float16, 512, compiled": compiled}
    bfloat16 = {"dtype": "bfloat16", "batch_size": 64}
    single = {"default (fp32, 32)": {}, **{f"fp32, {n}": {"batch_size": n} for n in (64, 128)}}
    if cpu_precision("auto") == "fp32":  # bfloat16 is emulated here, and many times as slow
        return single
    return {
        **single,
        **{f"bfloat16, {n}": bfloat16 | {"batch_size": n} for n in (32, 64, 128)},
        "bfloat16, 64, compiled": bfloat16 | {"compile": True},
        **({f"bfloat16, 64, {threads} processes": bfloat16 | {"processes": threads}} if threads > 1 else {}),
    }


def main() -> int:
    """Measure, check, print and write."""
    arguments = _arguments()
    return guarded("scoring", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole benchmark, from arguments to exit status."""
    check_figures(arguments)
    result: dict[str, Any] = {"machine": machine(arguments.threads), "command": sys.argv}
    documents = read_documents(arguments.data, DOCUMENTS, partial=False)
    pairs = make_pairs(read_asked(arguments.data), documents, arguments.pairs)
    with TemporaryDirectory(prefix="mpir-scoring-") as folder, Worker(helper, threads=arguments.threads) as worker:
        checkpoints = worker.call(cut_outputs, arguments.bundle, folder).value
        result["gpu"] = gpu = worker.call(gpu_name, arguments.device).value
        device = ("cuda" if gpu else "cpu") if arguments.device == "auto" else arguments.device
        tried, options = tune_peer(arguments, checkpoints, device, pairs[: max(TRIAL, len(pairs) // 4)])
        pairs = pairs[: affordable(tried, arguments.seconds)]
        result |= tried | {"pairs": len(pairs), "characters": spread(len(q) + len(s) for q, s in pairs)}
        result |= compare(arguments, checkpoints, device, options, pairs)
        needed = worker.call(operations, arguments.bundle, pairs).value / len(pairs)
        reached = worker.call(matmul_rate, arguments.bundle, arguments.device).value
    engine = needed * result["contenders"][MPIR]["pairs_per_second"]["median"]
    result["matmul"] = {"engine_tflops": engine / 1e12, "matmul_tflops": reached / 1e12, "share": engine / reached}
    report(result)
    if arguments.json:
        write_json(arguments.json, result)
    return 0


def tune_peer(
    arguments: argparse.Namespace, checkpoints: Sequence[Path], device: str, pairs: Sequence[Pair]
) -> tuple[dict[str, Any], Settings]:
    """Try sentence-transformers' settings with one checkpoint on some of the pairs: the figures, and the fastest."""
    settings = settings_for(device, arguments.threads)
    settings = {name: settings[name] for name in list(settings)[: arguments.settings]}
    contenders = {name: (sentence_transformers_score, checkpoints[:1], device, s) for name, s in settings.items()}
    with ExitStack() as stack:
        workers, _, notes = start_all(stack, contenders, arguments.threads, pairs[:PROBE])
        workers, slow = fast_enough(workers, pairs[:PROBE])
        notes += slow
        if not workers:
            raise MpirError("; ".join(notes) + "; install the peers with `pip install mpir[bench]`.")
        timed = alternate(workers, min(2, arguments.rounds), pairs, seconds=arguments.seconds / 3)
    rates = {name: spread(len(pairs) / turn.seconds for turn in turns) for name, turns in timed.items()}
    best = max(rates, key=lambda name: rates[name]["median"])
    return {"settings_tried": rates, "best_setting": best, "settings_left_out": notes}, settings[best]


def affordable(tried: Mapping[str, Any], seconds: float) -> int:
    """Return the number of pairs for which four rounds, including the warm-up, are expected to take `seconds`."""
    rate = next(iter(tried["settings_tried"].values()))["median"]
    return max(TRIAL, int(seconds * rate / 4 / PASSES))


def compare(
    arguments: argparse.Namespace, checkpoints: Sequence[Path], device: str, best: Settings, pairs: Sequence[Pair]
) -> dict[str, Any]:
    """The contest: all contenders in turns on all pairs. mpir chooses its own precision, but for the fp32 row."""
    every, options = len(checkpoints), (arguments.bundle, arguments.device)
    contenders = {
        MPIR: (mpir_score, *options, "auto", every),
        MPIR_FP32: (mpir_score, *options, "fp32", every),
        MPIR_ONE: (mpir_score, *options, "auto", 1),
        DEFAULT: (sentence_transformers_score, checkpoints, device, {}),
        DEFAULT_ONE: (sentence_transformers_score, checkpoints[:1], device, {}),
        BEST: (sentence_transformers_score, checkpoints, device, best),
        RERANKERS: (rerankers_score, checkpoints, device),
    }
    few = [pair for pair in pairs if sum(map(len, pair)) < TRIAL_CHARACTERS][:TRIAL]
    with ExitStack() as stack:
        workers, trials, notes = start_all(stack, contenders, arguments.threads, few)
        if not {MPIR, MPIR_FP32, MPIR_ONE, DEFAULT, DEFAULT_ONE, BEST} <= workers.keys():
            raise MpirError("; ".join(notes))
        agreement = check_agreement(trials)
        timed = alternate(workers, arguments.rounds, pairs, seconds=arguments.seconds)
        memory = {name: worker.peak_mib() for name, worker in workers.items()}
    rates = {name: [len(pairs) / turn.seconds for turn in turns] for name, turns in timed.items()}
    figures = {
        name: {"pairs_per_second": spread(rates[name]), "peak_mib": memory[name], "start_seconds": worker.started}
        for name, worker in workers.items()
    }
    measured = {"rounds": len(rates[MPIR]), "contenders": figures}
    return ratios(rates) | measured | {"agreement": agreement, "contenders_left_out": notes}


def ratios(rates: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """The ratios, round by round: their medians, and their ranges."""
    best = max((name for name in PEERS if name in rates), key=lambda name: median(rates[name]))
    compared = {
        "three_vs_default": (rates[MPIR], rates[DEFAULT]),
        "three_vs_best": (rates[MPIR], rates[best]),
        "one_vs_default": (rates[MPIR_ONE], rates[DEFAULT_ONE]),
        "three_vs_one_default": (rates[MPIR], rates[DEFAULT_ONE]),
        "three_vs_default_fp32": (rates[MPIR_FP32], rates[DEFAULT]),
    }
    spreads = {
        name: spread(ours / theirs for ours, theirs in zip(*both, strict=True)) for name, both in compared.items()
    }
    medians = {name: median_of["median"] for name, median_of in spreads.items()}
    return {"ratios": medians, "ratio_ranges": spreads, "best_peer": best}


def check_agreement(scores: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the deviation of each contender's probabilities (N, P) from sentence-transformers' defaults.

    Raises:
        MpirError: an fp32 contender that differs by more than 1e-4, or another that correlates by less than 0.99.
    """
    agreement_of = {}
    for name, values in scores.items():
        expected = scores[DEFAULT][:, : values.shape[1]]
        difference = float(np.abs(values - expected).max())
        correlations = [float(np.corrcoef(a, b)[0, 1]) for a, b in zip(values.T, expected.T, strict=True)]
        agreement_of[name] = {"max_difference": difference, "min_correlation": min(correlations)}
        exact = name in (MPIR_FP32, RERANKERS)
        if (exact and difference > TOLERANCE) or min(correlations) < CORRELATION:
            raise MpirError(
                f"{name}: its scores differ from sentence-transformers' by up to {difference:.2g} and correlate by "
                f"{min(correlations):.4f}; expected the same work, so nothing is compared."
            )
    return agreement_of


def report(result: Mapping[str, Any]) -> None:
    """Ratios first, then the tables."""
    print(f"\n{describe(result['machine'])}")
    print(f"GPU: {result['gpu']}." if result["gpu"] else "No GPU is used here: all figures are of the CPU.")
    print(f"{result['pairs']:,} pairs, {result['rounds']} rounds, medians (least to most).\n")
    rows = [[name, show(result["ratio_ranges"][name], 2)] for name in result["ratios"]]
    print(table(rows, ["ratio of pairs per second", ""]), end="\n\n")
    rows = [
        [name, show(figures["pairs_per_second"]), f"{figures['peak_mib']:,.0f}"]
        for name, figures in result["contenders"].items()
    ]
    print(table(rows, ["", "pairs/s", "peak MiB"]), end="\n\n")
    rows = [[name, show(rates)] for name, rates in result["settings_tried"].items()]
    print(table(rows, ["sentence-transformers' settings, one checkpoint", "pairs/s"]), end="\n\n")
    matmul = result["matmul"]
    print(
        f"Fastest setting: {result['best_setting']}; fastest peer: {result['best_peer']}. mpir computes at "
        f"{matmul['engine_tflops']:.3g} TFLOP/s, {matmul['share']:.0%} of the {matmul['matmul_tflops']:.3g} that a big "
        "matrix product reaches here in the same precision."
    )
    print(*result["settings_left_out"], *result["contenders_left_out"], sep="\n")


def _arguments() -> argparse.Namespace:
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, help="folder with bioasq/ and pubmed/ (default: mpir's sample)")
    parser.add_argument("--pairs", type=positive, default=1024, help="(%(default)s)")
    parser.add_argument("--rounds", type=positive, default=5, help="(%(default)s)")
    parser.add_argument("--threads", type=positive, default=default_threads(), help="of every contender (every core)")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, … (%(default)s)")
    parser.add_argument("--bundle", type=text_path, default=PAIRS, help="mpir's bundle (benchmarks/pairs.json)")
    parser.add_argument("--settings", type=positive, help="try only the first N of the peer's settings")
    parser.add_argument("--seconds", type=positive, default=360, help="target time for the rounds (%(default)s)")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="write the figures")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

"""Where a forward pass spends its time: operators of transformers' pass and of mpir's, on the same batches.

    python benchmarks/operators.py --data DATA

The profile that mpir/models/unpadded.py was written by. Shares are of each pass's own processor time; the last row
is the whole in milliseconds per pair.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tabulate import tabulate
from workload import make_pairs, read_asked, read_documents

from mpir.cli import guarded
from mpir.cli.number_options import positive
from mpir.cli.path_options import file_path, text_path

KINDS = {
    "linear layers": ("aten::addmm", "aten::mm", "mkldnn::_linear_pointwise", "aten::mkldnn_linear"),
    "attention": ("aten::_scaled_dot_product", "aten::bmm", "aten::_softmax"),
    "GELU, LayerNorm, sums": ("aten::gelu", "aten::native_layer_norm", "aten::add", "aten::mul"),
    "copies": ("aten::copy_", "aten::cat", "aten::index", "aten::embedding", "aten::clone"),
}
ROUNDS = 5


def main() -> int:
    """Read arguments, profile, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=file_path, help="folder with bioasq/ and pubmed/ (default: mpir's sample)")
    parser.add_argument("--pairs", type=positive, default=256, help="(%(default)s)")
    parser.add_argument("--bundle", type=text_path, default="default", help="mpir's bundle (%(default)s)")
    parser.add_argument("--precision", default="auto", help="auto, fp32, bf16 (%(default)s)")
    arguments = parser.parse_args()
    return guarded("operators", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Both profiles in one table."""
    import torch
    from passes import by_transformers

    from mpir.models.encoder import Encoder
    from mpir.models.tokenise import PairTokenizer, batches, pad
    from mpir.models.unpadded import UnpaddedBert
    from mpir.perspectives import open_bundle

    opened = open_bundle(arguments.bundle)
    checkpoint = opened.folder / opened.manifest["perspectives"][0]["checkpoint"]
    encoder = Encoder(checkpoint, device="cpu", precision=arguments.precision)
    pairs = make_pairs(read_asked(arguments.data), read_documents(arguments.data, 200, partial=False), arguments.pairs)
    tokens = PairTokenizer(encoder.tokenizer, encoder.max_length).read(pairs)
    found = [tokens.sequences(rows) for rows in batches(tokens.lengths, encoder.tokens_per_batch)]
    padded = [{name: torch.from_numpy(part) for name, part in pad(batch, 0).items()} for batch in found]
    plain, unpadded = by_transformers(encoder), UnpaddedBert(encoder.model)
    profiles = [
        profile(lambda batch: plain(**batch), padded),
        profile(unpadded, found),
    ]
    rows = [
        [kind, *(f"{100 * shares[kind] / sum(shares.values()):.0f} %" for shares in profiles)] for kind in profiles[0]
    ]
    rows.append(["ms a pair", *(f"{sum(shares.values()) / 1000 / len(pairs):.2f}" for shares in profiles)])
    print(tabulate(rows, ["", "transformers", "unpadded"], disable_numparse=True))
    return 0


def profile(forward: Callable[[Any], Any], inputs: Sequence[Any]) -> dict[str, float]:
    """Microseconds of processor time by kind of operator, of one pass over the inputs."""
    import torch
    from torch.profiler import ProfilerActivity

    with torch.inference_mode():
        for one in inputs:
            forward(one)
        with torch.profiler.profile(activities=[ProfilerActivity.CPU]) as profiler:
            for one in [*inputs] * ROUNDS:
                forward(one)
    shares = dict.fromkeys([*KINDS, "the rest"], 0.0)
    for event in profiler.key_averages():
        shares[kind_of(event.key)] += event.self_cpu_time_total / ROUNDS
    return shares


def kind_of(operator: str) -> str:
    """The kind of an operator."""
    return next((kind for kind, names in KINDS.items() if operator.startswith(names)), "the rest")


if __name__ == "__main__":
    sys.exit(main())

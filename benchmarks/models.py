"""mpir against sentence-transformers on the same weights: CPU seconds for scoring pairs, by reranker architecture.

    python benchmarks/models.py                    six layers of 384, 128 pairs
    python benchmarks/models.py --size tiny --pairs 16

Models are random, so no hub is needed; the two must agree to 0.0001. Both compute in fp32 with one thread and take
turns, and the fastest round counts. CPU time is that of this process, so other work on the machine hardly affects it.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

SIZES = {"tiny": (32, 2, 2, 48), "small": (384, 6, 12, 1536)}
"""Width of the states, layers, heads, and width of the feed-forward block."""
WORDS = 2000
MODERN = {"bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
RELATIVE = {"relative_attention": True, "position_buckets": 256, "pos_att_type": ["p2c", "c2p"], "type_vocab_size": 0}
FAMILIES: dict[str, dict[str, Any]] = {
    "Bert": {},
    "XLMRoberta": {"type_vocab_size": 1},
    "MPNet": {},
    "DistilBert": {},
    "DebertaV2": {**RELATIVE, "position_biased_input": False},
    "ModernBert": MODERN,
}
DISTILBERT = {"hidden_size": "dim", "num_hidden_layers": "n_layers", "num_attention_heads": "n_heads",
              "intermediate_size": "hidden_dim"}  # fmt: skip
Pair = tuple[str, str]


def main() -> int:
    """Read arguments, measure, print."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", choices=SIZES, default="small", help="default: small")
    parser.add_argument("--pairs", type=int, default=128, metavar="N", help="default: 128")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="default: 3")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES), help="default: all")
    arguments = parser.parse_args()
    rows = [measure(name, arguments.size, arguments.pairs, arguments.rounds) for name in arguments.families]
    headers = ["architecture", "pass", "mpir, CPU s", "sentence-transformers, CPU s", "times as fast"]
    print(f"{arguments.pairs} pairs, {arguments.size}, fp32, one thread, {platform.machine()}, {os.cpu_count()} cores")
    print(tabulate(rows, headers, floatfmt=".2f"))
    return 0


def measure(family: str, size: str, count: int, rounds: int) -> list[Any]:
    """Return a row: the CPU seconds of both for one architecture. Raises SystemExit where their scores differ."""
    import torch

    torch.set_num_threads(1)
    pairs = make_pairs(count)
    with TemporaryDirectory() as folder:
        save_model(Path(folder), family, size)
        is_unpadded, mpir = mpir_scores(folder)
        peer = sentence_transformers_scores(folder)
        seconds, scores = take_turns([mpir, peer], pairs, rounds)
    if not np.allclose(*scores, atol=1e-4):
        raise SystemExit(f"{family}: the scores differ by {np.abs(scores[0] - scores[1]).max():.2g}")
    return [family, "unpadded" if is_unpadded else "padded", *seconds, seconds[1] / seconds[0]]


def make_pairs(count: int) -> list[Pair]:
    """Queries of 4 to 12 words, and documents of 10 to 300, most of them short."""
    generator = np.random.default_rng(0)
    sizes = np.clip(generator.lognormal(4.3, 0.7, count), 10, 300).astype(int)
    return [(_text(generator, int(generator.integers(4, 13))), _text(generator, length)) for length in sizes.tolist()]


def _text(generator: np.random.Generator, length: int) -> str:
    return " ".join(f"w{number}" for number in generator.integers(0, WORDS, length).tolist())


def save_model(folder: Path, family: str, size: str) -> None:
    """Save a random classifier of one output, with a tokenizer of words."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    special = ["[UNK]", "[PAD]", "[CLS]", "[SEP]"]
    names = [*special, *(f"w{number}" for number in range(WORDS))]
    tokenizer = Tokenizer(models.WordLevel({name: number for number, name in enumerate(names)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    inputs = ["input_ids", *(["token_type_ids"] if family == "Bert" else []), "attention_mask"]
    tokens = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=512, model_input_names=inputs, **tokens
    ).save_pretrained(folder)
    keys = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
    sizes = dict(zip(keys, SIZES[size], strict=True))
    if family == "DistilBert":
        sizes = {DISTILBERT[name]: value for name, value in sizes.items()}
    common = {"vocab_size": len(names), "max_position_embeddings": 514, "pad_token_id": 1, "num_labels": 1}
    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(**common, **sizes, **FAMILIES[family])
    getattr(transformers, f"{family}ForSequenceClassification")(config).save_pretrained(folder)


def mpir_scores(folder: str) -> tuple[bool, Callable[[Sequence[Pair]], NDArray[np.float32]]]:
    """Whether the pass is without padding, and what scores pairs."""
    from mpir.models.bert.unpadded import can_unpad
    from mpir.models.encoder import Encoder

    encoder = Encoder(folder, device="cpu", precision="fp32")
    return can_unpad(encoder.backend.model), lambda pairs: encoder.outputs(pairs)[0][:, 0]


def sentence_transformers_scores(folder: str) -> Callable[[Sequence[Pair]], NDArray[np.float32]]:
    """Return a function that scores pairs with sentence-transformers' defaults."""
    import torch
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(folder, device="cpu", activation_fn=torch.nn.Identity(), trust_remote_code=False)
    return lambda pairs: np.asarray(model.predict(list(pairs), show_progress_bar=False))


def take_turns(
    contenders: Sequence[Callable[[Sequence[Pair]], NDArray[np.float32]]], pairs: Sequence[Pair], rounds: int
) -> tuple[list[float], list[NDArray[np.float32]]]:
    """The least CPU seconds of each contender, after a round that does not count, and what each gave."""
    scores = [score(pairs) for score in contenders]
    seconds = [[_timed(score, pairs) for score in contenders] for _ in range(rounds)]
    return [min(column) for column in zip(*seconds, strict=True)], scores


def _timed(score: Callable[[Sequence[Pair]], NDArray[np.float32]], pairs: Sequence[Pair]) -> float:
    start = time.process_time()
    score(pairs)
    return time.process_time() - start


if __name__ == "__main__":
    raise SystemExit(main())

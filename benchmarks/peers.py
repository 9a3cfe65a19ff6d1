"""mpir and its peers as contenders that score pairs with the same weights.

A `…_score` function prepares a contender in its own process and returns a function that scores pairs as an array (N, P)
of probabilities, so that equal results can be checked. The other functions prepare checkpoints and measure the machine.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measure import THREAD_VARIABLES

from mpir.files.read import read_json
from mpir.types import F64

if TYPE_CHECKING:
    from mpir.models.perspectives import Bundle

PAIRS = str(Path(__file__).parent / "pairs.json")
"""A bundle of three outputs for each pair of texts, by the default bundle's model: the same work as that of its peers.

The model was trained to read documents, so these scores mean little.
"""
READER = "document-cross-encoder"
Pair = tuple[str, str]
Score = Callable[[Sequence[Pair]], F64]


def mpir_score(bundle: str, device: str, precision: str, perspectives: int) -> Score:
    """The first perspectives of a bundle, in one call."""
    from mpir.core.calibration import TOPS
    from mpir.models.perspectives import open_bundle, score_pairs

    opened = open_bundle(bundle)
    items = sentence_perspectives(opened)[:perspectives]
    tops, names = [TOPS[item["scale"]] for item in items], {item["name"] for item in items}
    loaded = [model for model in opened.perspectives(device=device, precision=precision) if model.name in names]
    return lambda pairs: score_pairs(loaded, pairs, cache=None).values / tops


def sentence_transformers_score(
    checkpoints: Sequence[Path],
    device: str | None,
    settings: Mapping[str, Any],
) -> Score:
    """`CrossEncoder.predict` or, of a bi-encoder, `SentenceTransformer.encode`, once for each checkpoint.

    Settings: `dtype` of the weights, `batch_size`, `compile` (torch.compile), `processes` (predict's own pool).
    """
    load_quietly()
    from sentence_transformers import CrossEncoder, SentenceTransformer

    arguments = {"model_kwargs": {"dtype": settings["dtype"]}} if "dtype" in settings else {}
    model_types = [SentenceTransformer if reads_alone(path) else CrossEncoder for path in checkpoints]
    models = [
        model_type(str(path), device=device, **arguments)
        for model_type, path in zip(model_types, checkpoints, strict=True)
    ]
    call = {"batch_size": settings["batch_size"]} if "batch_size" in settings else {}
    calls = [call for _ in models]
    if settings.get("compile"):
        for model in models:
            model.compile(dynamic=True)  # type: ignore[attr-defined]
    if processes := settings.get("processes"):
        os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))  # together as many threads as everyone else has
        pools = [model.start_multi_process_pool(["cpu"] * processes) for model in models]  # type: ignore[attr-defined]
        calls = [{**call, "pool": pool} for pool in pools]

    def score(pairs: Sequence[Pair]) -> F64:
        scores = [
            model.predict(list(pairs), **call) if isinstance(model, CrossEncoder) else cosines(model, pairs, call)
            for model, call in zip(models, calls, strict=True)
        ]
        return np.stack(scores, axis=1).astype(np.float64)

    return score


def reads_alone(checkpoint: Path) -> bool:
    """Whether a checkpoint that `cut_outputs` saved is a bi-encoder's: a model without a classifier."""
    return not any("Classification" in name for name in read_json(checkpoint / "config.json")["architectures"])


def cosines(model: Any, pairs: Sequence[Pair], call: Mapping[str, Any]) -> F64:
    """Return a SentenceTransformer's similarity of pairs (N,), 0 to 1, with each text encoded once."""
    number = {text: i for i, text in enumerate(dict.fromkeys(text for pair in pairs for text in pair))}
    vectors = model.encode(list(number), normalize_embeddings=True, **call)
    left, right = (vectors[[number[pair[side]] for pair in pairs]] for side in (0, 1))
    cosines_of: F64 = (left * right).sum(axis=1).astype(np.float64).clip(0.0, 1.0)
    return cosines_of


def rerankers_score(checkpoints: Sequence[Path], device: str | None) -> Score:
    """The rerankers package's cross-encoder with its defaults: `rank` for each question and each checkpoint.

    It has no bi-encoders of this kind; a checkpoint of one is read by sentence-transformers with its defaults.
    """
    load_quietly()
    from rerankers import Reranker

    scores = [
        sentence_transformers_score([path], device, {})
        if reads_alone(path)
        else by_rank(Reranker(str(path), model_type="cross-encoder", device=device, verbose=0))
        for path in checkpoints
    ]
    return lambda pairs: np.column_stack([score(pairs) for score in scores])


def by_rank(model: Any) -> Score:
    """A rerankers model's probabilities (N, 1)."""

    def score(pairs: Sequence[Pair]) -> F64:
        groups = [
            (question, [text for _, text in group]) for question, group in groupby(pairs, key=lambda pair: pair[0])
        ]
        logits = np.array([logit for question, texts in groups for logit in rank(model, question, texts)], np.float64)
        return 1 / (1 + np.exp(-logits[:, None]))

    return score


def rank(model: Any, question: str, texts: list[str]) -> list[float]:
    """The logits of one `rank` call, in the order of the texts."""
    results = sorted(model.rank(question, texts).results, key=lambda result: result.document.doc_id)
    return [float(result.score) for result in results]


def load_quietly() -> None:
    """Models come from folders here, and their bars and notes would only disturb the table."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformers.utils.logging import disable_progress_bar, set_verbosity_error

    disable_progress_bar()
    set_verbosity_error()
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)


def sentence_perspectives(bundle: Bundle) -> list[Mapping[str, Any]]:
    """The declarations of the perspectives that score sentences: pairs have no documents, which the others read."""
    return [item for item in bundle.manifest["perspectives"] if item.get("level", "sentence") == "sentence"]


def declared_for_peers(bundle: Bundle) -> list[Mapping[str, Any]]:
    """The declarations of what peers can compute: sentence perspectives, or a document's output of its reader."""
    readers = [item for item in bundle.manifest["perspectives"] if item["kind"] == READER]
    return [item for item in readers if item.get("level") == "document"][:1] or sentence_perspectives(bundle)


def cut_outputs(bundle: str, folder: str) -> list[Path]:
    """Save each perspective that peers can compute as a checkpoint of its own, in fp32, as peers load models.

    A cross-encoder's has one output, a bi-encoder's none, and a reader of documents becomes a cross-encoder with a
    document's output.

    Raises:
        ValueError: a perspective that is not a single output of a checkpoint with a linear `classifier`.
    """
    load_quietly()
    import torch
    from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer

    from mpir.models.perspectives import open_bundle

    opened, saved = open_bundle(bundle), []
    for item in declared_for_peers(opened):
        checkpoint = opened.folder / item["checkpoint"]
        saved.append(Path(folder) / item["name"])
        AutoTokenizer.from_pretrained(checkpoint, trust_remote_code=False).save_pretrained(saved[-1])
        if item["kind"] == "bi-encoder":
            AutoModel.from_pretrained(checkpoint, dtype=torch.float32, trust_remote_code=False).save_pretrained(
                saved[-1]
            )
            continue
        model = AutoModelForSequenceClassification.from_pretrained(
            checkpoint, dtype=torch.float32, trust_remote_code=False
        )
        head = getattr(model, "classifier", None)
        if not isinstance(head, torch.nn.Linear) or item.get("against") is not None or item.get("depth") is not None:
            raise ValueError(f"{opened.folder}: {item['name']!r} is not one output of a linear classifier")
        output = item["output"]
        number = output if isinstance(output, int) else model.config.label2id[output]
        rows = slice(number, number + 1)
        head.weight, head.bias = torch.nn.Parameter(head.weight[rows]), torch.nn.Parameter(head.bias[rows])
        head.out_features = model.num_labels = model.config.num_labels = 1
        model.save_pretrained(saved[-1])
    return saved


def matmul_rate(bundle: str, device: str) -> float:
    """Floating-point operations per second of a big matrix product, in the precision that mpir chooses there."""
    import torch

    from mpir.models.perspectives import open_bundle

    perspective = open_bundle(bundle).perspectives(device=device)[0]
    dtype = getattr(torch, str(perspective.identity["precision"]))
    torch_device = torch.device(on_gpu(device) or "cpu")
    size, times = (8192, 50) if torch_device.type == "cuda" else (2048, 10)
    left, right = (torch.randn(size, size, device=torch_device).to(dtype) for _ in range(2))
    seconds = [_seconds(lambda: left @ right, times, torch_device) for _ in range(6)]
    return 2 * size**3 * times / min(seconds)


def _seconds(work: Callable[[], Any], times: int, torch_device: Any) -> float:
    import torch

    start = time.perf_counter()
    for _ in range(times):
        work()
    if torch_device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def on_gpu(device: str) -> str | None:
    """The GPU that a --device means, or None for the CPU."""
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else None
    return device if device.startswith("cuda") else None


def gpu_name(device: str) -> str | None:
    """The name of the GPU that a --device means, or None for the CPU."""
    import torch

    return torch.cuda.get_device_name(gpu) if (gpu := on_gpu(device)) else None


def operations(bundle: str, pairs: Sequence[Pair]) -> float:
    """The floating-point operations that pairs need: matrix products only, on their true tokens.

    2 for each weight and token, and 4 · tokens² · width for attention, in every layer; with a bi-encoder in the bundle
    as well for each text alone.
    """
    from transformers import AutoConfig, AutoTokenizer

    from mpir.models.perspectives import open_bundle

    opened = open_bundle(bundle)
    checkpoint = opened.folder / opened.manifest["perspectives"][0]["checkpoint"]
    config, tokenizer = (
        AutoConfig.from_pretrained(checkpoint, trust_remote_code=False),
        AutoTokenizer.from_pretrained(checkpoint, trust_remote_code=False),
    )
    width, layers = config.hidden_size, config.num_hidden_layers
    weights = 4 * width**2 + 2 * width * config.intermediate_size
    queries, texts = zip(*pairs, strict=True)
    inputs: list[tuple[list[str], ...]] = [(list(queries), list(texts))]
    if any(item["kind"] == "bi-encoder" for item in sentence_perspectives(opened)):
        inputs.append((list(dict.fromkeys([*queries, *texts])),))
    read = [tokenizer(*pair, truncation=True, max_length=config.max_position_embeddings) for pair in inputs]
    tokens = np.array([len(ids) for encodings in read for ids in encodings["input_ids"]], np.float64)
    return float(layers * (2 * weights * tokens + 4 * width * tokens**2).sum())

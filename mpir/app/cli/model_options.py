"""Model options on the command line: perspectives, weights and cache, and the reranker that they select."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mpir.app.cli.cache_options import open_cache
from mpir.app.cli.chat_options import check_llm_options, load_llm_option
from mpir.app.cli.lexicon_options import NOT_FOR_CLINICAL_USE, load_negation
from mpir.errors import InputError

if TYPE_CHECKING:
    from mpir.core.weights import Weights
    from mpir.models.perspectives.named_models import NamedModels
    from mpir.reranking.reranker import Reranker


def add_model_options(parser: argparse.ArgumentParser, *, weights: bool = True) -> None:
    """Add the options for perspectives and (by default) weights to the parser of a script, which scores everything."""
    from mpir.app.cli.option_table import MODEL_OPTIONS
    from mpir.app.cli.parser_options import add_options

    add_options(parser, "rerank" if weights else "score", MODEL_OPTIONS)
    parser.set_defaults(cascade="all")


def check_options(arguments: argparse.Namespace) -> None:
    """Raise InputError for malformed model options, before anything is read or loaded."""
    from mpir.models.options import device_names, precision_name
    from mpir.reranking.cascade import check_share
    from mpir.validation import optional_whole_number

    optional_whole_number("--top-k", getattr(arguments, "top_k", None))
    device_names(arguments.device)
    precision_name(arguments.precision)
    check_share(arguments.cascade)
    check_llm_options(arguments)


def load_reranker(arguments: argparse.Namespace, *, keeps: bool = True, pairs_at_once: int | None = None) -> Reranker:
    """The reranker that the model options select.

    `keeps` is whether scores go to mpir's own cache folder where none is named. Results arrive, and are stored, in
    steps as large as the cache's, or of `pairs_at_once` if that is less. Raises MpirError for an unusable bundle or
    weights.
    """
    from mpir.models.perspectives.pair_scoring import PAIRS_AT_ONCE
    from mpir.reranking.options import RunOptions
    from mpir.reranking.reranker import Reranker

    chosen: dict[str, Any] = {name: getattr(arguments, name, None) for name in ("weights", "context", "agreement")}
    if betas := getattr(arguments, "beta", None):
        chosen["weights"] = _with_beta(arguments, dict(betas))
    chosen["perspectives"] = [] if (llm := load_llm_option(arguments)) is None else [llm]
    if polarity := load_negation(arguments):
        print(f"mpir: {NOT_FOR_CLINICAL_USE}", file=sys.stderr)
        chosen["perspectives"].append(polarity)
    run = RunOptions(
        cascade=arguments.cascade,
        splitting="report" if polarity else "abstract",
        pairs_at_once=min(pairs_at_once or PAIRS_AT_ONCE, PAIRS_AT_ONCE),
        tokens_per_batch=arguments.tokens_per_batch,
        trust_code=arguments.trust_code,
    )
    return Reranker(
        arguments.bundle,
        models=named_models(arguments),
        device=worker_devices(arguments),
        precision=arguments.precision,
        cache=open_cache(arguments, keeps=keeps),
        run=run,
        **chosen,
    )


def named_models(arguments: argparse.Namespace, encoders: Sequence[str] = ()) -> NamedModels:
    """The models that the options name, without the chat model."""
    from mpir.models.perspectives.named_models import NamedModels

    has_llm = not arguments.models and getattr(arguments, "llm", None) is not None
    return NamedModels(
        names=tuple(arguments.models),
        only=getattr(arguments, "only_model", False),
        level=getattr(arguments, "level", "document"),
        revision=arguments.revision,
        options=dict(arguments.model_options),
        encoders=tuple(encoders),
        instruction=None if has_llm else getattr(arguments, "instruction", None),
    )


def worker_devices(arguments: argparse.Namespace) -> str:
    """The devices of `--workers` processes on this machine: CPU processes, or GPUs. A list of devices is unchanged."""
    workers, device = getattr(arguments, "workers", None) or 1, str(arguments.device)
    if workers == 1 or "," in device or getattr(arguments, "ray", None):
        return device
    from mpir.models.options import is_on_cpu

    return ",".join(["cpu"] * workers if is_on_cpu(device) else [f"cuda:{number}" for number in range(workers)])


def _with_beta(arguments: argparse.Namespace, betas: dict[str, float]) -> Weights:
    """The weights of the options or of the bundle, with changed weights for some document columns."""
    from mpir.core.weights import Weights
    from mpir.files.weights import read_weights
    from mpir.models.bundles.bundle import open_bundle

    if arguments.weights:
        weights = read_weights(arguments.weights)
    else:
        bundle = open_bundle(arguments.bundle)
        if not bundle.weights:
            raise InputError(
                f"bundle {arguments.bundle} has no weights that beta.{min(betas)} could change; give --weights, too."
            )
        weights = Weights.from_dict(bundle.weights, f"{bundle.folder}: weights")
    return replace(weights, beta={**weights.beta, **betas})

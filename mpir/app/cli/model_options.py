"""Model options on the command line: perspectives, weights and cache, and the reranker that they select."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mpir.app.cli.cache_options import open_cache
from mpir.app.cli.chat_options import check_llm_options, load_llm_option
from mpir.app.cli.lexicon_options import NOT_FOR_CLINICAL_USE, load_negation
from mpir.app.cli.typed_arguments import arguments_of
from mpir.errors import InputError

if TYPE_CHECKING:
    from mpir.core.weights import Weights
    from mpir.models.perspectives.named_models import ModelLevel, NamedModels
    from mpir.reranking.options import Cascade
    from mpir.reranking.reranker import Reranker


def add_model_options(parser: argparse.ArgumentParser, *, weights: bool = True) -> None:
    """Add the options for perspectives and (by default) weights to the parser of a script, which scores everything."""
    from mpir.app.cli.option_table import MODEL_OPTIONS
    from mpir.app.cli.parser_options import add_options

    command = "rerank" if weights else "score"
    add_options(parser, [row.of_command(command) for row in MODEL_OPTIONS if command in row.help])
    parser.set_defaults(cascade="all")


@dataclass(frozen=True, kw_only=True)
class NamingOptions:
    """Models by name, what they read and their settings; a command may lack the options with a default."""

    models: Sequence[str]
    revision: str | None
    model_options: Sequence[tuple[str, Any]]
    only_model: bool = False
    level: ModelLevel = "document"
    instruction: str | None = None
    llm: str | None = None


@dataclass(frozen=True, kw_only=True)
class RerankerOptions:
    """The bundle of a reranker, its weights, and how its models run; a command may lack the options with a default."""

    bundle: str
    device: str
    precision: str
    cascade: Cascade
    tokens_per_batch: int | None
    trust_code: bool
    weights: str | None = None
    context: str | None = None
    beta: Sequence[tuple[str, float]] = ()
    workers: int | None = None
    ray: str | None = None
    top_k: int | None = None

    def chosen_weights(self) -> Weights | str | None:
        """The weights of the options or of the bundle, with changed weights for some document columns."""
        if not self.beta:
            return self.weights
        from mpir.core.weights import Weights
        from mpir.files.weights import read_weights
        from mpir.models.bundles.bundle import open_bundle

        betas = dict(self.beta)
        if self.weights:
            weights = read_weights(self.weights)
        else:
            bundle = open_bundle(self.bundle)
            if not bundle.weights:
                raise InputError(
                    f"bundle {self.bundle} has no weights that beta.{min(betas)} could change; give --weights, too."
                )
            weights = Weights.from_dict(bundle.weights, f"{bundle.folder}: weights")
        return replace(weights, beta={**weights.beta, **betas})


def check_options(arguments: argparse.Namespace) -> None:
    """Raise InputError for malformed model options, before anything is read or loaded."""
    from mpir.models.options import device_names, precision_name
    from mpir.validation import optional_whole_number

    options = arguments_of(RerankerOptions, arguments)
    optional_whole_number("--top-k", options.top_k)
    device_names(options.device)
    precision_name(options.precision)
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

    options = arguments_of(RerankerOptions, arguments)
    weights = options.chosen_weights()
    llm, polarity = load_llm_option(arguments), load_negation(arguments)
    if polarity:
        print(f"mpir: {NOT_FOR_CLINICAL_USE}", file=sys.stderr)
    run = RunOptions(
        cascade=options.cascade,
        splitting="report" if polarity else "abstract",
        pairs_at_once=min(pairs_at_once or PAIRS_AT_ONCE, PAIRS_AT_ONCE),
        tokens_per_batch=options.tokens_per_batch,
        trust_code=options.trust_code,
    )
    return Reranker(
        options.bundle,
        models=named_models(arguments),
        device=options.device if options.ray else worker_devices(options.device, options.workers),
        precision=options.precision,
        cache=open_cache(arguments, keeps=keeps),
        run=run,
        perspectives=[column for column in (llm, polarity) if column is not None],
        weights=weights,
        context=options.context,
    )


def named_models(arguments: argparse.Namespace, encoders: Sequence[str] = ()) -> NamedModels:
    """The models that the options name, without the chat model."""
    from mpir.models.perspectives.named_models import NamedModels

    options = arguments_of(NamingOptions, arguments)
    has_llm = not options.models and options.llm is not None
    return NamedModels(
        names=tuple(options.models),
        only=options.only_model,
        level=options.level,
        revision=options.revision,
        options=dict(options.model_options),
        encoders=tuple(encoders),
        instruction=None if has_llm else options.instruction,
    )


def worker_devices(device: str, workers: int | None) -> str:
    """The devices of `--workers` processes on this machine: CPU processes, or GPUs. A list of devices is unchanged."""
    if not workers or workers == 1 or "," in device:
        return device
    from mpir.models.options import is_on_cpu

    return ",".join(["cpu"] * workers if is_on_cpu(device) else [f"cuda:{number}" for number in range(workers)])

"""Model options on the command line: perspectives, weights and cache, and the reranker that they select."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from mpir.app.cli.cache_options import CacheArguments, open_cache
from mpir.app.cli.chat_options import ChatArguments, load_llm_option
from mpir.app.cli.lexicon_options import NOT_FOR_CLINICAL_USE, LexiconArguments, load_negation
from mpir.app.cli.option import flag, option, options_of, setting
from mpir.app.cli.value_options import json_value, positive, text_path
from mpir.core.weights import PUBLISHED
from mpir.errors import InputError

if TYPE_CHECKING:
    from mpir.core.weights import Weights
    from mpir.models.perspectives.named_models import ModelLevel, NamedModels
    from mpir.reranking.options import Cascade
    from mpir.reranking.reranker import Reranker


def _trust_code(*, advanced: bool = False) -> Any:
    return flag(
        "--trust-code",
        help="let a bundle or model run its own Python code, and a bundle ask servers and fetch models",
        group="models",
        advanced=advanced,
    )


def instruction_option(*, advanced: bool = False) -> Any:
    """Declare a field as the option for a model's instruction."""
    return option(
        "--instruction",
        help="a sentence about the task, for a language model or a chat model",
        metavar="TEXT",
        group="models",
        advanced=advanced,
    )


@dataclass(frozen=True, kw_only=True)
class BundleArguments:
    """The bundle of perspectives."""

    bundle: str = option(
        "--bundle",
        help="bundle of perspectives: ./DIR, default, fast, or a hub's org/name (%(default)s)",
        type=text_path,
        default="default",
        metavar="DIR|NAME",
        group="models",
    )


@dataclass(frozen=True, kw_only=True)
class TrustArguments:
    """Whether what a bundle or a model brings may run."""

    trust_code: bool = _trust_code()


@dataclass(frozen=True, kw_only=True)
class NamedModelArguments:
    """Rerankers by name, and their settings."""

    models: Sequence[str] = option(
        "--model",
        help="a reranker, by hub name or folder, whose score joins the bundle's columns; may be given several times",
        type=text_path,
        default=[],
        action="append",
        metavar="NAME|DIR",
        group="models",
    )
    instruction: str | None = instruction_option(advanced=True)
    trust_code: bool = _trust_code(advanced=True)
    revision: str | None = setting(
        "model.revision", help="commit, branch or tag of the --model on its hub", metavar="COMMIT"
    )
    model_options: Sequence[tuple[str, Any]] = setting(
        "model.*",
        help="override a setting in the model's files: model.max_length=2048, model.scale=logit …",
        type=json_value,
        default=(),
    )

    def named_models(self, encoders: Sequence[str] = ()) -> NamedModels:
        """The models that are named, without the chat model."""
        from mpir.models.perspectives.named_models import NamedModels

        return NamedModels(
            names=tuple(self.models),
            revision=self.revision,
            options=dict(self.model_options),
            encoders=tuple(encoders),
            instruction=self.instruction,
        )


@dataclass(frozen=True, kw_only=True)
class ModelColumnArguments(NamedModelArguments):
    """The columns that named rerankers fill."""

    only_model: bool = setting("model.only", help="rank documents by these models only", default=False)
    level: ModelLevel = setting(
        "model.level", help="what a --model reads", default="document", choices=("document", "sentence", "both")
    )

    def named_models(self, encoders: Sequence[str] = ()) -> NamedModels:
        """The models that are named, without the chat model."""
        return replace(super().named_models(encoders), only=self.only_model, level=self.level)


@dataclass(frozen=True, kw_only=True)
class DeviceArguments:
    """Where models run, and in what batches."""

    device: str = option(
        "--device",
        help="auto (a GPU if there is one), cpu, cuda, cuda:1 …; each device of a list, such as cuda:0,cuda:1, gets "
        "its own process (default: auto)",
        default="auto",
        group="models",
    )
    precision: str = option(
        "--precision", help="auto, fp32, bf16 or fp16 (default: auto)", default="auto", group="models", advanced=True
    )
    tokens_per_batch: int | None = setting(
        "batch.tokens",
        help="size of a batch, with padding (default: chosen for the device)",
        type=positive,
        metavar="N",
    )


@dataclass(frozen=True, kw_only=True)
class CascadeArguments(DeviceArguments):
    """How far models read."""

    cascade: Cascade = option(
        "--cascade",
        help="how far a model with exits reads: auto reads the best documents of long lists to the end, all every "
        "one, and first every one to the first exit (default: %(default)s)",
        default="auto",
        choices=("auto", "all", "first"),
        group="models",
        advanced=True,
    )


@dataclass(frozen=True, kw_only=True)
class WeightsArguments:
    """Weights in place of the bundle's."""

    weights: str | None = option(
        "--weights",
        help=f"weights instead of the bundle's: a file, or {', '.join(PUBLISHED)}",
        type=text_path,
        metavar="FILE|NAME",
        group="models",
    )


@dataclass(frozen=True, kw_only=True)
class ModelArguments(BundleArguments, NamedModelArguments, DeviceArguments):
    """A bundle and further models."""


@dataclass(frozen=True, kw_only=True)
class RerankerArguments(
    ModelArguments, ModelColumnArguments, CascadeArguments, LexiconArguments, ChatArguments, CacheArguments
):
    """All models of a reranker, which scores with them."""

    def named_models(self, encoders: Sequence[str] = ()) -> NamedModels:
        """The models that are named, without the chat model, which may be the only one with the instruction."""
        named = super().named_models(encoders)
        return replace(named, instruction=None) if self.llm is not None and not self.models else named


@dataclass(frozen=True, kw_only=True)
class WeightedArguments(RerankerArguments, WeightsArguments):
    """A reranker, and the weights by which it ranks."""

    context: str | None = setting(
        "weights.context",
        help="S_CONTEXT: a document column, document or fixpoint (default: from the weights)",
        metavar="COLUMN",
    )
    beta: Sequence[tuple[str, float]] = setting(
        "beta.*", help="the weight of a document column, such as beta.dense=1", type=float, default=()
    )

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


def add_model_options(parser: argparse.ArgumentParser, *, weights: bool = True) -> None:
    """Add the options for perspectives and (by default) weights to the parser of a script, which scores everything."""
    from mpir.app.cli.parser_options import add_options

    add_options(parser, options_of(WeightedArguments if weights else RerankerArguments))
    parser.set_defaults(cascade="all")


def model_arguments(parsed: argparse.Namespace) -> WeightedArguments:
    """Return what the options of `add_model_options` have as values, for `load_reranker`."""
    values = vars(parsed)
    names = [field.name for field in fields(WeightedArguments) if field.name in values]
    return WeightedArguments(**{name: values[name] for name in names})


def check_options(arguments: RerankerArguments) -> None:
    """Raise InputError for malformed model options, before anything is read or loaded."""
    from mpir.models.options import device_names, precision_name

    device_names(arguments.device)
    precision_name(arguments.precision)
    arguments.check_llm()


def load_reranker(
    arguments: RerankerArguments, *, keeps: bool = True, pairs_at_once: int | None = None, workers: int | None = None
) -> Reranker:
    """The reranker that the model options select, in as many processes on this machine as there are `workers`.

    `keeps` is whether scores go to mpir's own cache folder where none is named. Results arrive, and are stored, in
    steps as large as the cache's, or of `pairs_at_once` if that is less. Raises MpirError for an unusable bundle or
    weights.
    """
    from mpir.models.perspectives.pair_scoring import PAIRS_AT_ONCE
    from mpir.reranking.options import RunOptions
    from mpir.reranking.reranker import Reranker

    weighted = arguments if isinstance(arguments, WeightedArguments) else None
    weights = weighted.chosen_weights() if weighted else None
    llm, polarity = load_llm_option(arguments, arguments.instruction), load_negation(arguments)
    if polarity:
        print(f"mpir: {NOT_FOR_CLINICAL_USE}", file=sys.stderr)
    run = RunOptions(
        cascade=arguments.cascade,
        splitting="report" if polarity else "abstract",
        pairs_at_once=min(pairs_at_once or PAIRS_AT_ONCE, PAIRS_AT_ONCE),
        tokens_per_batch=arguments.tokens_per_batch,
        trust_code=arguments.trust_code,
    )
    return Reranker(
        arguments.bundle,
        models=arguments.named_models(),
        device=worker_devices(arguments.device, workers),
        precision=arguments.precision,
        cache=open_cache(arguments, keeps=keeps),
        run=run,
        perspectives=[column for column in (llm, polarity) if column is not None],
        weights=weights,
        context=weighted.context if weighted else None,
    )


def worker_devices(device: str, workers: int | None) -> str:
    """The devices of `--workers` processes on this machine: CPU processes, or GPUs. A list of devices is unchanged."""
    if not workers or workers == 1 or "," in device:
        return device
    from mpir.models.options import is_on_cpu

    return ",".join(["cpu"] * workers if is_on_cpu(device) else [f"cuda:{number}" for number in range(workers)])

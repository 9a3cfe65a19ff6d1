"""Model options on the command line: perspectives, weights and cache, and the reranker that they select."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mpir.app.cli.annotate import NOT_FOR_CLINICAL_USE, add_annotation_options
from mpir.app.cli.llm_options import add_llm_options, check_llm_options, load_llm_option
from mpir.app.cli.path_options import text_path
from mpir.errors import InputError, OutputError, format_value
from mpir.files.write import cache_folder

if TYPE_CHECKING:
    from mpir.core.weights import Weights
    from mpir.lab.annotate.negation_perspective import NegationPerspective
    from mpir.models.perspectives import ScoreCache
    from mpir.reranking.reranker import Reranker

log = logging.getLogger(__name__)


def add_model_options(parser: argparse.ArgumentParser, *, weights: bool = True) -> None:
    """Add the options for perspectives and (by default) weights, which several commands share."""
    from mpir.reranking.cascade import DEFAULT_SHARE

    parser.add_argument(
        "--bundle",
        type=text_path,
        default="default",
        metavar="PATH|NAME",
        help="bundle of perspectives: ./DIR, default, fast, or a hub's org/name (%(default)s)",
    )
    parser.add_argument(
        "--trust-code",
        action="store_true",
        help="let the bundle run code, ask servers and fetch models",
    )
    add_named_model_options(parser)
    if weights:
        _add_weight_options(parser)
    parser.add_argument(
        "--device",
        default="auto",
        metavar="DEVICE[,DEVICE…]",
        help="auto (a GPU if there is one), cpu, cuda, cuda:1 …; each device of a list, such as cuda:0,cuda:1 or "
        "cpu,cpu, gets its own process (default: auto)",
    )
    parser.add_argument("--precision", default="auto", help="auto, fp32, bf16 or fp16 (default: auto)")
    parser.add_argument(
        "--tokens-per-batch",
        type=int,
        metavar="N",
        help="size of a batch, with padding (default: chosen for the device)",
    )
    _add_cache_options(parser)
    parser.add_argument(
        "--cascade",
        nargs="?",
        type=_share,
        const=DEFAULT_SHARE,
        metavar="SHARE",
        help="score only this share of a question's sentences, chosen by a fast first pass; auto is 100 "
        "sentences and a fifth of the others, and vectors of the 30 best documents (without SHARE: %(const)s; default: "
        "score all)",
    )
    _add_lexicon_options(parser)
    add_llm_options(parser)


def add_named_model_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name rerankers of a hub or folder."""
    from mpir.models.perspectives.named_models import LEVELS

    group = parser.add_argument_group(
        "models", "rerankers of your choice, by hub name or folder (docs/guides/models.md)"
    )
    group.add_argument(
        "--model",
        dest="models",
        type=text_path,
        action="append",
        default=[],
        metavar="NAME|DIR",
        help="a reranker whose score joins the bundle's columns; may be given several times",
    )
    group.add_argument("--only-model", action="store_true", help="rank documents by these models only")
    group.add_argument(
        "--level", choices=LEVELS, default="document", help="what the models read (default: %(default)s)"
    )
    group.add_argument(
        "--instruction", metavar="TEXT", help="a sentence about the task, for a language model or a chat model"
    )
    group.add_argument("--revision", metavar="COMMIT", help="commit, branch or tag of the model on its hub")
    group.add_argument("--trust-remote-code", action="store_true", help="run a model's own Python code; read it first")
    group.add_argument(
        "--model-option",
        dest="model_options",
        action="append",
        default=[],
        type=_option,
        metavar="NAME=VALUE",
        help="overrides a setting in the model's files: output=2, max_length=2048, scale=logit …",
    )


def _option(text: str) -> tuple[str, Any]:
    """An option's name and value, which is parsed as JSON if possible, and is text otherwise."""
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise argparse.ArgumentTypeError(f"invalid {format_value(text)} (expected NAME=VALUE, such as max_length=512)")
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value


def _add_cache_options(parser: argparse.ArgumentParser) -> None:
    keeping = parser.add_mutually_exclusive_group()
    keeping.add_argument(
        "--cache",
        type=text_path,
        metavar="DIR",
        help="folder for scores kept between runs (default: mpir's cache folder; none for serve and explain)",
    )
    keeping.add_argument("--no-cache", action="store_true", help="score everything again, and keep nothing")
    parser.add_argument("--cache-limit", type=int, metavar="BYTES", help="maximum size of the cache (1 GiB)")


def _add_lexicon_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("negation", "a column for whether a document affirms or denies the query")
    group.add_argument(
        "--lexicon",
        type=text_path,
        metavar="FILE",
        help="concepts and their phrases; adds the document column negation and splits documents as reports",
    )
    add_annotation_options(group)


def _share(text: str) -> float | str:
    from mpir.reranking.cascade import AUTO

    if text == AUTO:
        return text
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{format_value(text)} is not a share (expected a number above 0 and at most 1). Put a QUERY before "
            "--cascade"
        ) from None


def _add_weight_options(parser: argparse.ArgumentParser) -> None:
    from mpir.core.weights import PUBLISHED

    names = ", ".join(PUBLISHED)
    parser.add_argument(
        "--weights", type=text_path, metavar="FILE|NAME", help=f"weights instead of the bundle's: a file, or {names}"
    )
    parser.add_argument(
        "--context",
        metavar="COLUMN",
        help="S_CONTEXT: a document column, document or fixpoint (default: from the weights)",
    )
    parser.add_argument(
        "--beta",
        action="append",
        type=_column_weight,
        metavar="COLUMN=NUMBER",
        help="override the weight of a document column, such as dense=1; may be given several times",
    )


def _column_weight(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    try:
        return name.strip(), float(number)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"invalid {format_value(text)} (expected COLUMN=NUMBER, such as dense=1)"
        ) from None


def check_options(arguments: argparse.Namespace) -> None:
    """Raise InputError for malformed model options, before anything is read or loaded."""
    from mpir.models.options import device_names, precision_name
    from mpir.reranking.cascade import check_share
    from mpir.validation import optional_whole_number

    for name in ("top_k", "sentences", "tokens_per_batch"):
        optional_whole_number(f"--{name.replace('_', '-')}", getattr(arguments, name, None))
    device_names(arguments.device)
    precision_name(arguments.precision)
    check_share(arguments.cascade)
    check_llm_options(arguments)


def load_reranker(arguments: argparse.Namespace) -> Reranker:
    """The reranker that the model options select. Raises MpirError for an unusable bundle or weights."""
    from mpir.models.perspectives.scoring import PAIRS_AT_ONCE
    from mpir.reranking.reranker import Reranker

    options = ("weights", "context", "agreement", "device", "precision", "tokens_per_batch", "cascade", "trust_code")
    named = ("models", "only_model", "level", "revision", "trust_remote_code")
    chosen: dict[str, Any] = {name: getattr(arguments, name, None) for name in (*options, *named)}
    chosen["model_options"] = dict(arguments.model_options)
    if arguments.models or arguments.llm is None:
        chosen["instruction"] = arguments.instruction
    if betas := getattr(arguments, "beta", None):
        chosen["weights"] = _with_beta(arguments, dict(betas))
    chosen["perspectives"] = [] if (llm := load_llm_option(arguments)) is None else [llm]
    if polarity := _load_negation(arguments):
        print(f"mpir: {NOT_FOR_CLINICAL_USE}", file=sys.stderr)
        chosen["splitting"] = "report"
        chosen["perspectives"].append(polarity)
    # Results arrive, and are stored, in steps as large as the cache's.
    return Reranker(arguments.bundle, **chosen, cache=_open_cache(arguments), pairs_at_once=PAIRS_AT_ONCE)


def _with_beta(arguments: argparse.Namespace, betas: dict[str, float]) -> Weights:
    """The weights of the options or of the bundle, with changed weights for some document columns."""
    from mpir.core.weights import Weights
    from mpir.models.bundles.bundle import open_bundle

    if arguments.weights:
        weights = Weights.load(arguments.weights)
    else:
        bundle = open_bundle(arguments.bundle)
        if not bundle.weights:
            raise InputError(f"bundle {arguments.bundle} has no weights that --beta could change; give --weights, too.")
        weights = Weights.from_dict(bundle.weights, f"{bundle.folder}: weights")
    return replace(weights, beta={**weights.beta, **betas})


def _load_negation(arguments: argparse.Namespace) -> NegationPerspective | None:
    """The negation column that the options select; None without a lexicon.

    Raises:
        InputError: an invalid file, or a lexicon option without a lexicon.
    """
    if arguments.lexicon is None:
        for name in ("triggers", "partial"):
            if getattr(arguments, name, None) is not None:
                raise InputError(f"--{name} needs a --lexicon; give one, or leave it out.")
        return None
    from mpir.lab.annotate import Lexicon, NegEx
    from mpir.lab.annotate.negation_perspective import NegationPerspective

    negation = NegEx.load(*arguments.triggers or ())
    polarity = NegationPerspective(Lexicon.load(arguments.lexicon), negation=negation, likeness=arguments.partial)
    polarity.level = "document"
    return polarity


def _open_cache(arguments: argparse.Namespace) -> ScoreCache | None:
    """The cache that the model options select; None without one, or if mpir's own folder is not writable.

    Raises:
        InputError: a limit that is too small.
        OutputError: the given folder is not writable.
    """
    from mpir.models.perspectives.cache import LIMIT, ScoreCache

    if arguments.no_cache:
        return None
    limit = LIMIT if arguments.cache_limit is None else arguments.cache_limit
    try:
        return ScoreCache(arguments.cache or cache_folder() / "scores", limit=limit)
    except OutputError as error:
        if arguments.cache:
            raise
        log.warning("%s", error)
        return None

"""``mpir bundle``: show a bundle, or make, seal, calibrate or share your own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mpir.app.cli.model_options import (
    ModelColumnArguments,
    TrustArguments,
    WeightsArguments,
    instruction_option,
)
from mpir.app.cli.option import flag, option, positional
from mpir.app.cli.value_options import output_path, text_path

EPILOG = """\
examples:
  mpir bundle show
  mpir bundle show ./my-bundle
  mpir bundle new ./my-bundle --model ncbi/MedCPT-Cross-Encoder
  mpir bundle push ./my-bundle my-name/my-bundle
  mpir bundle seal ./my-bundle
  mpir bundle calibrate ./my-bundle scored
"""


@dataclass(frozen=True, kw_only=True)
class NewArguments(TrustArguments, ModelColumnArguments, WeightsArguments):
    """The arguments of `mpir bundle new`."""

    folder: Path = positional(help="a new folder, or one that this command made", type=output_path, metavar="DIR")
    bundle: str = option(
        "--bundle",
        help="a bundle whose perspectives are included (%(default)s)",
        type=text_path,
        default="default",
        metavar="DIR|NAME",
        group="models",
    )
    encoder: str | None = option(
        "--encoder",
        help="an embedding model, for a column of vectors",
        type=text_path,
        metavar="NAME|DIR",
        group="models",
    )
    instruction: str | None = instruction_option()


def run_new(arguments: NewArguments) -> int:
    """Make a bundle. Raises MpirError for an unusable model or bundle, or a folder that must not be replaced."""
    from mpir.files.output_checks import Output, check_outputs
    from mpir.models.bundles.bundle import BUNDLE
    from mpir.reranking.options import RunOptions
    from mpir.reranking.reranker import Reranker

    check_outputs([Output("DIR", arguments.folder, BUNDLE)])
    encoders = () if arguments.encoder is None else (arguments.encoder,)
    reranker = Reranker(
        arguments.bundle,
        models=arguments.named_models(encoders),
        weights=arguments.weights,
        device="cpu",
        run=RunOptions(trust_code=arguments.trust_code),
    )
    reranker.save_pretrained(arguments.folder)
    names_text = ", ".join(perspective.name for perspective in reranker.perspectives)
    print(f"{arguments.folder}: a bundle of {names_text}")
    return 0


@dataclass(frozen=True, kw_only=True)
class PushArguments:
    """The arguments of `mpir bundle push`."""

    bundle: str = positional(help="a folder with a bundle.json", type=text_path, metavar="DIR")
    repository: str = positional(help="the hub's repository, created if it does not exist", metavar="ORG/NAME")
    private: bool = flag("--private", help="make a new repository private")


def run_push(arguments: PushArguments) -> int:
    """Upload a bundle. Raises MpirError for one that cannot be used elsewhere, or if the hub refuses."""
    from mpir.models.bundles.bundle_push import push_bundle

    print(push_bundle(arguments.bundle, arguments.repository, private=arguments.private))
    return 0


@dataclass(frozen=True, kw_only=True)
class ShowArguments(TrustArguments):
    """The arguments of `mpir bundle show`."""

    bundle: str = positional(
        help="default: the one that ships", type=text_path, default="default", nargs="?", metavar="DIR|NAME"
    )


def run_show(arguments: ShowArguments) -> int:
    """Check the bundle and print its card. Raises MpirError if it is missing or damaged, or cannot rerank."""
    from tabulate import tabulate

    from mpir.models.bundles.bundle import open_bundle
    from mpir.models.bundles.bundle_models import BundleModel, models_of
    from mpir.reranking.options import RunOptions
    from mpir.reranking.reranker import Reranker

    bundle = open_bundle(arguments.bundle)
    Reranker(arguments.bundle, device="cpu", run=RunOptions(trust_code=arguments.trust_code))
    print(bundle.card or f"(the bundle {bundle.name} has no model card)")
    if models := models_of(bundle):
        print(f"\n{tabulate(models, BundleModel._fields)}")
    return 0


@dataclass(frozen=True, kw_only=True)
class SealArguments:
    """The arguments of `mpir bundle seal`."""

    bundle: str = positional(help="a folder with a bundle.json", type=text_path, metavar="DIR")


def run_seal(arguments: SealArguments) -> int:
    """Seal the bundle. Raises MpirError if there is none or it cannot be written."""
    from mpir.models.bundles.bundle import open_bundle, seal

    seal(arguments.bundle)
    open_bundle(Path(arguments.bundle))
    print(f"{arguments.bundle}: sealed")
    return 0


@dataclass(frozen=True, kw_only=True)
class CalibrateArguments:
    """The arguments of `mpir bundle calibrate`."""

    bundle: str = positional(help="a folder with a bundle.json", type=text_path, metavar="DIR")
    scored: Sequence[str] = positional(
        help="folder from `mpir score`; several are fitted together", type=text_path, nargs="+", metavar="SCORED"
    )


def run_calibrate(arguments: CalibrateArguments) -> int:
    """Fit the probabilities and write them to the bundle. Raises MpirError for a user's mistake."""
    from tabulate import tabulate

    from mpir.core.weights import Weights
    from mpir.errors import OutputError
    from mpir.files.checksum import write_json_with_checksum
    from mpir.models.bundles.bundle import RELEVANCE, declare, open_bundle
    from mpir.tune.dataset import Dataset
    from mpir.tune.fit_calibration import fit_calibration

    bundle = open_bundle(Path(arguments.bundle))
    manifest_files = (bundle.manifest.get("relevance"), *bundle.manifest.get("files", {}))
    if (path := bundle.folder / RELEVANCE).exists() and RELEVANCE not in manifest_files:
        raise OutputError(f"{path}: is not a file of the bundle, so it is not replaced; rename it, or seal the bundle.")
    weights = Weights.from_dict(bundle.weights, f"{bundle.folder}: weights")
    calibration = fit_calibration(Dataset.concat([Dataset.load(folder) for folder in arguments.scored]), weights)
    write_json_with_checksum(bundle.folder / RELEVANCE, calibration.to_dict())
    declare(bundle.folder, "relevance", RELEVANCE)
    facts = {level: calibration.made_by[level] for level in ("documents", "sentences")}
    rows = [
        [level, reading, *values.values()] for level, readings in facts.items() for reading, values in readings.items()
    ]
    print(tabulate(rows, ["probability of", "read", *facts["documents"]["whole"]], floatfmt=".3f"))
    return 0

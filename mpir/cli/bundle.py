"""``mpir bundle``: look at a bundle, or seal or calibrate one of your own."""

from __future__ import annotations

import argparse
from functools import reduce
from pathlib import Path

from mpir.cli.path_options import text_path

EPILOG = """\
examples:
  mpir bundle show
  mpir bundle show ./my-bundle
  mpir bundle seal ./my-bundle
  mpir bundle calibrate ./my-bundle scored
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``bundle`` with ``show``, ``seal`` and ``calibrate``."""
    parser = subparsers.add_parser(
        "bundle",
        help="show, seal or calibrate a bundle of perspectives",
        description="A bundle is a folder with trained perspectives, the weights that blend them, and a model card.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    show = actions.add_parser("show", help="check that a bundle can rerank, and print its card and licences")
    show.add_argument(
        "bundle", type=text_path, nargs="?", default="default", metavar="DIR|NAME", help="default: the one that ships"
    )
    show.add_argument("--trust-code", action="store_true", help="let the bundle run code that it names")
    show.set_defaults(run=run_show)
    seal = actions.add_parser("seal", help="write the files' hashes into the manifest after a change that is meant")
    seal.add_argument("bundle", type=text_path, metavar="DIR", help="a folder with a bundle.json")
    seal.set_defaults(run=run_seal)
    calibrate = actions.add_parser("calibrate", help="fit what relevance_score means on scored questions, and seal it")
    calibrate.add_argument("bundle", type=text_path, metavar="DIR", help="a folder with a bundle.json and weights")
    calibrate.add_argument(
        "scored", type=text_path, nargs="+", metavar="SCORED", help="folder of `mpir score`; several add columns"
    )
    calibrate.set_defaults(run=run_calibrate)


def run_show(arguments: argparse.Namespace) -> int:
    """Check the bundle and print its card. Raises MpirError for one that is missing or damaged, or cannot rerank."""
    from tabulate import tabulate

    from mpir.perspectives.bundle import open_bundle
    from mpir.perspectives.bundle_models import BundleModel, models_of
    from mpir.rank.reranker import Reranker

    bundle = open_bundle(arguments.bundle)
    Reranker(arguments.bundle, device="cpu", trust_code=arguments.trust_code)
    print(bundle.card or f"(the bundle {bundle.name} has no model card)")
    if models := models_of(bundle):
        print(f"\n{tabulate(models, BundleModel._fields)}")
    return 0


def run_seal(arguments: argparse.Namespace) -> int:
    """Seal the bundle. Raises MpirError where there is none or it cannot be written."""
    from mpir.perspectives.bundle import open_bundle, seal

    seal(arguments.bundle)
    open_bundle(Path(arguments.bundle))
    print(f"{arguments.bundle}: sealed")
    return 0


def run_calibrate(arguments: argparse.Namespace) -> int:
    """Fit the maps to probabilities and put them into the bundle. Raises MpirError for a user's mistake."""
    from tabulate import tabulate

    from mpir.errors import InputError, OutputError
    from mpir.io.checksum import write_json_with_checksum
    from mpir.perspectives.bundle import RELEVANCE, declare, open_bundle
    from mpir.rank.weights import Weights
    from mpir.tune.dataset import Dataset
    from mpir.tune.fit_calibration import fit_relevance

    bundle = open_bundle(Path(arguments.bundle))
    if not bundle.weights:
        raise InputError(f"{arguments.bundle}: has no weights, so nothing is blended; tune some for it first.")
    manifest_files = (bundle.manifest.get("relevance"), *bundle.manifest.get("files", {}))
    if (path := bundle.folder / RELEVANCE).exists() and RELEVANCE not in manifest_files:
        raise OutputError(f"{path}: is no file of the bundle, so it is not replaced; rename it, or seal the bundle.")
    source = f"{bundle.folder}: weights"
    scored = reduce(Dataset.join_columns, map(Dataset.load, arguments.scored))
    calibration = fit_relevance(scored, Weights.from_dict(bundle.weights, source), source)
    write_json_with_checksum(bundle.folder / RELEVANCE, calibration.to_dict())
    declare(bundle.folder, "relevance", RELEVANCE)
    rows = [[level, *calibration.made_by[level].values()] for level in ("document", "sentence")]
    print(tabulate(rows, ["map of", *calibration.made_by["document"]], floatfmt=".3f"))
    return 0

"""``mpir train``: fine-tune an encoder for the perspectives of a mixture, and make a bundle from it."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from typing import Any

from mpir.app.cli import train_average, train_shrink, train_tk
from mpir.app.cli.actions import add_action
from mpir.app.cli.path_options import file_path, text_path
from mpir.errors import InputError
from mpir.extras import needs
from mpir.files.read import found_folder
from mpir.lab.train.settings import TrainingSettings

TYPES = {"int": int, "int | None": int, "float": float, "str": str}
EPILOG = """\
The mixture is a JSON file that assigns rows and losses to perspectives; docs/reference/training.md shows one. It may
also contain settings; options on the command line take precedence.

The best checkpoint on dev (mean of the perspectives' metrics) is in OUTPUT/best; OUTPUT/log.jsonl records every step,
and OUTPUT/curves.png plots them. After an interrupt, repeat the command: it resumes and ends with the same weights. A
bundle's probabilities are calibrated (Platt scaling, folded into the weights) on the dev rows, or on those of
--calibrate, such as sentences from search results. Its card begins with the facts of the training.

examples:
  mpir train --checkpoint sentence-transformers/all-MiniLM-L6-v2 --mixture mixture.json --output runs/mine
  mpir train --mixture mixture.json --data runs/data --output runs/mine --bundle runs/mine/bundle --learning-rate 3e-5
  mpir train average runs/mine/bundle runs/second/bundle --calibrate rows.jsonl --output runs/mean
"""
REQUIRED = ("mixture", "output")
"""Options that are required for training but not for the actions."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``train``."""
    parser = subparsers.add_parser(
        "train",
        help="train your own perspectives",
        description="Fine-tune one encoder for the perspectives of a mixture, and make a bundle from it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--mixture", type=file_path, metavar="FILE", help="JSON that assigns rows to perspectives (required)"
    )
    parser.add_argument("--data", type=file_path, metavar="DIR", help="folder of the rows (default: the mixture's own)")
    parser.add_argument("--output", type=file_path, metavar="DIR", help="folder of the run (required)")
    parser.add_argument("--bundle", type=file_path, metavar="DIR", help="also make a bundle there")
    parser.add_argument(
        "--calibrate", type=file_path, metavar="FILE", help="rows to calibrate on (default: the dev rows)"
    )
    parser.add_argument(
        "--stored", choices=("fp16", "bf16"), default="fp16", help="number format of the bundle's weights (%(default)s)"
    )
    parser.add_argument(
        "--without", nargs="+", default=(), metavar="NAME", help="leave out a perspective, file, kind or file:kind"
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 … (%(default)s)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar; print only the result")
    add_settings(parser)
    parser.set_defaults(run=run)
    _add_actions(parser)


def _add_actions(parser: argparse.ArgumentParser) -> None:
    """Add the actions on checkpoints before and after a training."""
    actions = parser.add_subparsers(title="actions instead of a training", metavar="ACTION")
    add_action(
        actions,
        "average",
        train_average,
        help="average two bundles that were trained from one checkpoint",
        description="Make a bundle from the mean of two bundles' joint encoders.",
    )
    add_action(
        actions,
        "shrink",
        train_shrink,
        help="make a smaller encoder to distil into",
        description="Make a smaller encoder from some layers of a larger one and the frequent tokens of given texts.",
    )
    add_action(
        actions,
        "tk",
        train_tk,
        help="make an initial TK model from word vectors",
        description="Make an initial TK model from word vectors.",
    )


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add an option for every setting of a run."""
    group = parser.add_argument_group("settings")
    for item in fields(TrainingSettings):
        default = "" if item.default in (MISSING, None) else f" ({item.default})"
        meaning = item.metadata["help"] + default
        group.add_argument(f"--{item.name.replace('_', '-')}", type=_type(item), metavar="X", help=meaning)


def _check_outputs(arguments: argparse.Namespace, settings: TrainingSettings) -> None:
    """Raise OutputError for outputs that would overwrite each other or an input."""
    from mpir.files.output_checks import check_folders

    names = ("mixture", "data", "calibrate", "output")
    read = [(f"--{name}", getattr(arguments, name)) for name in names]
    written = [("--output", arguments.output / "best"), ("--bundle", arguments.bundle)]
    check_folders(written, [*read, ("--checkpoint", found_folder(settings.checkpoint))])


def _type(item: Field[Any]) -> Callable[[str], Any]:
    return text_path if item.name == "checkpoint" else TYPES[str(item.type)]


def run(arguments: argparse.Namespace) -> int:
    """Train, export if requested, and print the result's path. Raises MpirError for a user's mistake."""
    if missing := [f"--{name}" for name in REQUIRED if getattr(arguments, name) is None]:
        raise InputError(f"training needs {' and '.join(missing)}; see mpir train --help.")
    with needs("train", "training"):
        import matplotlib  # noqa: F401  (for the curves, which are drawn after hours)
    from mpir.models.bundles.bundle import BUNDLE
    from mpir.models.options import device_names

    settings = TrainingSettings.read(
        arguments.mixture, {f.name: getattr(arguments, f.name) for f in fields(TrainingSettings)}
    )
    device_names(arguments.device)
    _check_outputs(arguments, settings)
    if arguments.bundle:
        BUNDLE.check_replaceable(arguments.bundle)
    elif arguments.calibrate:
        raise InputError(
            "--calibrate applies to a bundle's probabilities; give its folder with --bundle, or leave it out."
        )
    import transformers

    from mpir.lab.train.bundle import calibration_rows, make_bundle
    from mpir.lab.train.document_mixture import is_document_mixture
    from mpir.lab.train.mixture import read_mixture
    from mpir.lab.train.plots import curves
    from mpir.lab.train.pretrained import output_layer
    from mpir.lab.train.trainer import FineTuner

    if not arguments.quiet:
        logging.getLogger("mpir").setLevel(logging.INFO)
    progress = not arguments.quiet and sys.stderr.isatty()
    if not progress:
        transformers.utils.logging.disable_progress_bar()  # loading and writing are quick
    if is_document_mixture(arguments.mixture):
        return _train_on_documents(arguments, settings, progress=progress)
    tasks = read_mixture(arguments.mixture, arguments.data, without=arguments.without, progress=progress)
    rows = calibration_rows(tasks, arguments.calibrate) if arguments.bundle else {}
    tuner = FineTuner(settings, tasks, arguments.output, device=arguments.device)
    if rows:
        output_layer(tuner.model)  # calibration changes this layer; a model without one must fail now, not after hours
    best = tuner.run(progress=progress)
    print(f"best checkpoint: {best}")
    if arguments.bundle:
        lines = make_bundle(best, tuner, arguments.bundle, rows, arguments.stored)
        print("\n".join([*lines, f"bundle: {arguments.bundle}"]))
    curves(arguments.output / "log.jsonl", arguments.output / "curves.png")
    return 0


def _train_on_documents(arguments: argparse.Namespace, settings: TrainingSettings, *, progress: bool) -> int:
    """`run` for a mixture of documents. Raises InputError for options that it has no use for."""
    from mpir.lab.train.document_bundle import make_document_bundle
    from mpir.lab.train.document_mixture import read_document_mixture
    from mpir.lab.train.document_trainer import DocumentTuner
    from mpir.lab.train.plots import curves

    for name in ("calibrate", "without"):
        if getattr(arguments, name):
            raise InputError(f"--{name} is not for a mixture of documents; leave it out.")
    mixture = read_document_mixture(arguments.mixture, arguments.data)
    tuner = DocumentTuner(settings, mixture, arguments.output, device=arguments.device)
    best = tuner.run(progress=progress)
    print(f"best checkpoint: {best}")
    if arguments.bundle:
        lines = make_document_bundle(best, tuner, arguments.bundle, arguments.stored)
        print("\n".join([*lines, f"bundle: {arguments.bundle}"]))
    curves(arguments.output / "log.jsonl", arguments.output / "curves.png")
    return 0

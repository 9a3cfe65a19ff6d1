"""``mpir train``: fine-tune an encoder for the perspectives of a mixture, and make a bundle from it."""

from __future__ import annotations

import argparse
import logging
import sys
from dataclasses import fields
from typing import Any

from mpir.app.cli.settings import unknown
from mpir.errors import InputError
from mpir.extras import needs
from mpir.files.read import found_folder
from mpir.lab.train.settings import TrainingSettings

EPILOG = """\
The mixture is a JSON file that assigns rows and losses to perspectives; docs/reference/training.md shows one. It may
also contain settings; options on the command line take precedence.

The best checkpoint on dev (mean of the perspectives' metrics) is in OUTPUT/best; OUTPUT/log.jsonl records every step,
and OUTPUT/curves.png plots them. After an interrupt, repeat the command: it resumes and ends with the same weights. A
bundle's probabilities are calibrated (Platt scaling, folded into the weights) on the dev rows, or on those of
--calibrate, such as sentences from search results. Its card begins with the facts of the training.

--objective mlm trains an encoder on plain text (masked language modelling), sentence by sentence, before a mixture; it
has no dev, no bundle and no resuming.

examples:
  mpir train --checkpoint sentence-transformers/all-MiniLM-L6-v2 --mixture mixture.json --output runs/mine
  mpir train --mixture mixture.json --data runs/data --output runs/mine --bundle runs/mine/bundle \
      --set train.learning_rate=3e-5
  mpir train --objective mlm --checkpoint bert-base-uncased --corpus reports.jsonl --output runs/mlm
  mpir train average runs/mine/bundle runs/second/bundle --calibrate rows.jsonl --output runs/mean
"""
REQUIRED = {"mixture": ("mixture", "output"), "mlm": ("corpus", "checkpoint", "output")}
"""The options that each objective requires; the actions require others."""
OF_MIXTURES = ("mixture", "data", "bundle", "calibrate", "without")


def _check_outputs(arguments: argparse.Namespace, settings: TrainingSettings) -> None:
    """Raise OutputError for outputs that would overwrite each other or an input."""
    from mpir.files.folder_format import CHECKPOINT
    from mpir.files.output_checks import Form, Output, check_outputs, is_picture, is_training_log
    from mpir.models.bundles.bundle import BUNDLE

    names = ("mixture", "data", "calibrate", "output")
    read = [(f"--{name}", getattr(arguments, name)) for name in names]
    forms: dict[str, Form] = {"best": CHECKPOINT, "log.jsonl": is_training_log, "curves.png": is_picture}
    written = [Output("--output", arguments.output / name, form) for name, form in forms.items()]
    bundle = Output("--bundle", arguments.bundle, BUNDLE)
    check_outputs([*written, bundle], [*read, ("--checkpoint", found_folder(settings.checkpoint))])


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings of the command line, by name. Raises InputError for an unknown one."""
    names = [item.name for item in fields(TrainingSettings)]
    for name, _ in arguments.settings:
        if name not in names:
            raise InputError(f"--set: {unknown(f'train.{name}', [f'train.{known}' for known in names])}.")
    return {"seed": arguments.seed, **dict(arguments.settings), "checkpoint": arguments.checkpoint}


def run(arguments: argparse.Namespace) -> int:
    """Train, export if requested, and print the result's path. Raises MpirError for a user's mistake."""
    if missing := [f"--{name}" for name in REQUIRED[arguments.objective] if getattr(arguments, name) is None]:
        raise InputError(f"training needs {' and '.join(missing)}; see mpir train --help.")
    if arguments.objective == "mlm":
        return _train_masked(arguments)
    if arguments.corpus:
        raise InputError("--corpus is for --objective mlm; leave it out.")
    with needs("train", "training"):
        import matplotlib  # noqa: F401  (for the curves, which are drawn after hours)
    from mpir.models.options import device_names

    settings = TrainingSettings.read(arguments.mixture, _settings(arguments))
    device_names(arguments.device)
    _check_outputs(arguments, settings)
    if arguments.calibrate and not arguments.bundle:
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
    progress, is_shown = not arguments.quiet and sys.stderr.isatty(), not arguments.quiet
    if not progress:
        transformers.utils.logging.disable_progress_bar()  # loading and writing are quick
    if is_document_mixture(arguments.mixture):
        return _train_on_documents(arguments, settings, progress=is_shown)
    tasks = read_mixture(arguments.mixture, arguments.data, without=arguments.without, progress=progress)
    rows = calibration_rows(tasks, arguments.calibrate) if arguments.bundle else {}
    tuner = FineTuner(settings, tasks, arguments.output, device=arguments.device)
    if rows:
        output_layer(tuner.model)  # calibration changes this layer; a model without one must fail now, not after hours
    best = tuner.run(progress=is_shown)
    print(f"best checkpoint: {best}")
    if arguments.bundle:
        lines = make_bundle(best, tuner, arguments.bundle, rows, arguments.stored)
        print("\n".join([*lines, f"bundle: {arguments.bundle}"]))
    curves(arguments.output / "log.jsonl", arguments.output / "curves.png")
    return 0


def _train_masked(arguments: argparse.Namespace) -> int:
    """`run` for plain text. Raises InputError for options of mixtures."""
    from mpir.lab.train.masked_language import train_masked

    for name in OF_MIXTURES:
        if getattr(arguments, name):
            raise InputError(f"--{name} is not for --objective mlm; leave it out.")
    settings = TrainingSettings(**{name: value for name, value in _settings(arguments).items() if value is not None})
    best, loss = train_masked(
        arguments.corpus, settings, arguments.output, device=arguments.device, progress=not arguments.quiet
    )
    print(f"checkpoint: {best}, loss of the last steps {loss:.3f}")
    return 0


def _train_on_documents(arguments: argparse.Namespace, settings: TrainingSettings, *, progress: bool) -> int:
    """`run` for a mixture of documents. Raises InputError for options that it has no use for."""
    from mpir.lab.train.bundle import make_document_bundle
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

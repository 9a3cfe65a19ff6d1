"""``mpir train``: fine-tune an encoder for the perspectives of a mixture, and make a bundle from it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.app.cli.common_options import QuietArguments
from mpir.app.cli.option import option, setting
from mpir.app.cli.settings import unknown
from mpir.app.cli.value_options import file_path, json_value, not_negative, output_path, text_path
from mpir.errors import InputError
from mpir.extras import needs
from mpir.files.read import found_folder

if TYPE_CHECKING:
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


@dataclass(frozen=True, kw_only=True)
class TrainArguments(QuietArguments):
    """The arguments of `mpir train`."""

    corpus: Sequence[str] | None = option(
        "--corpus", help="documents of --objective mlm", type=text_path, nargs="+", metavar="PATH"
    )
    output: Path | None = option("--output", help="folder of the run (required)", type=output_path, metavar="PATH")
    bundle: Path | None = option("--bundle", help="also make a bundle there", type=output_path, metavar="DIR")
    device: str = option("--device", help="auto, cpu, cuda … (%(default)s)", default="auto", group="models")
    seed: int | None = option(
        "--seed", help="seed of the order, the sampling and the heads (default: 1)", type=not_negative, metavar="N"
    )
    objective: str = option(
        "--objective",
        help="mlm trains an encoder on the plain text of --corpus, without a mixture",
        default="mixture",
        choices=("mixture", "mlm"),
    )
    mixture: Path | None = option(
        "--mixture", help="JSON that assigns rows to perspectives (required)", type=file_path, metavar="FILE"
    )
    data: Path | None = option(
        "--data", help="folder of the rows (default: the mixture's own)", type=file_path, metavar="DIR"
    )
    checkpoint: str | None = option(
        "--checkpoint", help="encoder to start from: a folder or a hub name", type=text_path, metavar="NAME|DIR"
    )
    without: Sequence[str] = option(
        "--without", help="leave out a perspective, file, kind or file:kind", default=(), nargs="+", metavar="NAME"
    )
    calibrate: Path | None = option(
        "--calibrate", help="rows to calibrate on (default: the dev rows)", type=file_path, metavar="FILE"
    )
    stored: str = setting(
        "bundle.stored", help="number format of the bundle's weights", default="fp16", choices=("fp16", "bf16")
    )
    settings: Sequence[tuple[str, Any]] = setting(
        "train.*",
        help="a setting of the run, such as train.batch_size=48; docs/reference/training.md lists all",
        type=json_value,
        default=(),
    )


def _check_outputs(arguments: TrainArguments, settings: TrainingSettings, output: Path) -> None:
    """Raise OutputError for outputs that would overwrite each other or an input."""
    from mpir.files.folder_format import CHECKPOINT
    from mpir.files.output_checks import Form, Output, check_outputs, is_picture, is_training_log
    from mpir.models.bundles.bundle import BUNDLE

    files = {"mixture": arguments.mixture, "data": arguments.data, "calibrate": arguments.calibrate, "output": output}
    read = [(f"--{name}", path) for name, path in files.items()]
    forms: dict[str, Form] = {"best": CHECKPOINT, "log.jsonl": is_training_log, "curves.png": is_picture}
    written = [Output("--output", output / name, form) for name, form in forms.items()]
    bundle = Output("--bundle", arguments.bundle, BUNDLE)
    check_outputs([*written, bundle], [*read, ("--checkpoint", found_folder(settings.checkpoint))])


def _settings(arguments: TrainArguments) -> dict[str, Any]:
    """The settings of the command line, by name. Raises InputError for an unknown one."""
    from mpir.lab.train.settings import TrainingSettings

    names = [item.name for item in fields(TrainingSettings)]
    for name, _ in arguments.settings:
        if name not in names:
            raise InputError(f"--set: {unknown(f'train.{name}', [f'train.{known}' for known in names])}.")
    return {"seed": arguments.seed, **dict(arguments.settings), "checkpoint": arguments.checkpoint}


def run(arguments: TrainArguments) -> int:
    """Train, export if requested, and print the result's path. Raises MpirError for a user's mistake."""
    if arguments.objective == "mlm":
        return _train_masked(arguments)
    mixture, output = arguments.mixture, arguments.output
    if mixture is None or output is None:
        raise _absent(mixture=mixture, output=output)
    if arguments.corpus:
        raise InputError("--corpus is for --objective mlm; leave it out.")
    with needs("train", "training"):
        import matplotlib  # noqa: F401  (for the curves, which are drawn after hours)
    from mpir.lab.train.settings import TrainingSettings
    from mpir.models.options import device_names

    settings = TrainingSettings.read(mixture, _settings(arguments))
    device_names(arguments.device)
    _check_outputs(arguments, settings, output)
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
    if is_document_mixture(mixture):
        return _train_on_documents(arguments, mixture, output, settings, progress=is_shown)
    tasks = read_mixture(mixture, arguments.data, without=arguments.without, progress=progress)
    rows = calibration_rows(tasks, arguments.calibrate) if arguments.bundle else {}
    tuner = FineTuner(settings, tasks, output, device=arguments.device)
    if rows:
        output_layer(tuner.model)  # calibration changes this layer; a model without one must fail now, not after hours
    best = tuner.run(progress=is_shown)
    print(f"best checkpoint: {best}")
    if arguments.bundle:
        lines = make_bundle(best, tuner, arguments.bundle, rows, arguments.stored)
        print("\n".join([*lines, f"bundle: {arguments.bundle}"]))
    curves(output / "log.jsonl", output / "curves.png")
    return 0


def _absent(**paths: object) -> InputError:
    """The error for options that an objective requires; the actions of the command require others."""
    absent = [f"--{name}" for name, path in paths.items() if path is None]
    return InputError(f"training needs {' and '.join(absent)}; see mpir train --help.")


def _train_masked(arguments: TrainArguments) -> int:
    """`run` for plain text. Raises InputError for options of mixtures."""
    corpus, checkpoint, output = arguments.corpus, arguments.checkpoint, arguments.output
    if corpus is None or checkpoint is None or output is None:
        raise _absent(corpus=corpus, checkpoint=checkpoint, output=output)
    from mpir.lab.train.masked_language import train_masked
    from mpir.lab.train.settings import TrainingSettings

    of_mixtures = {
        "mixture": arguments.mixture,
        "data": arguments.data,
        "bundle": arguments.bundle,
        "calibrate": arguments.calibrate,
        "without": arguments.without,
    }
    for name, value in of_mixtures.items():
        if value:
            raise InputError(f"--{name} is not for --objective mlm; leave it out.")
    settings = TrainingSettings(**{name: value for name, value in _settings(arguments).items() if value is not None})
    best, loss = train_masked(corpus, settings, output, device=arguments.device, progress=not arguments.quiet)
    print(f"checkpoint: {best}, loss of the last steps {loss:.3f}")
    return 0


def _train_on_documents(
    arguments: TrainArguments, mixture: Path, output: Path, settings: TrainingSettings, *, progress: bool
) -> int:
    """`run` for a mixture of documents. Raises InputError for options that it has no use for."""
    from mpir.lab.train.bundle import make_document_bundle
    from mpir.lab.train.document_mixture import read_document_mixture
    from mpir.lab.train.document_trainer import DocumentTuner
    from mpir.lab.train.plots import curves

    for name, value in {"calibrate": arguments.calibrate, "without": arguments.without}.items():
        if value:
            raise InputError(f"--{name} is not for a mixture of documents; leave it out.")
    rows = read_document_mixture(mixture, arguments.data)
    tuner = DocumentTuner(settings, rows, output, device=arguments.device)
    best = tuner.run(progress=progress)
    print(f"best checkpoint: {best}")
    if arguments.bundle:
        lines = make_document_bundle(best, tuner, arguments.bundle, arguments.stored)
        print("\n".join([*lines, f"bundle: {arguments.bundle}"]))
    curves(output / "log.jsonl", output / "curves.png")
    return 0

"""``mpir train average``, ``shrink`` and ``tk``: checkpoints to train from, and averages of trained ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpir.app.cli.option import option, positional, setting
from mpir.app.cli.value_options import file_path, not_negative, output_path, text_path
from mpir.errors import InputError
from mpir.files.folder_format import CHECKPOINT, FolderFormat
from mpir.files.output_checks import Named, Output, check_outputs

EPILOG_AVERAGE = """\
Without --calibrate, two checkpoints of one architecture are averaged, such as an encoder before and after training.

Both bundles must have the same perspectives in the same order; the second may be a bare checkpoint with the outputs of
the first. The result's probabilities are calibrated on the rows of --calibrate. Its weights are equal until `mpir tune`
finds others.

examples:
  mpir train average ENCODER runs/mine/best --output runs/mean
  mpir train average runs/gold/bundle runs/topics/bundle --share 0.5 \\
    --calibrate runs/data/relevance.search.dev.jsonl --output runs/mean/bundle
"""


@dataclass(frozen=True, kw_only=True)
class AverageArguments:
    """The arguments of `mpir train average`."""

    before: str = positional(help="a bundle's folder or name, or a checkpoint", type=text_path, metavar="FIRST")
    after: str = positional(help="another bundle or checkpoint", type=text_path, metavar="SECOND")
    output: Path = option("--output", help="folder of the result", type=output_path, required=True, metavar="PATH")
    calibrate: Path | None = option(
        "--calibrate", help="rows with labels 0 and 1 (for bundles)", type=file_path, metavar="FILE"
    )
    stored: str = setting(
        "bundle.stored", help="number format of the bundle's weights", default="fp16", choices=("fp16", "bf16")
    )
    share: float = option(
        "--share", help="weight of the second one, 0 to 1 (%(default)s)", type=float, default=0.5, metavar="X"
    )


def run_average(arguments: AverageArguments) -> int:
    """Average and calibrate; 0 is the exit status. Raises MpirError for a user's mistake."""
    from mpir.extras import needs

    with needs("train", "averaging bundles"):
        from mpir.lab.train.average import average, average_bundles
    from mpir.models.bundles.bundle import BUNDLE

    read: list[Named] = [("FIRST", arguments.before), ("SECOND", arguments.after), ("--calibrate", arguments.calibrate)]
    _check_output(arguments.output, CHECKPOINT if arguments.calibrate is None else BUNDLE, read)
    if arguments.calibrate is None:
        _refuse_bundles(arguments.before, arguments.after)
        average(arguments.before, arguments.after, arguments.output, arguments.share)
        print(f"checkpoint: {arguments.output}")
        return 0

    lines = average_bundles(
        arguments.before,
        arguments.after,
        arguments.output,
        rows=arguments.calibrate,
        share=arguments.share,
        stored=arguments.stored,
    )
    print("\n".join([*lines, f"bundle: {arguments.output}"]))
    return 0


def _check_output(folder: Path, form: FolderFormat, read: Iterable[Named]) -> None:
    """Raise OutputError for a folder that must not be replaced."""
    check_outputs([Output("--output", folder, form)], read)


def _refuse_bundles(*names: str) -> None:
    """Raise InputError for a bundle, whose probabilities would no longer be calibrated."""
    for name in names:
        if (Path(name) / "bundle.json").is_file():
            raise InputError(
                f"{name}: is a bundle, whose probabilities must be calibrated on rows; give them with --calibrate."
            )


EPILOG_SHRINK = """\
Tokens are counted in the documents of --corpus, and in the queries and sentences of each file of --rows. The result is
a starting point for distillation, not a usable model.

example:
  mpir train shrink mpir/bundles/default/model --layers 3 --tokens 8192 --corpus abstracts.jsonl --output runs/small
"""


@dataclass(frozen=True, kw_only=True)
class ShrinkArguments:
    """The arguments of `mpir train shrink`."""

    checkpoint: Path = positional(help="folder of a BERT-like encoder", type=file_path, metavar="DIR")
    corpus: Sequence[str] = option(
        "--corpus", help="documents to count tokens in", type=text_path, default=[], nargs="+", metavar="PATH"
    )
    output: Path = option(
        "--output", help="folder of the new checkpoint", type=output_path, required=True, metavar="PATH"
    )
    layers: int = option("--layers", help="number of layers to keep", type=int, required=True, metavar="N")
    tokens: int = option("--tokens", help="number of tokens to keep", type=int, required=True, metavar="N")
    rows: Sequence[Path] = option(
        "--rows", help="training files to count tokens in", type=file_path, default=[], nargs="+", metavar="FILE"
    )


def run_shrink(arguments: ShrinkArguments) -> int:
    """Shrink, and print what remains; return 0. Raises MpirError for a user's mistake."""
    from mpir.lab.train.shrink import make_smaller

    texts: list[Named] = [("--corpus", path) for path in arguments.corpus]
    texts += [("--rows", path) for path in arguments.rows]
    _check_output(arguments.output, CHECKPOINT, [("DIR", arguments.checkpoint), *texts])
    layers, share = make_smaller(
        arguments.checkpoint,
        arguments.output,
        layers=arguments.layers,
        tokens=arguments.tokens,
        corpus=arguments.corpus,
        rows=arguments.rows,
    )
    numbers = ", ".join(str(number + 1) for number in layers)
    print(f"{arguments.output}: layers {numbers}; {arguments.tokens} tokens, {share:.1%} of those in the texts")
    return 0


EPILOG_TK = """\
VECTORS is a folder from `mpir data vectors`, or a file in word2vec's format. Words start with their vectors, which are
trained with everything else; the layers start at random.

examples:
  mpir data vectors abstracts.jsonl --set vectors.size=300 --output runs/vectors
  mpir train tk runs/vectors --output runs/tk
  mpir train --checkpoint runs/tk --mixture experiments/mixtures/tripclick-tk.json --data DATA --output runs/trained
"""


@dataclass(frozen=True, kw_only=True)
class TkArguments:
    """The arguments of `mpir train tk`."""

    vectors: Path = positional(help="word2vec's format, or a folder with it", type=file_path, metavar="VECTORS")
    output: Path = option("--output", help="folder of the checkpoint", type=output_path, required=True, metavar="PATH")
    seed: int = option(
        "--seed", help="seed of the initial values (%(default)s)", type=not_negative, default=1, metavar="N"
    )
    heads: int = setting("tk.heads", help="attention heads; a divisor of the width", type=int, default=10, metavar="N")
    layers: int = setting("tk.layers", help="layers of attention", type=int, default=2, metavar="N")
    feed_forward: int = setting("tk.feed_forward", help="inner width of the layers", type=int, default=300, metavar="N")


def run_tk(arguments: TkArguments) -> int:
    """Make the checkpoint; 0 is the exit status. Raises MpirError for a user's mistake."""
    from mpir.lab.train.tk_init import make_tk

    _check_output(arguments.output, CHECKPOINT, [("VECTORS", arguments.vectors)])
    checkpoint = make_tk(
        arguments.vectors,
        arguments.output,
        heads=arguments.heads,
        layers=arguments.layers,
        feed_forward=arguments.feed_forward,
        seed=arguments.seed,
    )
    print(f"checkpoint: {checkpoint}")
    return 0

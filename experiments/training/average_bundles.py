"""The mean of two bundles' joint encoders, trained from one start on other rows, as a bundle of its own.

    python -m experiments.training.average_bundles runs/gold/bundle runs/topics/bundle --share 0.5 \\
        --calibrate runs/data/relevance.search.dev.jsonl --output runs/mean/bundle

One may know which sentence of a gold abstract answers, the other which topic is meant: their mean knows both, at the
price of one (docs/guides/reproduce.md). Both bundles hold the same perspectives of one checkpoint, in one order; the
second may be a bare checkpoint with the first one's outputs. Probabilities are calibrated anew on --calibrate; the
weights are equal until they are tuned (docs/guides/tuning.md).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from mpir.cli import guarded
from mpir.cli.path_options import file_path, text_path
from mpir.errors import InputError
from mpir.io.write import check_folder
from mpir.perspectives.bundle import BUNDLE, Bundle, open_bundle


def main() -> int:
    """Read arguments, average, calibrate, say where the result is."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundles", type=text_path, nargs=2, help="a folder or a shipped bundle's name, twice")
    parser.add_argument("--share", type=float, default=0.5, help="of the second bundle, 0 to 1 (%(default)s)")
    parser.add_argument("--calibrate", type=file_path, required=True, metavar="FILE", help="rows with labels 0 and 1")
    parser.add_argument(
        "--stored", choices=("fp16", "bf16"), default="fp16", help="format of its weights (%(default)s)"
    )
    parser.add_argument("--output", type=file_path, required=True, help="folder of the new bundle")
    arguments = parser.parse_args()
    return guarded("average_bundles", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole job."""
    BUNDLE.check_replaceable(arguments.output)
    check_folder(arguments.output.parent)
    from mpir.models.encoder import Encoder
    from mpir.train.average import average
    from mpir.train.bundle import calibrate, check_labels
    from mpir.train.examples import read_rows
    from mpir.train.export import export_bundle

    first = open_bundle(arguments.bundles[0])
    rows, perspectives = read_rows(arguments.calibrate, 1.0), joint(first)
    second = checkpoint_of(arguments.bundles[1], first)
    if any(item.get("scale") == "probability" for item in perspectives):
        check_labels(rows, str(arguments.calibrate))
    check_outputs(second, first.folder / perspectives[0]["checkpoint"])
    with TemporaryDirectory() as folder:
        mean = Path(folder) / "mean"
        name = perspectives[0]["checkpoint"]
        average(first.folder / name, second, mean, arguments.share)
        outputs = Encoder(mean, precision="fp32").outputs([(row.question, row.sentence) for row in rows])[0]
        calibration, lines = {}, []
        for item in perspectives:
            if item.get("scale") == "probability":
                logits = outputs[:, item["output"]].astype(np.float64)
                calibration[item["output"]], line = calibrate(logits, rows)
                lines.append(f"{item['name']}: {line}")
        card = (
            f"# {arguments.output.name}\n\nThe mean of two joint encoders ({1 - arguments.share:g} and "
            f"{arguments.share:g}).\n\n" + "\n".join(f"- {line}" for line in lines) + "\n"
        )
        entries = [{**item, "checkpoint": "model"} for item in perspectives]
        export_bundle(
            mean,
            arguments.output,
            entries,
            name=arguments.output.name,
            card=card,
            calibration=calibration,
            stored=arguments.stored,
        )
    print("\n".join([*lines, f"bundle: {arguments.output}"]))
    return 0


def checkpoint_of(name: str, first: Bundle) -> Path:
    """The joint encoder of the second bundle, which holds the perspectives of the first, or the bare checkpoint."""
    if (Path(name) / "config.json").is_file():
        return Path(name)
    second = open_bundle(name)
    if joint(first) != joint(second):
        raise InputError(f"{second.folder}: holds other perspectives than {first.folder}; give bundles of one mixture.")
    return second.folder / str(joint(second)[0]["checkpoint"])


def check_outputs(second: Path, first: Path) -> None:
    """Raise InputError for a checkpoint with another number of outputs than the first, which no mean would have."""
    from mpir.train.pretrained import count_outputs

    outputs, expected = count_outputs(second), count_outputs(first)
    if outputs != expected:
        raise InputError(f"{second}: has {outputs} outputs, and {first} has {expected}; give what one mixture trained.")


def joint(bundle: Bundle) -> list[dict[str, Any]]:
    """The manifest's entries of the perspectives of one checkpoint, that which reads question and sentence together."""
    declared = [dict(item) for item in bundle.manifest["perspectives"]]
    shared = {item.get("checkpoint") for item in declared if item["kind"] == "cross-encoder"}
    if len(shared) != 1:
        raise InputError(f"{bundle.folder}: has no checkpoint that all its cross-encoders share; give another bundle.")
    return [item for item in declared if item.get("checkpoint") in shared]


if __name__ == "__main__":
    sys.exit(main())

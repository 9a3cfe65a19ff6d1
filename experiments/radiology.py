"""Radiology: negation judged by people, and reports found by findings that people named (docs/radiology.md).

    python experiments/radiology.py sample
    python experiments/radiology.py negation --data ../shared/data/radiology
    python experiments/radiology.py reports --data ../shared/data/radiology --cache runs/radiology

``sample`` ranks the sixty reports that ship with mpir; ``negation`` (A) compares NegEx with people's judgements, and
with negspacy; ``reports`` (B) finds OpenI's reports by the findings that people named. Not for clinical use.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import radiology_negation
import radiology_reports
import radiology_sample

import mpir
from mpir.cli import guarded
from mpir.errors import InputError

LEXICON = Path(mpir.__file__).parent / "sample/radiology/chest-xray.tsv"


def main() -> int:
    """Read the options and run a part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("sample", "negation", "reports"))
    parser.add_argument("--data", type=Path, help="folder with negex/ and openi/")
    parser.add_argument("--lexicon", type=Path, default=LEXICON, help="findings and their phrases (the sample's)")
    parser.add_argument("--cache", type=Path, help="folder where scores are kept between runs")
    arguments = parser.parse_args()
    return guarded("radiology", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Run a part. Raises InputError where it lacks its data."""
    if arguments.part == "sample":
        return radiology_sample.run(arguments.lexicon, arguments.cache)
    if arguments.data is None:
        raise InputError(f"the part {arguments.part} needs data; name their folder with --data.")
    if arguments.part == "negation":
        return radiology_negation.run(arguments.data / "negex")
    return radiology_reports.run(arguments.data / "openi", arguments.lexicon, arguments.cache)


if __name__ == "__main__":
    sys.exit(main())

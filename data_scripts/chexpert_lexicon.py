"""Make a lexicon of CheXpert's phrases (https://github.com/stanfordmlgroup/chexpert-labeler, folder ``phrases``).

python data_scripts/chexpert_lexicon.py PHRASES --output chexpert.tsv
"""

from __future__ import annotations

import argparse
import sys

from mpir.annotate.chexpert import read_chexpert
from mpir.cli import guarded
from mpir.cli.path_options import file_path
from mpir.io.output_checks import check_files, check_replaceable_file


def main() -> int:
    """Convert and say what was found."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("phrases", type=file_path, metavar="FOLDER", help="with mention/*.txt and unmention/*.txt")
    parser.add_argument("--output", required=True, type=file_path, metavar="FILE", help="the lexicon")
    arguments = parser.parse_args()
    check_files([("--output", arguments.output)], [("PHRASES", arguments.phrases)])
    check_replaceable_file("--output", arguments.output, lambda head: b"\t" in head.split(b"\n")[0])
    lexicon = read_chexpert(arguments.phrases)
    lexicon.save(arguments.output)
    print(f"{arguments.output}: {len(lexicon.phrases)} phrases of {len(lexicon.concepts)} concepts")
    return 0


if __name__ == "__main__":
    sys.exit(guarded("chexpert_lexicon", main))

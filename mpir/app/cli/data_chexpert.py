"""``mpir data chexpert``: make a lexicon from CheXpert's phrases."""

from __future__ import annotations

import argparse

EPILOG = """\
PHRASES is the folder `phrases` of https://github.com/stanfordmlgroup/chexpert-labeler.

example:
  mpir data chexpert PHRASES --output chexpert.tsv
"""


def run(arguments: argparse.Namespace) -> int:
    """Convert, and print the number of phrases; return 0. Raises MpirError for a user's mistake."""
    from mpir.files.output_checks import check_files, check_replaceable_file
    from mpir.files.own_files import is_never_ours
    from mpir.lab.annotate.chexpert import read_chexpert

    check_files([("--output", arguments.output)], [("PHRASES", arguments.phrases)])
    check_replaceable_file("--output", arguments.output, is_never_ours, overwrite=arguments.overwrite)
    lexicon = read_chexpert(arguments.phrases)
    lexicon.save(arguments.output)
    print(f"{arguments.output}: {len(lexicon.phrases)} phrases of {len(lexicon.concepts)} concepts")
    return 0

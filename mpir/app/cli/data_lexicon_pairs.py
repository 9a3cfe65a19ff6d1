"""``mpir data lexicon-pairs``: label pairs of finding and sentence by a lexicon, to train and to measure encoders."""

from __future__ import annotations

import argparse

EPILOG = """\
A sentence that affirms a finding of the lexicon answers "edema", one that denies it answers "no edema". Each line is a
row of training: {"id": "no edema", "question": "no edema", "sentence": "…", "label": 1}. Sentences are in lower case,
and each occurs once. Labels are the annotator's, not people's; not for clinical use.

example:
  mpir data lexicon-pairs reports.jsonl --lexicon chest-xray.tsv --set lexicon.triggers=negation,hedges,radiology \\
      --output pairs.jsonl
"""


def run(arguments: argparse.Namespace) -> int:
    """Label, write, and print the number of pairs; return 0. Raises MpirError for a user's mistake."""
    from mpir.app.cli.annotate import load_annotation
    from mpir.files.corpora.corpus import read_corpus
    from mpir.files.output_checks import check_files, check_replaceable_file
    from mpir.files.own_files import is_never_ours
    from mpir.lab.annotate.pairs import lexicon_pairs, report_sentences, write_pairs

    read = [("PATH", path) for path in arguments.paths]
    check_files([("--output", arguments.output)], [*read, ("--lexicon", arguments.lexicon)])
    check_replaceable_file("--output", arguments.output, is_never_ours, overwrite=arguments.overwrite)
    lexicon, negation, matcher = load_annotation(arguments)
    texts = report_sentences(read_corpus(arguments.paths))
    answers = lexicon_pairs(texts, lexicon, negation, matcher, fewest=arguments.fewest)
    write_pairs(arguments.output, answers)
    pairs = sum(map(len, answers.values()))
    print(f"{arguments.output}: {pairs} pairs of {len(answers)} queries, from {len(texts)} different sentences")
    return 0

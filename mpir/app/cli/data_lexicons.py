"""``mpir data chexpert`` and ``lexicon-pairs``: make a lexicon, and label pairs of finding and sentence by one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mpir.app.cli.common_options import OverwriteArguments
from mpir.app.cli.lexicon_options import AnnotationArguments, load_annotation
from mpir.app.cli.option import option, positional, setting
from mpir.app.cli.value_options import file_path, output_path, positive

EPILOG_CHEXPERT = """\
PHRASES is the folder `phrases` of https://github.com/stanfordmlgroup/chexpert-labeler.

example:
  mpir data chexpert PHRASES --output chexpert.tsv
"""


@dataclass(frozen=True, kw_only=True)
class ChexpertArguments(OverwriteArguments):
    """The arguments of `mpir data chexpert`."""

    phrases: Path = positional(help="folder with mention/*.txt and unmention/*.txt", type=file_path, metavar="PHRASES")
    output: Path = option("--output", help="the lexicon", type=output_path, required=True, metavar="PATH")


def run_chexpert(arguments: ChexpertArguments) -> int:
    """Convert, and print the number of phrases; return 0. Raises MpirError for a user's mistake."""
    from mpir.files.output_checks import Output, check_outputs, is_never_ours
    from mpir.lab.annotate.lexicon import read_chexpert

    output = Output("--output", arguments.output, is_never_ours)
    check_outputs([output], [("PHRASES", arguments.phrases)], overwrite=arguments.overwrite)
    lexicon = read_chexpert(arguments.phrases)
    lexicon.save(arguments.output)
    print(f"{arguments.output}: {len(lexicon.phrases)} phrases of {len(lexicon.concepts)} concepts")
    return 0


EPILOG_LEXICON_PAIRS = """\
A sentence that affirms a finding of the lexicon answers "edema", one that denies it answers "no edema". Each line is a
row of training: {"id": "no edema", "question": "no edema", "sentence": "…", "label": 1}. Sentences are in lower case,
and each occurs once. Labels are the annotator's, not people's; not for clinical use.

example:
  mpir data lexicon-pairs reports.jsonl --lexicon chest-xray.tsv --set lexicon.triggers=negation,hedges,radiology \\
      --output pairs.jsonl
"""


@dataclass(frozen=True, kw_only=True)
class LexiconPairsArguments(AnnotationArguments, OverwriteArguments):
    """The arguments of `mpir data lexicon-pairs`."""

    output: Path = option("--output", help="the pairs to write", type=output_path, required=True, metavar="PATH")
    fewest: int = setting(
        "pairs.fewest", help="leave out queries with fewer sentences", type=positive, default=1, metavar="N"
    )


def run_lexicon_pairs(arguments: LexiconPairsArguments) -> int:
    """Label, write, and print the number of pairs; return 0. Raises MpirError for a user's mistake."""
    from mpir.files.corpora.corpus import read_corpus
    from mpir.files.output_checks import Output, check_outputs, is_never_ours
    from mpir.lab.annotate.pairs import lexicon_pairs, report_sentences, write_pairs

    read = [("PATH", path) for path in arguments.paths]
    output = Output("--output", arguments.output, is_never_ours)
    check_outputs([output], [*read, ("--lexicon", arguments.lexicon)], overwrite=arguments.overwrite)
    lexicon, negation, matcher = load_annotation(arguments)
    texts = report_sentences(read_corpus(arguments.paths))
    answers = lexicon_pairs(texts, lexicon, negation, matcher, fewest=arguments.fewest)
    write_pairs(arguments.output, answers)
    pairs = sum(map(len, answers.values()))
    print(f"{arguments.output}: {pairs} pairs of {len(answers)} queries, from {len(texts)} different sentences")
    return 0

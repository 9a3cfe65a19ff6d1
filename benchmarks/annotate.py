"""Sentences annotated per second on one core, on the sample's reports repeated or on reports of your own.

python benchmarks/annotate.py
python benchmarks/annotate.py --reports reports.jsonl --lexicon chest-xray.tsv
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from tabulate import tabulate

import mpir
from mpir.annotate import Lexicon, NegEx, annotate
from mpir.annotate.match import ExactMatcher
from mpir.annotate.mentions import Matcher
from mpir.annotate.partial import PartialMatcher
from mpir.corpora.corpus import read_corpus
from mpir.text import Sentence
from mpir.text.split import sentences

SAMPLE = Path(mpir.__file__).parent / "sample/radiology"
LEAST = 20_000
"""Sentences: fewer are repeated, so that a run takes long enough to be timed."""


def main() -> None:
    """Annotate all sentences with every matcher three times; the best time counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", nargs="+", type=Path, default=[SAMPLE / "reports.jsonl"], metavar="FILE")
    parser.add_argument("--lexicon", type=Path, default=SAMPLE / "chest-xray.tsv", metavar="FILE")
    arguments = parser.parse_args()
    lexicon, negation = Lexicon.load(arguments.lexicon), NegEx.load("negation", "hedges", "radiology")
    found = [one for document in read_corpus(arguments.reports) for one in sentences(document, style="report")]
    found *= -(-LEAST // len(found))
    matchers: list[Matcher] = [ExactMatcher(lexicon), PartialMatcher(lexicon)]
    rows = [(type(one).__name__, *measured(found, lexicon, negation, one)) for one in matchers]
    print(tabulate(rows, ("matcher", "sentences", "mentions", "sentences per second"), floatfmt=",.0f"))


def measured(found: list[Sentence], lexicon: Lexicon, negation: NegEx, matcher: Matcher) -> tuple[int, int, float]:
    """Sentences, mentions, and sentences per second of this process's time."""
    times, count = [], 0
    for _ in range(3):
        start = time.process_time()
        count = sum(map(len, annotate(found, lexicon, negation=negation, matcher=matcher)))
        times.append(time.process_time() - start)
    return len(found), count, len(found) / min(times)


if __name__ == "__main__":
    main()

"""Sentences annotated per second on one core, on the repeated sample reports or on your own.

python benchmarks/annotate.py
python benchmarks/annotate.py --reports reports.jsonl --lexicon chest-xray.tsv

Two rows measure given sentences, and two the whole command, which reads reports, splits them and prints.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tabulate import tabulate

import mpir
from mpir.app.cli import guarded, script_parser
from mpir.app.cli import main as command
from mpir.app.cli.value_options import file_path, positive
from mpir.core.text import Document
from mpir.core.text.split import sentences
from mpir.files.corpora.corpus import read_corpus
from mpir.lab.annotate import Lexicon, NegEx, annotate
from mpir.lab.annotate.fuzzy_match import PartialMatcher
from mpir.lab.annotate.mentions import ExactMatcher

SAMPLE = Path(mpir.__file__).parent / "sample/radiology"
TRIGGERS = ("negation", "hedges", "radiology")


def main() -> int:
    """Annotate all sentences in every way, and print how many that is a second."""
    parser = script_parser(__doc__)
    parser.add_argument("--reports", nargs="+", type=file_path, default=[SAMPLE / "reports.jsonl"], metavar="FILE")
    parser.add_argument("--lexicon", type=file_path, default=SAMPLE / "chest-xray.tsv", metavar="FILE")
    parser.add_argument(
        "--sentences", type=positive, default=20_000, help="minimum number, by repetition (%(default)s)"
    )
    arguments = parser.parse_args()
    documents = list(read_corpus(arguments.reports))
    documents *= -(-arguments.sentences // sum(len(sentences(document, splitting="report")) for document in documents))
    count = sum(len(sentences(document, splitting="report")) for document in documents)
    print(f"{count:,} sentences of {len(documents):,} reports")
    with tempfile.TemporaryDirectory() as folder:
        contenders = dict(in_memory(documents, arguments.lexicon)) | dict(
            commands(documents, arguments.lexicon, Path(folder))
        )
        rows = [(name, f"{count / seconds(contender):,.0f}") for name, contender in contenders.items()]
    print(tabulate(rows, ("", "sentences per second"), disable_numparse=True, colalign=("left", "right")))
    return 0


def in_memory(documents: Sequence[Document], path: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Annotating sentences that are at hand, by each matcher."""
    lexicon, negation = Lexicon.load(path), NegEx.load(*TRIGGERS)
    texts = [sentence for document in documents for sentence in sentences(document, splitting="report")]
    for matcher in (ExactMatcher(lexicon), PartialMatcher(lexicon)):
        yield (
            f"annotate, {matcher.name}",
            lambda matcher=matcher: sum(map(len, annotate(texts, lexicon, negation=negation, matcher=matcher))),
        )


def commands(documents: Sequence[Document], path: Path, folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """The whole command, its start apart."""
    records = (
        {"id": str(number), "title": document.title, "text": document.abstract}
        for number, document in enumerate(documents)
    )
    reports = folder / "reports.jsonl"
    reports.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    options = ["annotate", str(reports), "--lexicon", str(path), "--set", f"lexicon.triggers={','.join(TRIGGERS)}"]
    for flags in ((), ("--set", "lexicon.partial=0.6")):
        yield " ".join(("mpir annotate", *flags)), lambda flags=flags: silently([*options, *flags])


def silently(arguments: list[str]) -> None:
    """Run a command of mpir, its output going nowhere."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        assert command(arguments) == 0


def seconds(contender: Callable[[], object]) -> float:
    """The least time of this process that one of three runs takes."""
    times = []
    for _ in range(3):
        start = time.process_time()
        contender()
        times.append(time.process_time() - start)
    return min(times)


if __name__ == "__main__":
    sys.exit(guarded("annotate", main))

"""Compare sentence splitters on gold snippets that experts selected, and on speed (docs/evidence/splitting.md).

A snippet counts as kept if it begins where a sentence begins and ends where one ends, ignoring white space and a final
``.``, ``,``, ``;`` or ``:``. Splitting more often can only raise that share, so the share of snippets that are exactly
one sentence, and the number of sentences, are also shown.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from tabulate import tabulate

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path
from mpir.core.text.split import split
from mpir.core.text.types import ABSTRACT, TITLE
from mpir.extras import needs
from mpir.files.corpora.bioasq import read_questions
from mpir.files.corpora.jsonl import read_jsonl
from mpir.files.read import read_json
from mpir.files.write import write_json
from mpir.validation import real_number

Span = tuple[int, int]
Splitter = Callable[[str], Iterable[Span]]
_TAIL = " \t\r\n\xa0.,;:"


def pysbd_splitter() -> Splitter:
    """pySBD's English rules; spans are its sentences searched for in order."""
    with needs("experiments", "pySBD's splitter"):
        import pysbd

    segmenter = pysbd.Segmenter(language="en", clean=False, char_span=True)
    return lambda text: [(span.start, span.end) for span in segmenter.segment(text)]


def blingfire_splitter() -> Splitter:
    """BlingFire's sentence automaton, with its own mapping from bytes to code points."""
    with needs("experiments", "BlingFire's splitter"):
        import blingfire

    return lambda text: blingfire.text_to_sentences_and_offsets(text)[1] if text else []


def spacy_splitter() -> Splitter:
    """spaCy's rule-based sentencizer on its English tokenizer."""
    with needs("sia", "spaCy's splitter"):
        import spacy

    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    return lambda text: [(sentence.start_char, sentence.end_char) for sentence in pipeline(text).sents]


def scispacy_splitter() -> Splitter:
    """scispaCy's tokenizer and its rule-based segmenter (pySBD corrected for abbreviations)."""
    with needs("sia", "scispaCy's splitter"):
        import spacy
        from scispacy import custom_sentence_segmenter  # noqa: F401  registers the pipe
        from scispacy.custom_tokenizer import combined_rule_tokenizer

    pipeline = spacy.blank("en")
    pipeline.tokenizer = combined_rule_tokenizer(pipeline)
    pipeline.add_pipe("pysbd_sentencizer")
    return lambda text: [(sentence.start_char, sentence.end_char) for sentence in pipeline(text).sents]


SPLITTERS: dict[str, Callable[[], Splitter]] = {
    "mpir.core.text.split": lambda: split,
    "mpir, reports": lambda: partial(split, splitting="report"),
    "blingfire": blingfire_splitter,
    "pysbd": pysbd_splitter,
    "spaCy sentencizer": spacy_splitter,
    "scispaCy rules": scispacy_splitter,
}


def gold_spans(data: Path, group: str) -> Iterator[tuple[str, str, Span]]:
    """Yield (section, its text, span) of each gold snippet that is found in a known section, without repeats."""
    wanted_ids = set(read_json(data / "bioasq/splits.json")[group])
    documents = {document.id: document for document in read_jsonl(data / "pubmed/abstracts.jsonl")}
    earlier = set()
    for path in sorted((data / "bioasq").glob("*_golden.json")):
        for question in read_questions(path):
            for snippet in question.snippets or () if question.id in wanted_ids else ():
                if snippet.document not in documents:
                    continue
                text = documents[snippet.document].sections[snippet.begin_section]
                begin = _nearest(text, snippet.text, snippet.begin or 0)
                key = (snippet.document, snippet.begin_section, begin, len(snippet.text))
                if begin is not None and key not in earlier:
                    earlier.add(key)
                    yield snippet.begin_section, text, (begin, begin + len(snippet.text))


def _nearest(text: str, piece: str, begin: int) -> int | None:
    offsets = [match.start() for match in re.finditer(re.escape(piece), text)]
    return min(offsets, key=lambda offset: abs(offset - begin), default=None)


def _bare(text: str, span: Span) -> Span:
    begin, end = span
    while begin < end and text[begin].isspace():
        begin += 1
    while begin < end and text[end - 1] in _TAIL:
        end -= 1
    return begin, end


def measure(splitter: Splitter, gold: list[tuple[str, str, Span]]) -> dict[str, float]:
    """Shares (percent) of snippets kept in abstracts and in titles, and of those that are exactly one sentence."""
    spans = {text: [_bare(text, span) for span in splitter(text)] for text in {text for _, text, _ in gold}}
    hits: dict[str, list[bool]] = {TITLE: [], ABSTRACT: []}
    single = []
    for section, text, span in gold:
        bare = _bare(text, span)
        begins, ends = {begin for begin, _ in spans[text]}, {end for _, end in spans[text]}
        hits[section].append(bare[0] in begins and bare[1] in ends)
        single.append(bare in spans[text])
    shares = {section: 100 * sum(values) / max(1, len(values)) for section, values in hits.items()}
    everything = hits[TITLE] + hits[ABSTRACT]
    return {
        "both": 100 * sum(everything) / max(1, len(everything)),
        **shares,
        "single": 100 * sum(single) / max(1, len(single)),
    }


def speed(splitter: Splitter, texts: list[str], seconds: float) -> tuple[float, float]:
    """Sentences per second of processor time, and sentences per text, over as many texts as fit into the time."""
    list(splitter(texts[0]))
    begin, done, count = time.process_time(), 0, 0
    while not done or (done < len(texts) and time.process_time() - begin < seconds):
        count += len(list(splitter(texts[done])))
        done += 1
    return count / (time.process_time() - begin), count / done


def main() -> int:
    """The command line."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="folder with bioasq/ and pubmed/")
    parser.add_argument("--group", default="dev", choices=("train", "dev"), help="questions of this split")
    parser.add_argument("--seconds", type=float, default=5.0, help="time for each speed measurement")
    parser.add_argument("--json", type=file_path, help="also write the figures here")
    arguments = parser.parse_args()
    return guarded("splitting", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Print the table, and write it as JSON where asked."""
    real_number("--seconds", arguments.seconds, "a number above 0", lambda value: value > 0)
    check_figures(arguments)
    gold = list(gold_spans(arguments.data, arguments.group))
    splitters = {name: make() for name, make in SPLITTERS.items()}  # one that is missing is told before any is timed
    abstracts = list(dict.fromkeys(text for section, text, _ in gold if section == ABSTRACT))
    rows = []
    for name, splitter in splitters.items():
        rate, mean = speed(splitter, abstracts, arguments.seconds)
        rows.append({"splitter": name, **measure(splitter, gold), "per abstract": mean, "per second": rate})
    titles = sum(section == TITLE for section, _, _ in gold)
    print(f"{len(gold)} snippets ({titles} in titles) in {len(abstracts)} abstracts, questions of {arguments.group}")
    print(tabulate(rows, headers="keys", tablefmt="github", floatfmt=("", ".1f", ".1f", ".1f", ".1f", ".2f", ".0f")))
    if arguments.json:
        write_json(arguments.json, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())

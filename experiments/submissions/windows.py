"""Should a snippet be a window of two or three sentences, scored as one text by the same encoder?

    python -m experiments.submissions.windows --scored runs/submissions/dev --corpus DATA/pubmed/abstracts.jsonl

For the ten best documents of each question, all windows of two and three neighbouring sentences of a section are scored
by the bundle's relevance. A submitted sentence is replaced by the window around it with the highest relevance, if that
exceeds the sentence's own by a margin; sentences inside a submitted window are not submitted again. Printed are
BioASQ's measures by margin for ten snippets and for snippets cut at --share, and the pairs to score for a question. p:
paired randomisation tests of F with the cut against single sentences, corrected over the margins (Holm).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from tabulate import tabulate

from experiments.common.significance import corrected
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, text_path
from mpir.bioasq.measures import measure_snippets
from mpir.core.blend import blend
from mpir.core.cutoffs import TEN_EACH, Cutoff
from mpir.core.text import Question, Snippet
from mpir.core.weights import Weights
from mpir.errors import InputError, format_paths
from mpir.files.corpora import read_corpus
from mpir.models.perspectives import open_bundle
from mpir.reranking.reranker import Reranker
from mpir.tune.dataset import Dataset
from mpir.tune.submissions import Pool
from mpir.types import F64, I64

LONGEST = 3
MARGINS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4)
Window = tuple[int, int]
"""The numbers of the first and the last sentence."""


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Blended scores and relevance of all sentences (N,), the best documents (Q, 10), and the windows' relevance."""

    blended: F64
    relevance: F64
    documents: I64
    windows: dict[Window, float]


def main() -> int:
    """Read arguments, score windows, measure and print."""
    parser = script_parser(__doc__)
    parser.add_argument("--scored", type=file_path, required=True, help="questions that `mpir score` scored")
    parser.add_argument("--corpus", type=text_path, nargs="+", required=True, help="the documents of its candidates")
    parser.add_argument("--bundle", type=text_path, default="default", help="the bundle that scored them (%(default)s)")
    parser.add_argument("--share", type=float, default=0.58, help="cut-off of snippets (%(default)s)")
    parser.add_argument("--version", type=int, default=9, help="of the official measures (%(default)s)")
    return guarded("windows", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """Print a row for single sentences and one for each margin."""
    scored = Dataset.load(arguments.scored)
    scores = score(scored, arguments.corpus, arguments.bundle)
    cut = Cutoff(share=arguments.share)
    values = {"single sentences": measured(scored, scores, cut, None, arguments.version)}
    for margin in MARGINS:
        values[f"windows, margin {margin:g}"] = measured(scored, scores, cut, margin, arguments.version)
    single = values["single sentences"]["F, cut"]
    tests = corrected([(single, figures["F, cut"]) for figures in list(values.values())[1:]])
    p_values = ["", *(f"{p:.2g}" for p in tests)]
    rows = [
        [name, *(f"{np.nanmean(per_question):.4f}" for per_question in figures.values()), p]
        for (name, figures), p in zip(values.items(), p_values, strict=True)
    ]
    count = len(scored.questions)
    sizes = f"{len(scores.blended) / count:.0f} sentences and {len(scores.windows) / count:.0f} windows each"
    print(f"{count} questions, {sizes}\n")
    print(tabulate(rows, ["", *values["single sentences"], "p"], tablefmt="github", disable_numparse=True))
    return 0


def score(scored: Dataset, corpus: Sequence[str], bundle: str) -> Scores:
    """Blend the sentences, and score the windows in each question's best documents."""
    weights = Weights.from_dict(open_bundle(bundle).weights, bundle).align_to(scored.columns.layout)
    weights = replace(weights, cutoffs=None)
    documents = Pool(scored).blended(weights).documents
    sections = sections_of(scored, corpus)
    keys, pairs = [], []
    for question, row in zip(scored.questions, documents, strict=True):
        for document in row[row >= 0]:
            for window in windows_of(scored, int(document)):
                first, last = window
                text = sections[str(scored.documents[document])][str(scored.sections[first])]
                keys.append(window)
                pairs.append((question.body, text[int(scored.begin[first]) : int(scored.end[last])]))
    relevance = Reranker(bundle).score_pairs(pairs, progress=sys.stderr.isatty())["relevance"]
    return Scores(
        blended=blend(scored.columns, weights).sentences,
        relevance=np.asarray(scored.columns.sentence("relevance")),
        documents=documents,
        windows=dict(zip(keys, relevance.tolist(), strict=True)),
    )


def sections_of(scored: Dataset, corpus: Sequence[str]) -> dict[str, dict[str, str]]:
    """The texts of the scored documents by section. Raises InputError for a document that the corpus lacks."""
    ids = {str(name) for name in scored.documents}
    sections = {document.id: document.sections for document in read_corpus(corpus) if document.id in ids}
    if absent := sorted(ids - set(sections)):
        raise InputError(f"{format_paths(corpus)}: has no document {absent[0]!r}, which was scored; name its corpus.")
    return sections


def windows_of(scored: Dataset, document: int) -> Iterator[Window]:
    """The windows of two to LONGEST neighbouring sentences of a section of a document."""
    rows = np.flatnonzero(scored.columns.document_of == document)
    for start, first in enumerate(rows):
        for one, following in pairwise(rows[start : start + LONGEST]):
            if scored.sections[one] != scored.sections[following]:
                break
            yield int(first), int(following)


def measured(scored: Dataset, scores: Scores, cut: Cutoff, margin: float | None, version: int) -> dict[str, F64]:
    """Average precision and F of ten snippets, and F of snippets that are cut, of each question (Q,)."""
    values = {name: np.full(len(scored.questions), np.nan) for name in ("AP, ten", "F, ten", "F, cut")}
    for number, gold in enumerate(scored.questions):
        if not gold.snippets:
            continue
        ranked, lowest = ranked_sentences(scored, scores, number)
        for cutoff, named in (
            (TEN_EACH.snippets, {"AP, ten": "average_precision", "F, ten": "f1"}),
            (cut, {"F, cut": "f1"}),
        ):
            passing = cutoff.passing(scores.blended[ranked][None], np.array([lowest]))[0]
            spans = submitted(scores, ranked[passing], margin)[: cutoff.maximum]
            snippets = tuple(snippet(scored, *window) for window in spans)
            result = measure_snippets(gold, Question(gold.id, gold.body, snippets=snippets), version)
            for name, field in named.items():
                values[name][number] = getattr(result, field)
    return values


def ranked_sentences(scored: Dataset, scores: Scores, number: int) -> tuple[I64, float]:
    """The sentences of a question's best documents, best first, and the lowest of their scores."""
    documents = scores.documents[number]
    rows = np.flatnonzero(np.isin(scored.columns.document_of, documents[documents >= 0]))
    if not len(rows):
        return rows, 0.0
    ranked = rows[np.argsort(-scores.blended[rows], kind="stable")]
    return ranked, float(scores.blended[ranked[-1]])


def submitted(scores: Scores, ranked: I64, margin: float | None) -> list[Window]:
    """The spans to submit for ranked sentences: single ones for None, else windows that exceed them by the margin."""
    spans: list[Window] = []
    covered: set[int] = set()
    for row in ranked.tolist():
        if row in covered:
            continue
        span = (row, row) if margin is None else best_span(scores, row, margin, covered)
        spans.append(span)
        covered.update(range(span[0], span[1] + 1))
    return spans


def best_span(scores: Scores, row: int, margin: float, covered: set[int]) -> Window:
    """The window around a sentence with the highest relevance, or the sentence itself; none overlaps earlier spans."""
    windows = [
        (first, last)
        for first in range(row - LONGEST + 1, row + 1)
        for last in range(max(row, first + 1), first + LONGEST)
        if (first, last) in scores.windows and covered.isdisjoint(range(first, last + 1))
    ]
    best = max(windows, key=scores.windows.__getitem__, default=(row, row))
    return best if scores.windows.get(best, -np.inf) > scores.relevance[row] + margin else (row, row)


def snippet(scored: Dataset, first: int, last: int) -> Snippet:
    """The snippet from the beginning of one sentence to the end of another."""
    section = str(scored.sections[first])
    return Snippet(
        document=str(scored.documents[scored.columns.document_of[first]]),
        begin_section=section,
        end_section=section,
        begin=int(scored.begin[first]),
        end=int(scored.end[last]),
        text="",
    )


if __name__ == "__main__":
    sys.exit(main())

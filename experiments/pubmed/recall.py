"""Recall of the query plan of `mpir pubmed`, on local records that a stand-in server provides.

    python -m experiments.pubmed.recall --data DATA --limit 200

The stand-in (tests/search/pubmed) is a real HTTP server that ANDs words and has no MeSH. It sorts by BM25, or with
`--sort` by date or at random, because nobody outside knows how PubMed sorts. The script compares BioASQ's unchanged dev
questions sent to PubMed, the plan with one service and with both, and BM25 over the same records, which must be on
disk. It prints recall at k, requests per question, and the p-value of a paired randomisation test on recall against
BM25, corrected for the number of systems (Holm).
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Callable, Sequence

import numpy as np
from tabulate import tabulate

from experiments.common.significance import p_against
from experiments.dense.first_stages import POOLS
from experiments.ranking.evaluation import with_gold
from experiments.ranking.sentences import gold_questions
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive
from mpir.core.text import Document, Question
from mpir.errors import InputError
from mpir.files.corpora import read_corpus
from mpir.files.write import write_json
from mpir.search import MemoryIndex
from mpir.search.pubmed import Settings, search
from mpir.types import F64
from tests.search.pubmed.stand_in import Server, serving

Answer = Callable[[str], Sequence[str]]
"""Ids for a question, the best first."""


def main() -> int:
    """Read arguments, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="folder with bioasq/ and pubmed/")
    parser.add_argument("--pool", choices=sorted(POOLS), default="pool", help="records: whole abstracts, or all")
    parser.add_argument("--k", type=positive, default=200, help="candidates of a question (%(default)s)")
    parser.add_argument("--sort", choices=("relevance", "date", "random"), default="relevance", help="(%(default)s)")
    parser.add_argument("--limit", type=positive, metavar="N", help="only N questions, drawn by --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=file_path, metavar="FILE", help="also write every question's recall there")
    arguments = parser.parse_args()
    return guarded("recall", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Every system over every question, then the table."""
    check_figures(arguments)
    documents = list(read_corpus([arguments.data / "pubmed" / name for name in POOLS[arguments.pool]]))
    questions = with_gold(gold_questions(arguments.data, "dev"), {document.id for document in documents})
    questions = random.Random(arguments.seed).sample(questions, min(len(questions), arguments.limit or len(questions)))
    with serving(documents, sort=arguments.sort) as server:
        systems = {"BM25 over the records": bm25(documents, arguments.k), **services(server, arguments.k)}
        values, requests = {}, {}
        for name, answer in systems.items():
            before = len(server.requests)
            values[name] = recalls(questions, answer, {document.id for document in documents})
            requests[name] = (len(server.requests) - before) / len(questions)
    print(f"{len(questions)} questions, {len(documents):,} records, by {arguments.sort}\n")
    print(table(values, requests, arguments.k))
    if arguments.json:
        write_json(arguments.json, {name: recall.tolist() for name, recall in values.items()})
    return 0


def bm25(documents: Sequence[Document], k: int) -> Answer:
    """BM25 with the whole collection on disk."""
    index = MemoryIndex([document.text for document in documents])

    def answer(query: str) -> list[str]:
        order = np.argsort(-index.scores(query), kind="stable")[:k]
        return [documents[number].id for number in order]

    return answer


def services(server: Server, k: int) -> dict[str, Answer]:
    """Search the stand-in with the unchanged question, and with the plan."""
    settings = Settings.from_environment(eutils=server.url, europepmc=server.url, rate=10_000.0, cache=False)

    def as_it_is(query: str) -> list[str]:
        try:
            words = re.sub(r"[\"()\[\]]", " ", query)  # which would be syntax
            return [
                document.id for document in search(query, k, own_query=words, sources=["pubmed"], settings=settings)
            ]
        except InputError:  # a word is in no record: PubMed reports it and finds nothing
            return []

    def planned(*sources: str) -> Answer:
        return lambda query: [document.id for document in search(query, k, sources=sources, settings=settings)]

    return {
        "question as it is, PubMed": as_it_is,
        "plan, PubMed": planned("pubmed"),
        "plan, Europe PMC": planned("europepmc"),
        "plan, both": planned("pubmed", "europepmc"),
    }


def recalls(questions: Sequence[Question], answer: Answer, known: set[str]) -> F64:
    """Return recall (Q,) among those gold documents of each question that are in the records."""
    values = []
    for question in questions:
        gold = set(question.documents or ()) & known
        values.append(len(gold & set(answer(question.body))) / len(gold))
    return np.array(values)


def table(values: dict[str, F64], requests: dict[str, float], k: int) -> str:
    """Means, requests, and tests against the first system."""
    reference = next(iter(values))
    p_values = p_against(values, reference)
    rows: list[list[object]] = [[reference, values[reference].mean(), "", ""]]
    rows += [
        [name, values[name].mean(), f"{requests[name]:.1f}", "< 0.0001" if p < 0.0001 else f"{p:.4f}"]
        for name, p in p_values.items()
    ]
    heads = ["", f"recall@{k}", "requests", "p against BM25 (Holm)"]
    return tabulate(rows, heads, floatfmt=".4f", tablefmt="github", disable_numparse=[2, 3])


if __name__ == "__main__":
    sys.exit(main())

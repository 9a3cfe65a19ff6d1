"""How much do order and probability move when one need is asked in other words, and what lessens it?

    python -m experiments.wording.spread --data DATA --json runs/wording.json

`needs.jsonl` has 100 needs in four wordings (clinical, laboratory, lay, keywords), most with PubMed ids of relevant
documents. Every wording scores the same candidates: relevant ones and BM25's best for each wording, in turn. A system
reads one or several forms of a query (`forms.py`) and takes the mean of the log-odds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np
from tabulate import tabulate

from experiments.wording.forms import FORMS
from experiments.wording.measures import log_odds, ndcg, order_agreement, spread, width
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.model_options import add_model_options, load_reranker, model_arguments
from mpir.app.cli.value_options import check_figures, file_path, positive
from mpir.core.text import Document
from mpir.errors import InputError
from mpir.evaluate import bootstrap_interval
from mpir.files.corpora import read_corpus
from mpir.files.read import read_json_lines
from mpir.files.write import write_json
from mpir.reranking.reranker import Reranker
from mpir.search.memory import MemoryIndex
from mpir.types import F64

NEEDS = Path(__file__).with_name("needs.jsonl")
WORDINGS = ("clinical", "laboratory", "lay", "keywords")
CORPUS = ("abstracts.jsonl", "rounds_6_to_9.jsonl.gz")
RELEVANT = 6
"""Most relevant documents among a need's candidates."""
SYSTEMS: Mapping[str, Sequence[str]] = {
    **{name: (name,) for name in FORMS},
    "mean of as typed; names and spellings": ("as typed", "names and spellings"),
    "mean of as typed; content words": ("as typed", "content words"),
    "mean of as typed; content words, names, spellings": ("as typed", "content words, names, spellings"),
}


@dataclass(frozen=True)
class Need:
    """A need in its wordings, with its candidates and which of them are relevant."""

    id: str
    wordings: Sequence[str]
    candidates: Sequence[Document]
    relevant: frozenset[str]

    @property
    def grades(self) -> F64:
        """1 for relevant candidates, else 0."""
        return np.array([float(document.id in self.relevant) for document in self.candidates])


def main() -> int:
    """Rank, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the folder with pubmed/")
    parser.add_argument("--needs", type=file_path, default=NEEDS, help="needs in four wordings (%(default)s)")
    parser.add_argument("--limit", type=positive, metavar="N", help="only the first N needs")
    parser.add_argument("--candidates", type=positive, default=20, help="documents of a need (%(default)s)")
    parser.add_argument("--forms", nargs="+", choices=sorted(FORMS), default=list(FORMS), help="default: all")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="also write the figures there")
    add_model_options(parser)
    arguments = parser.parse_args()
    return guarded("spread", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """A row for each system whose forms are read."""
    check_figures(arguments)
    needs = read_needs(arguments.needs, arguments.data, arguments.candidates, arguments.limit)
    odds = odds_by_form(load_reranker(model_arguments(arguments)), needs, arguments.forms)
    systems = {name: forms for name, forms in SYSTEMS.items() if set(forms) <= odds.keys()}
    by_system = {name: mean_of(odds, forms) for name, forms in systems.items()}
    first = next(iter(by_system.values()))
    figures = {name: measures_of(needs, of) | change_of(of, first) for name, of in by_system.items()}
    judged = sum(bool(need.grades.any()) for need in needs)
    heads = next(iter(figures.values()))
    print(f"{len(needs)} needs, {judged} of them with relevant candidates\n")
    rows = [[name, *of.values()] for name, of in figures.items()]
    print(tabulate(rows, ["", *heads], tablefmt="pipe", floatfmt=".3f"))
    if arguments.json:
        write_json(arguments.json, {"needs": len(needs), "judged": judged, "systems": figures})
    return 0


def read_needs(path: Path, data: Path, count: int, limit: int | None) -> list[Need]:
    """The needs with their candidates. Raises InputError for a file without needs."""
    rows = [row for _, row in read_json_lines(path)][:limit]
    if not rows:
        raise InputError(f"{path}: no needs (expected JSON lines with {', '.join(WORDINGS)} and relevant).")
    documents = list(read_corpus([data / "pubmed" / name for name in CORPUS]))
    by_id, index = {d.id: d for d in documents}, MemoryIndex([document.text for document in documents])
    needs = []
    for row in rows:
        wordings = [row[name] for name in WORDINGS]
        relevant = [by_id[name] for name in row["relevant"] if name in by_id]
        lists = [[documents[i] for i in np.argsort(-index.scores(text), kind="stable")[:count]] for text in wordings]
        chosen = candidates_of(relevant[:RELEVANT], lists, count, {document.id for document in relevant})
        needs.append(Need(row["id"], wordings, chosen, frozenset(row["relevant"])))
    return needs


def candidates_of(
    relevant: Sequence[Document], lists: Sequence[Sequence[Document]], count: int, known: set[str]
) -> list[Document]:
    """Relevant documents, then the best of each list in turn that are not `known` as relevant."""
    turns = (document for row in zip_longest(*lists) for document in row if document is not None)
    others = {document.id: document for document in turns if document.id not in known}
    return [*relevant, *others.values()][:count]


def odds_by_form(reranker: Reranker, needs: Sequence[Need], forms: Sequence[str]) -> dict[str, list[F64]]:
    """The log-odds (W, D) of each need for every form; equal texts are read once."""
    texts = {(need.id, FORMS[form](text)) for need in needs for text in need.wordings for form in forms}
    jobs = sorted(texts)
    by_id = {need.id: need for need in needs}
    rankings = reranker.stream([text for _, text in jobs], [by_id[name].candidates for name, _ in jobs])
    rows = {
        job: log_odds(np.array(list(probabilities(ranking, by_id[job[0]].candidates))))
        for job, ranking in zip(jobs, rankings, strict=True)
    }
    return {
        form: [np.array([rows[need.id, FORMS[form](text)] for text in need.wordings]) for need in needs]
        for form in forms
    }


def probabilities(ranking: Sequence[object], candidates: Sequence[Document]) -> Iterator[float]:
    """The probability of each candidate, in the candidates' order."""
    by_id = {document.id: document.probability for document in ranking}  # type: ignore[attr-defined]
    return (float(by_id[document.id]) for document in candidates)


def mean_of(odds: Mapping[str, Sequence[F64]], forms: Sequence[str]) -> list[F64]:
    """The mean of some forms' log-odds for each need."""
    return [np.mean(arrays, axis=0) for arrays in zip(*(odds[form] for form in forms), strict=True)]


def measures_of(needs: Sequence[Need], odds: Sequence[F64]) -> dict[str, float]:
    """The figures of a system, means over needs."""
    agreement = np.array([order_agreement(rows) for rows in odds]).mean(axis=0)
    chances = [1 / (1 + np.exp(-rows)) for rows in odds]
    judged = [(need.grades, rows) for need, rows in zip(needs, odds, strict=True) if need.grades.any()]
    by_wording = np.array([[ndcg(row, grades) for row in rows] for grades, rows in judged] or [[np.nan] * 4])
    of_relevant = [rows[:, grades > 0] for grades, rows in judged]
    return {
        "τ": float(agreement[0]),
        "first 10 in common": float(agreement[1]),
        "RBO": float(agreement[2]),
        "nDCG@10": float(by_wording.mean()),
        **{f"nDCG@10, {name}": float(v) for name, v in zip(WORDINGS, by_wording.mean(axis=0), strict=True)},
        "best, log-odds": float(np.mean([spread(rows.max(axis=1)) for rows in odds])),
        "best, width": float(np.mean([width(rows.max(axis=1)) for rows in chances])),
        "same document, log-odds": float(np.mean([spread(rows) for rows in odds])),
        "relevant document, log-odds": float(np.mean([spread(rows) for rows in of_relevant] or [np.nan])),
        "relevant document, width": float(
            np.mean([width(1 / (1 + np.exp(-rows))) for rows in of_relevant] or [np.nan])
        ),
    }


def change_of(odds: Sequence[F64], base: Sequence[F64]) -> dict[str, float]:
    """How much more a document's log-odds move than in the first system, with a 95 % bootstrap over needs."""
    difference = np.array([spread(rows) - spread(before) for rows, before in zip(odds, base, strict=True)])
    low, high = bootstrap_interval(difference)
    return {"change": float(difference.mean()), "low": float(low), "high": float(high)}


if __name__ == "__main__":
    sys.exit(main())

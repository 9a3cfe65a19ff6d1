"""Does the bundle help on collections it has never been trained on? Reranking BM25's candidates, against BM25 itself.

    python experiments/generalisation.py --data DATA

The sets: SciFact (the 300 validation claims → the abstracts they cite), NFCorpus (test titles → documents), MED (30
queries → documents) and TREC-QA (test questions → sentences; only questions with right and wrong answers, as is usual).
BM25 in memory finds 100 documents; the best of them (`--depth`) are reranked by each perspective and by the bundle's
blend, and the others follow in BM25's order. TREC-QA brings its own candidates. Printed are the means over queries, a
bootstrap interval of the set's main measure, and the p-value of a paired randomisation test against BM25, corrected
for the number of systems (Holm). The depth is so small because it is meant for two cores: about 70,000 pairs in all.
"""

from __future__ import annotations

import argparse
import csv
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tabulate import tabulate

from mpir.cli import guarded
from mpir.cli.model_options import add_model_options, load_reranker
from mpir.cli.number_options import not_negative, positive
from mpir.corpora import read_qrels
from mpir.errors import InputError
from mpir.evaluate import bootstrap_interval, evaluate_queries, holm, randomisation_test
from mpir.io.output_checks import check_file
from mpir.io.read import read_json_lines, read_lines
from mpir.io.write import write_json
from mpir.rank.candidates import Candidates
from mpir.rank.columns import Columns, Layout
from mpir.rank.reranker import Reranker
from mpir.retrieve.memory import MemoryIndex
from mpir.tasks.bioasq import systems
from mpir.text import Document, Sentence

MEASURES = {"nDCG@10": "nDCG@10", "AP": "MAP", "RR": "MRR"}
CANDIDATES = 100
Qrels = dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class TestSet:
    """Queries with judged documents. `candidates` are given per query, or else BM25 finds them among `documents`.

    `main` is the measure that the interval and the test are about.
    """

    name: str
    queries: Mapping[str, str]
    documents: Sequence[Document]
    qrels: Qrels
    main: str = "nDCG@10"
    candidates: Mapping[str, Sequence[int]] | None = None


def main() -> int:
    """Retrieve, score, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with scifact/, nfcorpus/, med/, …")
    parser.add_argument("--sets", nargs="+", choices=sorted(READERS), default=list(READERS), help="default: all")
    parser.add_argument("--depth", type=positive, default=20, help="candidates to rerank for each query (%(default)s)")
    parser.add_argument("--limit", type=positive, metavar="N", help="only N queries of each set, drawn by the seed")
    parser.add_argument("--seed", type=not_negative, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    add_model_options(parser)
    arguments = parser.parse_args()
    return guarded("generalisation", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """All sets, in one table."""
    check_file("--json", arguments.json)
    reranker, lines, figures = load_reranker(arguments), [], {}
    for name in arguments.sets:
        chosen = limited(READERS[name](arguments.data / FOLDERS[name]), arguments.limit, arguments.seed)
        values = measure(chosen, reranker, arguments.depth, progress=sys.stderr.isatty())
        lines += table(chosen, values)
        figures[name] = {system: {m: float(x.mean()) for m, x in found.items()} for system, found in values.items()}
    heads = ["", "queries", "", *MEASURES.values(), "main measure: 95 % interval", "p against BM25 (Holm)"]
    print(tabulate(lines, heads, floatfmt=".4f", tablefmt="github"))
    if arguments.json:
        write_json(arguments.json, {"depth": arguments.depth, "limit": arguments.limit, "sets": figures})
    return 0


def limited(test: TestSet, limit: int | None, seed: int) -> TestSet:
    """The set with at most `limit` of its judged queries."""
    judged = [name for name in test.queries if any(grade > 0 for grade in test.qrels.get(name, {}).values())]
    if not judged:
        raise InputError(f"{test.name}: no query has a relevant document; check the folder.")
    kept = judged if limit is None else random.Random(seed).sample(judged, min(limit, len(judged)))
    return replace(test, queries={name: test.queries[name] for name in kept}, qrels={n: test.qrels[n] for n in kept})


def measure(
    test: TestSet, reranker: Reranker, depth: int, *, progress: bool = False
) -> dict[str, dict[str, npt.NDArray[np.float64]]]:
    """Every system's measures, query by query: system → measure → (Q,)."""
    found, tails = candidates(test, depth)
    if test.candidates is None:
        scored = reranker.score(list(test.queries.values()), found, progress=progress)
    else:
        scored = as_sentences(list(test.queries.values()), found, reranker, progress=progress)
    values = {}
    for system in systems(reranker.weights):
        run = {}
        for name, one, tail in zip(test.queries, scored, tails, strict=True):
            scores = system.scores(one)[0 if test.candidates is None else 1]
            order = np.lexsort((np.arange(len(scores)), -one.columns.first_stage, -scores))
            ranked = [*(one.documents[i].id for i in order), *tail]
            run[name] = {document: float(-rank) for rank, document in enumerate(ranked)}
        by_query = evaluate_queries(test.qrels, run, list(MEASURES))
        values[system.name] = {m: np.array(list(x.values())) for m, x in by_query.items()}
    return values


def candidates(test: TestSet, depth: int) -> tuple[list[list[Document]], list[list[str]]]:
    """For each query, the documents to rerank with their S_BM25, and the ids of those that stay behind them."""
    index = MemoryIndex([document.text for document in test.documents])
    heads, tails = [], []
    for name, query in test.queries.items():
        scores = index.scores(query)
        if test.candidates is None:
            best = np.argsort(-scores, kind="stable")[:CANDIDATES]
            best, cut = best[scores[best] > 0], depth
        else:
            best = np.array(test.candidates[name])
            cut = len(best)
        heads.append([replace(test.documents[i], score=float(scores[i])) for i in best[:cut]])
        tails.append([test.documents[i].id for i in best[cut:]])
    return heads, tails


def as_sentences(
    queries: Sequence[str], documents: Sequence[Sequence[Document]], reranker: Reranker, *, progress: bool = False
) -> list[Candidates]:
    """Score candidates that are sentences as they are: each is the only sentence of its own document, never split."""
    parts = []
    for query, part in zip(queries, documents, strict=True):
        bm25 = np.array([document.score for document in part], np.float64)
        places, zeros = np.arange(len(part)), np.zeros(len(part), np.int64)
        kept = tuple(Sentence(d.id, "abstract", 0, len(d.text), d.text) for d in part)
        columns = Columns(
            layout=Layout.of(("bm25",), ()),
            documents=bm25[:, None],
            sentences=np.zeros((len(part), 0)),
            question_of=zeros,
            document_of=places,
        )
        parts.append(Candidates.of(query, part, sentences=kept, columns=columns, lexical=bm25))
    return reranker.score_prepared(parts, progress=progress)


def table(test: TestSet, values: Mapping[str, Mapping[str, npt.NDArray[np.float64]]]) -> list[list[Any]]:
    """A row for each system of a set."""
    baseline, *others = values
    tests = [randomisation_test(values[name][test.main], values[baseline][test.main]) for name in others]
    p_values = dict(zip(others, holm(tests), strict=True))
    rows: list[list[Any]] = []
    for name, found in values.items():
        low, high = bootstrap_interval(found[test.main])
        means = [float(found[m].mean()) for m in MEASURES]
        p = f"{p_values[name]:.4f}" if name in p_values else ""
        interval = f"{MEASURES[test.main]} {low:.4f} to {high:.4f}"
        rows.append([test.name, len(test.queries), name, *means, interval, p])
    return rows


def read_scifact(folder: Path) -> TestSet:
    """SciFact: the validation claims (the test claims' labels are secret); an abstract that a claim cites is relevant.

    Wadden et al., "Fact or Fiction: Verifying Scientific Claims" (2020); the same qrels as in BEIR.
    """
    documents = [
        Document(str(item["doc_id"]), item["title"], " ".join(item["abstract"]))
        for _, item in read_json_lines(folder / "corpus.jsonl")
    ]
    queries: dict[str, str] = {}
    qrels: Qrels = {}
    for row in read_csv(folder / "claims_validation.csv", "id", "claim", "cited_doc_ids"):
        queries[row["id"]] = row["claim"]
        qrels[row["id"]] = dict.fromkeys(re.findall(r"\d+", row["cited_doc_ids"]), 1)
    return TestSet("SciFact", queries, documents, qrels)


def read_nfcorpus(folder: Path) -> TestSet:
    """NFCorpus: test titles, the documents of all splits, and the grades 2 and 1 that its authors used.

    Boteva et al., "A Full-Text Learning to Rank Dataset for Medical Information Retrieval" (2016). The texts are lower
    case without stop words and full stops, so that every document is one sentence.
    """
    texts = dict(pair for path in sorted(folder.glob("*.docs")) for pair in read_pairs(path))
    documents = [Document(name, "", text) for name, text in texts.items()]
    queries = dict(read_pairs(folder / "test.titles.queries"))
    return TestSet("NFCorpus", queries, documents, read_qrels(folder / "test.2-1-0.qrel"))


def read_med(folder: Path) -> TestSet:
    """MED (MEDLARS): a classic collection in SMART's format."""
    documents = [Document(name, "", text) for name, text in read_smart(folder / "MED.ALL")]
    qrels: Qrels = defaultdict(dict)
    for number, line in read_lines(folder / "MED.REL"):
        fields = line.split()
        if len(fields) != 3:
            raise InputError(f"{folder / 'MED.REL'}:{number}: expected query, document, 1; found {line[:40]!r}.")
        qrels[fields[0]][fields[1]] = 1
    return TestSet("MED", dict(read_smart(folder / "MED.QRY")), documents, dict(qrels))


def read_trecqa(folder: Path) -> TestSet:
    """TREC-QA (Wang et al. 2007): test questions with at least one right and one wrong sentence ("clean")."""
    groups: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for row in read_csv(folder / "test.csv", "qtext", "label", "atext"):
        groups[row["qtext"]].append((row["atext"], int(row["label"])))
    documents: list[Document] = []
    queries: dict[str, str] = {}
    qrels: Qrels = {}
    members: dict[str, list[int]] = {}
    for number, (question, answers) in enumerate(groups.items(), 1):
        if len({label for _, label in answers}) < 2:
            continue
        name = f"q{number}"
        queries[name], members[name] = question, list(range(len(documents), len(documents) + len(answers)))
        qrels[name] = {f"{name}-{i}": label for i, (_, label) in enumerate(answers)}
        documents += [Document(f"{name}-{i}", "", text) for i, (text, _) in enumerate(answers)]
    return TestSet("TREC-QA", queries, documents, qrels, "AP", members)


def read_csv(path: Path, *columns: str) -> Iterator[dict[str, str]]:
    """The rows of a CSV file with a header. Raises InputError where a column is missing."""
    reader = csv.DictReader(f"{line}\n" for _, line in read_lines(path))
    missing = set(columns) - set(reader.fieldnames or ())
    if missing:
        raise InputError(f"{path}: the column {sorted(missing)[0]!r} is missing; expected {', '.join(columns)}.")
    yield from reader


def read_pairs(path: Path) -> Iterator[tuple[str, str]]:
    """(id, text) of the lines of a file with a tab between them."""
    for number, line in read_lines(path):
        name, tab, text = line.partition("\t")
        if not tab:
            raise InputError(f"{path}:{number}: expected an id, a tab and a text, found {line[:40]!r}.")
        yield name, text


def read_smart(path: Path) -> Iterator[tuple[str, str]]:
    """(id, text) of the records of a file in SMART's format: ``.I`` id, ``.W``, and lines of text."""
    name = ""
    lines: list[str] = []
    for _, line in read_lines(path):
        if line.startswith(".I"):
            if name:
                yield name, " ".join(lines)
            name, lines = line[2:].strip(), []
        elif not line.startswith(".W"):
            lines.append(line.strip())
    if not name:
        raise InputError(f"{path}: no record begins with .I; expected SMART's format.")
    yield name, " ".join(lines)


READERS: dict[str, Callable[[Path], TestSet]] = {
    "scifact": read_scifact,
    "nfcorpus": read_nfcorpus,
    "med": read_med,
    "trecqa": read_trecqa,
}
FOLDERS = {"scifact": "scifact", "nfcorpus": "nfcorpus", "med": "med", "trecqa": "trecqa_wang"}


if __name__ == "__main__":
    sys.exit(main())

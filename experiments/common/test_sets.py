"""Test collections outside the training data: SciFact, NFCorpus, MED and TREC-QA, read from their published files.

SciFact: the 300 validation claims and the abstracts that they cite. NFCorpus: test titles. MED: 30 queries. TREC-QA:
test questions with both correct and incorrect sentences, which are their candidates.
"""

from __future__ import annotations

import csv
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mpir.core.text import Document
from mpir.errors import InputError
from mpir.files.corpora import read_qrels
from mpir.files.read import read_json_lines, read_lines

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


def limited(test: TestSet, limit: int | None, seed: int) -> TestSet:
    """The set with at most `limit` of its judged queries."""
    judged = [name for name in test.queries if any(grade > 0 for grade in test.qrels.get(name, {}).values())]
    if not judged:
        raise InputError(f"{test.name}: no query has a relevant document; check the folder.")
    sample = judged if limit is None else random.Random(seed).sample(judged, min(limit, len(judged)))
    return replace(
        test, queries={name: test.queries[name] for name in sample}, qrels={n: test.qrels[n] for n in sample}
    )


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

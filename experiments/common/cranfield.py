"""Cranfield 1400, a classic collection in SMART's format."""

from __future__ import annotations

from pathlib import Path

from experiments.common.test_sets import Qrels, TestSet, read_smart
from mpir.core.text import Document
from mpir.errors import InputError
from mpir.files.read import read_lines


def read_cranfield(folder: Path) -> TestSet:
    """Cranfield 1400: titles and abstracts on aerodynamics; the queries are numbered by their place in the file.

    Its grades run backwards, from 1 (a complete answer) to 4; -1 and 5 say that a document is of no interest.
    """
    qrels: Qrels = {}
    for number, line in read_lines(folder / "cranqrel"):
        fields = line.split()
        if len(fields) != 3:
            raise InputError(f"{folder / 'cranqrel'}:{number}: expected query, document, grade; found {line[:40]!r}.")
        qrels.setdefault(fields[0], {})[fields[1]] = 5 - int(fields[2]) if 1 <= int(fields[2]) <= 4 else 0
    texts = (text for _, text in read_smart(folder / "cran.qry"))
    queries = {str(number): text for number, text in enumerate(texts, 1)}
    return TestSet("Cranfield", queries, _documents(folder / "cran.all.1400"), qrels)


def _documents(path: Path) -> list[Document]:
    """Documents of a SMART file with titles (.T) and texts (.W); authors and places are left out."""
    entries: list[dict[str, list[str]]] = []
    field = ""
    for _, line in read_lines(path):
        if line.startswith(".I"):
            entries.append({"I": [line[2:].strip()], "T": [], "W": []})
        elif len(line.strip()) == 2 and line.startswith("."):
            field = line[1]
        elif field in ("T", "W") and entries:
            entries[-1][field].append(line.strip())
    return [Document(entry["I"][0], " ".join(entry["T"]), " ".join(entry["W"])) for entry in entries]

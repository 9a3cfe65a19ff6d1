"""Build the training files of a model that reads whole documents: questions with their candidates, as JSON lines.

    python data_scripts/document_rows.py --data DATA --output runs/documents

This is a step of the recipe in docs/guides/reproduce.md. It writes documents.{train,dev}.jsonl.gz, whose rows
mpir/lab/train/document_mixture.py describes: the best candidates of BM25 and the gold documents that are whole
abstracts, with labels of both and of the sentences of gold documents. The dev file has only questions with a gold
document. A candidate that is not gold counts as not relevant where a gold document is among the candidates; elsewhere
its label is unknown. Questions of the `dev` and `test` splits never enter the training file. A training list in which a
gold document has no title reads nobody's title: "no title" would mean "gold".
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import zlib
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from training_data import BioASQ, load

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path
from mpir.core.text import Document, Question
from mpir.core.text.characters import normalise
from mpir.core.text.split import sentences
from mpir.files.output_checks import Output, check_outputs
from mpir.files.read import read_json_lines
from mpir.files.write import atomic_write
from mpir.lab.gold_sentences import is_gold
from mpir.validation import whole_number

FILES = {"train": "documents.train.jsonl.gz", "dev": "documents.dev.jsonl.gz"}


def main() -> int:
    """Read, search, write."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the data folder")
    parser.add_argument("--output", type=file_path, required=True, help="folder for the two files")
    parser.add_argument(
        "--abstracts", type=file_path, nargs="*", default=[], help="more files of abstracts, for training questions"
    )
    parser.add_argument("--candidates", type=int, default=16, help="documents of a question (%(default)s)")
    parser.add_argument("--questions", type=int, default=10_000, help="training questions, gold documents first (all)")
    return guarded("document_rows", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """The whole job."""
    count = whole_number("--candidates", arguments.candidates, minimum=2)
    most = whole_number("--questions", arguments.questions)
    paths = {split: arguments.output / name for split, name in FILES.items()}
    check_outputs([Output("--output", path, are_rows) for path in paths.values()], [("--data", arguments.data)])
    bioasq = load(arguments.data, seed=1)
    dev = [row for question in bioasq.dev if (row := question_row(bioasq, question, count))["documents"]]
    add_abstracts(bioasq, arguments.abstracts)
    train = [
        row for question in bioasq.train if (row := question_row(bioasq, question, count, level=True))["documents"]
    ]
    arguments.output.mkdir(parents=True, exist_ok=True)
    for split, searched in (("train", train), ("dev", dev)):
        rows = [row for row in searched if row["documents"]]
        judged = [row for row in rows if any(document["label"] for document in row["documents"])]
        others = [row for row in rows if row not in judged] if split == "train" else []
        chosen = [*judged, *others][:most] if split == "train" else judged
        write(paths[split], chosen)
        print(f"{paths[split]}: {len(chosen)} questions, {min(len(judged), len(chosen))} of them with a gold document")
    return 0


def are_rows(head: bytes) -> bool:
    """Whether a file begins with compressed rows of documents."""
    try:
        text = zlib.decompressobj(wbits=31).decompress(head)
    except zlib.error:
        return False
    return text.startswith(b'{"id": ') and b'"documents": [' in text


def add_abstracts(bioasq: BioASQ, paths: Sequence[Path]) -> None:
    """Add abstracts to the corpus, except those that are gold for evaluation questions only, and search again.

    A file's records may say for which splits they are gold: {"pmid": …, "abstract": …, "gold_of": ["train", "test"]}.
    """
    for path in paths:
        for _, item in read_json_lines(path):
            document, splits = Document(str(item["pmid"]), item.get("title") or "", item["abstract"]), item["gold_of"]
            if document.id not in bioasq.documents and (not splits or "train" in splits):
                bioasq.documents[document.id] = document
                bioasq.pool.append(document)
    if paths:
        bioasq.retrieve()


def level_titles(documents: Sequence[Document], gold: Container[str]) -> list[Document]:
    """Return documents without titles if a gold one has none, because "no title" would mean "gold"."""
    if all(document.title for document in documents if document.id in gold):
        return list(documents)
    return [replace(document, title="") if document.abstract else document for document in documents]


def question_row(bioasq: BioASQ, question: Question, count: int, *, level: bool = False) -> dict[str, Any]:
    """Return a question with at most `count` documents that have sentences, of which up to a third are gold.

    With `level`, titles are left out where they would tell gold documents.
    """
    gold = [identifier for identifier in question.documents or () if identifier in bioasq.documents]
    searched = [document.id for document in bioasq.search(question)]
    chosen = list(dict.fromkeys([*gold[: max(1, count // 3)], *searched]))[:count]
    candidates = [bioasq.documents[identifier] for identifier in chosen]
    candidates = level_titles(candidates, gold) if level else candidates
    documents = [document_row(document, question, bool(gold)) for document in candidates]
    return {
        "id": question.id,
        "question": question.body,
        "documents": [document for document in documents if document["sentences"]],
    }


def document_row(document: Document, question: Question, is_judged: bool) -> dict[str, Any]:
    """Return a candidate's sentences with their labels, which are known in gold documents with gold sentences."""
    texts = [sentence.text for sentence in sentences(document)]
    snippets = [normalise(s.text) for s in question.snippets or () if s.document == document.id]
    label = int(document.id in (question.documents or ())) if is_judged else None
    gold = [int(is_gold(text, snippets)) for text in texts] if label else []
    return {"sentences": texts, "label": label, "gold": gold if any(gold) else None}


def write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows as compressed JSON lines."""
    with atomic_write(path, binary=True) as stream, gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) as compressed:
        for row in rows:
            compressed.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())

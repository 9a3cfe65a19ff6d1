"""Prepare experiments/tripclick/rerank.py: an index, training data, and models to train."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.tripclick.bioasq import write_bioasq
from experiments.tripclick.groups import read_groups
from experiments.tripclick.sample import write_encoder, write_sample
from mpir.errors import InputError
from mpir.files.corpora import corpus_fingerprint, read_corpus
from mpir.files.corpora.tripclick import DOCUMENTS
from mpir.files.write import atomic_write
from mpir.lab.sia.vectors import MADE_BY, train_vectors
from mpir.lab.train.tk_init import make_conv_knrm, make_tk
from mpir.search import LuceneIndex, build_index, index_matches

DEV_QUERIES, DEV_DEPTH = 200, 50
"""Size of the dev set for choosing a run's best checkpoint: queries of each group, and documents of each."""
WIDTH = 300
"""Dimensions of word vectors."""
OF_WORDS: Mapping[str, Callable[[Path, Path], Path]] = {"tk": make_tk, "convknrm": make_conv_knrm}
"""Models that start from word vectors, by mixture."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The collection, its index, its training data, and what to start from: an encoder, or words by mixture."""

    folder: Path
    index_folder: Path
    data: Path
    encoder: str
    words: Mapping[str, Path]
    is_sample: bool = False


def prepare(arguments: argparse.Namespace) -> Prepared:
    """Make missing files. Raises InputError for an invalid or missing file of the collection."""
    folder = arguments.tripclick
    if arguments.bioasq:
        folder = arguments.output / f"bioasq-{arguments.reported}"
        if not folder.is_dir():
            write_bioasq(arguments.bioasq, folder, arguments.reported)
    return _prepare(folder, arguments.output, arguments.checkpoint, arguments.vectors, dev_depth=arguments.dev_depth)


def prepare_sample(output: Path) -> Prepared:
    """Make the files of the sample, with word vectors and an encoder trained on it."""
    folder, encoder = output / "benchmark", output / "encoder"
    if not folder.is_dir():
        write_sample(folder)
    if not encoder.is_dir():
        write_encoder(list(read_corpus([folder / "documents"])), encoder)
    return replace(_prepare(folder, output, str(encoder), None, fewest=1, width=40), is_sample=True)


def _prepare(
    folder: Path,
    output: Path,
    encoder: str,
    vectors: Path | None,
    *,
    fewest: int = 5,
    width: int = WIDTH,
    dev_depth: int = DEV_DEPTH,
) -> Prepared:
    corpus = _corpus(folder)
    groups = read_groups(folder, "train")
    source = corpus_fingerprint([corpus])
    if not index_matches(output / "index", source):
        build_index(read_corpus([corpus]), output / "index", source=source, progress=True)
    data = output / "data"
    data.mkdir(parents=True, exist_ok=True)
    queries = [query for group in groups for query in group.queries]
    with atomic_write(data / "questions.tsv") as stream:
        stream.writelines(f"{query.id}\t{query.body}\n" for query in queries)
    (data / "documents").unlink(missing_ok=True)
    (data / "documents").symlink_to(corpus.resolve(), target_is_directory=True)
    with LuceneIndex(output / "index") as index:
        _dev_rows(folder, index, data / "dev.jsonl", dev_depth)
    words = {name: output / f"{name}-start" for name in OF_WORDS}
    for name, start in words.items():
        if not start.is_dir():
            if vectors is None and not (output / "vectors" / MADE_BY).is_file():
                train_vectors([corpus], output / "vectors", size=width, min_count=fewest)
            OF_WORDS[name](vectors or output / "vectors", start)
    return Prepared(folder, output / "index", data, encoder, words)


def _corpus(folder: Path) -> Path:
    """Return the folder of the documents. Raises InputError if it is missing."""
    for candidate in (folder / "documents", folder):
        if any(next(candidate.glob(pattern), None) for pattern in DOCUMENTS):
            return candidate
    raise InputError(f"{folder}: holds no documents; expected documents/docs_grp_00.txt … or docs.tsv.")


def _dev_rows(folder: Path, index: LuceneIndex, path: Path, depth: int) -> None:
    """Rows to choose the best checkpoint by: BM25's best of validation queries, of which one at least is relevant."""
    with atomic_write(path) as stream:
        for group in read_groups(folder, "val"):
            query_ids = list(group.queries)[:DEV_QUERIES]
            for query, documents in zip(
                query_ids, index.search_batch([q.body for q in query_ids], k=depth), strict=True
            ):
                grades = group.qrels.get(query.id, {})
                labels = [float(grades.get(document.id, 0) > 0) for document in documents]
                if len(set(labels)) == 2:
                    rows = zip(documents, labels, strict=True)
                    stream.writelines(
                        json.dumps({"id": query.id, "question": query.body, "sentence": document.text, "label": label})
                        + "\n"
                        for document, label in rows
                    )

"""``mpir index --vectors``: add vectors that exist already to an index of words."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.app.cli.first_stage import DEFAULT, DENSE_FOLDER, open_encoder
from mpir.app.cli.progress import shows_progress
from mpir.errors import InputError

if TYPE_CHECKING:
    from mpir.models.embedding_model import PooledEncoder

ENCODING_OPTIONS = ("dense", "shard", "ray", "update", "sentence_vectors")
"""Options that encode documents, which these vectors make unnecessary."""


def check_options(arguments: argparse.Namespace) -> None:
    """Raise InputError for --vectors without --ids, or with options that encode documents."""
    if not arguments.vectors:
        raise InputError("--ids names the ids of --vectors; add the files of vectors, or leave it out.")
    if not arguments.ids:
        raise InputError("--vectors needs the ids of the vectors; add --ids with a file of ids for each.")
    for name in ENCODING_OPTIONS:
        if getattr(arguments, name):
            raise InputError(f"--{name.replace('_', '-')} is for encoding documents; leave it out with --vectors.")


def add_vectors(arguments: argparse.Namespace) -> int:
    """Add the vectors to the index, unless it has them; return the number of its documents without one.

    Raises:
        MpirError: as `from_files`, or there is no index of words.
    """
    from tqdm import tqdm

    from mpir.search import LuceneIndex
    from mpir.search.dense.build import check_factory
    from mpir.search.dense.faiss_backend import FLAT
    from mpir.search.dense.vector_files import from_files

    name, factory = arguments.encoder or DEFAULT, arguments.kind or FLAT
    encoder = open_encoder(name)
    check_factory(encoder, factory)
    width, is_unit = _form(encoder)
    with LuceneIndex(arguments.index) as index:
        known = index.known_ids()
        source = {
            "source": {**index.info.source, "encoder": name, "vectors": [str(path) for path in arguments.vectors]}
        }
        how: dict[str, Any] = {"factory": factory, "encoder": dict(encoder.identity), "known": known.among}
        bar = tqdm(desc="Indexing", unit=" vectors", disable=not shows_progress(arguments))
        how |= {"is_unit": is_unit, "report": bar.update}
        folder = Path(arguments.index) / DENSE_FOLDER
        info, _ = from_files(arguments.vectors, arguments.ids, folder, width=width, **how, **source)
        return len(index) - info.documents


def _form(encoder: PooledEncoder) -> tuple[int, bool]:
    """Return the width of an encoder's vectors, and whether their length is 1."""
    import numpy as np

    vector = encoder.query_vectors(["length"])[0][0]
    return len(vector), bool(abs(np.linalg.norm(vector) - 1) < 0.01)

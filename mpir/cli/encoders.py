"""The encoder of a dense index on the command line: a bundle's, or a checkpoint's."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.errors import ArtefactError
from mpir.models.pooling import PooledEncoder

if TYPE_CHECKING:
    from mpir.retrieve.dense import DenseIndex
    from mpir.retrieve.dense.shards import Vectoriser

DENSE_FOLDER = "dense"
"""Where vectors stand in the folder of an index."""
DEFAULT = "default"


def add_encoder_option(parser: argparse.ArgumentParser, default: str) -> None:
    """Add ``--encoder``."""
    parser.add_argument(
        "--encoder",
        metavar="NAME",
        help=f"what makes vectors: a bundle with a bi-encoder, or a sentence encoder's folder or hub name {default}",
    )


def open_encoder(which: str) -> Vectoriser:
    """The encoder of a bundle's first bi-encoder, as the bundle reads it, or of a checkpoint.

    Raises:
        ArtefactError: a bundle without a bi-encoder, or neither a bundle nor a checkpoint.
    """
    from mpir.perspectives.bi_encoder import BiEncoderPerspective
    from mpir.perspectives.bundle import MANIFEST, SHIPPED, open_bundle

    if not (Path(which) / MANIFEST).is_file() and not (SHIPPED / which / MANIFEST).is_file():
        from mpir.models.encoder import Encoder

        return PooledEncoder(Encoder(which))
    bundle = open_bundle(which if (SHIPPED / which / MANIFEST).is_file() else Path(which))
    for one in bundle.perspectives():
        if isinstance(one, BiEncoderPerspective):
            return PooledEncoder(one.encoder, one.pooling)
    raise ArtefactError(
        f"the bundle {which!r} has no bi-encoder, so it makes no vectors; name a sentence encoder with --encoder, "
        "such as the hub's sentence-transformers/all-MiniLM-L6-v2 or the folder of one."
    )


def open_dense(folder: str | Path, encoder: str | None) -> DenseIndex:
    """The vectors in the folder of an index, with the encoder that made them or the one that is named."""
    from mpir.retrieve.dense import DenseIndex, read_dense_info

    place = Path(folder) / DENSE_FOLDER
    opened = read_dense_info(place).source.get("encoder")
    return DenseIndex(place, open_encoder(encoder or opened or DEFAULT))


def dense_source(source: Mapping[str, Any], encoder: str) -> dict[str, Any]:
    """What the manifest of vectors says of where they came from."""
    return {**source, "encoder": encoder}

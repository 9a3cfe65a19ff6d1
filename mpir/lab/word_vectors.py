"""Word vectors in word2vec's format, which cannot contain code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mpir.errors import ArtefactError
from mpir.extras import needs
from mpir.files.checksum import read_json_with_checksum
from mpir.files.files import check_files

FILE, MADE_BY = "vectors.bin", "made_by.json"
"""The files of a vectors folder: the vectors, and how they were made."""


def vectors_file(path: str | Path) -> Path:
    """Return the file itself, or the vectors file of a folder that `mpir data vectors` wrote."""
    return Path(path) / FILE if Path(path).is_dir() else Path(path)


def read_word_vectors(path: str | Path) -> Any:
    """Read gensim's KeyedVectors from a vectors folder or a file (``.bin``, ``.txt``, ``.vec``, or gzipped).

    gensim's own format is refused, because it is pickled and reading it could run arbitrary code.

    Raises:
        ArtefactError: the file is missing or in another format.
        InputError: gensim is not installed.
    """
    with needs("sia", "reading word vectors"):
        from gensim.models import KeyedVectors

    file = vectors_file(path)
    if not file.is_file():
        raise ArtefactError(f"{file}: there are no word vectors; make some with `mpir data vectors`, or give a file.")
    name = file.name.removesuffix(".gz")
    if not name.endswith((".bin", ".txt", ".vec")):
        raise ArtefactError(
            f"{file}: is not in word2vec's format (.bin, .txt or .vec); if it is gensim's own, which may run code when "
            "it is read, load it yourself and write it with save_word2vec_format(…, binary=True)."
        )
    _check(file)
    try:
        return KeyedVectors.load_word2vec_format(str(file), binary=name.endswith(".bin"))
    except Exception as error:  # gensim raises many types while parsing
        raise ArtefactError(
            f"{file}: cannot be read as word vectors ({type(error).__name__}: {str(error)[:80]}); expected word2vec's "
            "format as .bin, .txt or .vec."
        ) from error


def _check(file: Path) -> None:
    """Compare vectors with the stored hash, if there is one.

    Raises:
        ArtefactError: the file has changed.
    """
    made_by = file.with_name(MADE_BY)
    if file.name == FILE and made_by.is_file():
        remedy = "train the vectors again"
        check_files(file.parent, read_json_with_checksum(made_by, remedy).get("files", {}), remedy, content=True)

"""Word vectors in word2vec's format, which nothing can hide in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mpir.errors import ArtefactError
from mpir.extras import needs
from mpir.io.checksum import read_json_with_checksum
from mpir.io.files import check_files

FILE, MADE_BY = "vectors.bin", "made_by.json"
"""What a folder of vectors calls them, and what they were made by."""


def vectors_file(path: str | Path) -> Path:
    """The file itself, or that of a folder that `mpir data vectors` has written."""
    return Path(path) / FILE if Path(path).is_dir() else Path(path)


def read_word_vectors(path: str | Path) -> Any:
    """gensim's KeyedVectors of a folder of vectors or a file (``.bin``, ``.txt``, ``.vec``, or gzipped).

    gensim's own format is refused: it is pickled, and reading it could run any code.

    Raises:
        ArtefactError: the file is missing or is none of these.
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
    except Exception as error:  # gensim raises whatever parsing runs into
        raise ArtefactError(
            f"{file}: cannot be read as word vectors ({type(error).__name__}: {str(error)[:80]}); expected word2vec's "
            "format as .bin, .txt or .vec."
        ) from error


def _check(file: Path) -> None:
    """Compare vectors with the hash that they were written with, where one is kept beside them.

    Raises:
        ArtefactError: the file has changed.
    """
    made_by = file.with_name(MADE_BY)
    if file.name == FILE and made_by.is_file():
        remedy = "train the vectors again"
        check_files(file.parent, read_json_with_checksum(made_by, remedy).get("files", {}), remedy, content=True)

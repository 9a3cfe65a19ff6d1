"""Compare a downloaded file with the MD5 that NLM publishes beside it, as ``pubmed26n0001.xml.gz.md5``."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import Path

from mpir.errors import InputError, format_value
from mpir.files.hash import file_state
from mpir.files.read import read_bytes

SUFFIX = ".md5"
_DIGEST = re.compile(rb"(?<![0-9a-fA-F])[0-9a-fA-F]{32}(?![0-9a-fA-F])")


def check_md5(file: Path) -> None:
    """Compare a file with the MD5 beside it, if there is one. A file is read once per process unless it changes.

    Raises:
        InputError: the file is incomplete or has changed, or what is beside it is no MD5.
    """
    published = file.with_name(file.name + SUFFIX)
    if published.is_file():
        _check(file, published, file_state(file), file_state(published))


@lru_cache(maxsize=65_536)
def _check(file: Path, published: Path, *_: tuple[int, ...]) -> None:
    content = read_bytes(published)
    expected = _DIGEST.search(content)
    if expected is None:
        raise InputError(
            f"{published}: has no MD5 (got {format_value(content[:60].decode(errors='replace'))}, expected 32 "
            "hexadecimal digits). Download it again, or remove it."
        )
    with open(file, "rb") as stream:
        actual = hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if actual != (digest := expected[0].decode().lower()):
        raise InputError(f"{file}: is incomplete or damaged (MD5 {actual}, expected {digest}). Download it again.")

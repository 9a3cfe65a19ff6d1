"""Read papers in PDF: the text of their pages, without running heads and references."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mpir.core.text.types import Document
from mpir.errors import InputError
from mpir.extras import needs
from mpir.files.limits import expansion_error, limit
from mpir.files.read import open_bytes

PDF = (".pdf",)
_EDGE = 2
"""Lines at the top and bottom of a page that may be running heads or page numbers."""
_OFTEN = 3
"""Number of pages from which a line that repeats there is a running head."""
_REFERENCES = re.compile(
    r"(?:\d{1,2}\.?\s+)?(?:references(?: and notes)?|bibliography|(?:literature|works) cited):?", re.IGNORECASE
)
_NUMBER = re.compile(r"\d+")
_OPERATORS_FREE, _CONTENT_FREE = 100_000, 2**23
"""Operators (a page has some 3,000) and bytes of content that any file may have; larger ones more, by their size."""


def read_pdf(path: str | Path) -> Iterator[Document]:
    """Yield a ``.pdf`` file as one document: its pages' lines as its text, and its name as its id.

    Lines that repeat at the top or bottom of three or more pages, ignoring numbers in them, are left out, and so is
    everything after the last heading "References" (or "Bibliography", …) of the second half. Hyphenated words and
    ligatures are kept, and resolved for reading (mpir/core/text/legible.py).

    Raises:
        InputError: not a PDF, a damaged or encrypted one, or one of scanned pages without text.
        MissingExtraError: pypdf is not installed.
    """
    pages = _pages(path)
    lines = _without_references(_without_heads(pages))
    if not any(lines):
        raise InputError(f"{path}: contains no text, perhaps because its pages are scanned; run OCR on it first.")
    yield Document(Path(path).name, "", "\n".join(lines))


def _pages(path: str | Path) -> list[list[str]]:
    """Return the lines of each page."""
    with needs("pdf", "reading PDF files"):
        from pypdf import PdfReader
        from pypdf.errors import FileNotDecryptedError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it repairs many files by itself
    with open_bytes(path) as stream:
        try:
            reader = PdfReader(stream)
            bounds = _Bounds(str(path), size=stream.seek(0, 2))
            pages = ((line.strip() for line in bounds.text_of(page).splitlines()) for page in reader.pages)
            return [list(filter(None, lines)) for lines in pages]
        except (InputError, MemoryError):
            raise
        except FileNotDecryptedError as error:
            raise InputError(f"{path}: is protected by a password; save a copy without one.") from error
        except Exception as error:  # a damaged file makes pypdf raise nearly anything
            raise InputError(f"{path}: is not a valid PDF file ({error}); download it again.") from error


class _Bounds:
    """Counts what is read of a file, because all of its pages may show one stream, or a form that shows others."""

    def __init__(self, path: str, size: int) -> None:
        self._path, self._ratio = path, limit("MPIR_MAX_EXPANSION")
        self._operators = max(_OPERATORS_FREE, self._ratio * size // 200)
        self._content = max(_CONTENT_FREE, self._ratio * size)

    def text_of(self, page: Any) -> str:
        """Return a page's text. Raises InputError where the file has more content or operators than its size allows."""
        contents = page.get_contents()
        self._content -= 0 if contents is None else len(contents.get_data())
        self._check()
        text: str = page.extract_text(visitor_operand_before=self._count)
        return text

    def _count(self, *_: Any) -> None:
        self._operators -= 1
        self._check()

    def _check(self) -> None:
        if min(self._operators, self._content) < 0:
            raise expansion_error(self._path, self._ratio)


def _without_heads(pages: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of all pages without running heads."""
    edges = [{_NUMBER.sub("#", line) for line in (*page[:_EDGE], *page[-_EDGE:])} for page in pages]
    often = {line for line, count in Counter(line for edge in edges for line in edge).items() if count >= _OFTEN}
    return [
        line
        for page in pages
        for position, line in enumerate(page)
        if _EDGE <= position < len(page) - _EDGE or _NUMBER.sub("#", line) not in often
    ]


def _without_references(lines: list[str]) -> list[str]:
    """Return the lines before the list of references, if there is one."""
    headings = [number for number, line in enumerate(lines) if 2 * number > len(lines) and _REFERENCES.fullmatch(line)]
    return lines[: headings[-1]] if headings else lines

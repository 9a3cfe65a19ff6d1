"""Read BibTeX, an export format of Web of Science, Scopus, Google Scholar, Zotero, JabRef and others."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.core.text.types import Document
from mpir.errors import InputError, error_context, shortened
from mpir.extras import needs
from mpir.files.corpora.fields import document_of, field_name
from mpir.files.corpora.unread import report_unread
from mpir.files.read import place_of, read_text

if TYPE_CHECKING:
    from bibtexparser.model import Block, Entry

_BRACE = re.compile(r"(?<!\\)[{}]")
_COMMAND = re.compile(r"[\\$]|``|''|---?|~")
_UNESCAPED = re.compile(r"(?<!\\)((?:\\\\)*)([%&])")
"""Characters that LaTeX reads as a comment or a column separator; many programs do not escape them."""
_FIELD = re.compile(r"^[\s%]*(?:title|abstract)\s*=", re.MULTILINE | re.IGNORECASE)
_LONGEST_LATEX = 100_000
"""Maximum characters of a field with LaTeX commands: decoding takes a thousand bytes of memory for each."""
log = logging.getLogger(__name__)


def read_bibtex(path: str | Path) -> Iterator[Document]:
    """Yield the entries of a ``.bib`` file; bibtexparser reads the whole file into memory.

    The id is the PMID or Web of Science's Unique-ID, else the DOI, else the entry's key, which identifies it within its
    own file only. Braces are removed from titles and abstracts, and LaTeX commands are replaced by characters. Entries
    with a repeated key or field are accepted. Text between entries is skipped; if it looks like an entry, its line is
    logged.

    Raises:
        InputError: an unclosed entry (the message has file and line), no entry at all, or a file that is too large.
        MissingExtraError: bibtexparser is not installed.
    """
    return report_unread(path, _documents(path))


def _documents(path: str | Path) -> Iterator[tuple[Document, Mapping[str, str]]]:
    with needs("formats", "reading BibTeX"):
        from bibtexparser.entrypoint import parse_string
        from bibtexparser.middlewares import RemoveEnclosingMiddleware, ResolveStringReferencesMiddleware

    logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)  # blocks that it cannot read raise InputError here
    stack = [ResolveStringReferencesMiddleware(True), RemoveEnclosingMiddleware(True)]
    library = parse_string(read_text(path), parse_stack=stack)
    empty = True
    for block in library.blocks:
        if (entry := _entry(block, path)) is not None:
            empty = False
            values = {field.key: str(field.value) for field in entry.fields}
            with error_context(place_of(path, _line(entry))):
                names = {field_name(name): _plain(text) for name, text in values.items()}
            yield document_of({"citationkey": entry.key, **names}, f"{Path(path).name}:{_line(entry)}"), values
    if empty:
        raise InputError(f'{path}: no BibTeX entries found; expected entries such as "@article{{key, title = {{…}}}}".')


def _entry(block: Block, path: str | Path) -> Entry | None:
    """Return the entry in a block, or None for a comment or string. Raises InputError for an invalid block."""
    from bibtexparser.model import Entry, ImplicitComment, ParsingFailedBlock

    if isinstance(block, ImplicitComment) and _FIELD.search(block.comment):
        location = place_of(path, _line(block))
        log.warning('%s: text outside entries is ignored; begin an entry with "@article{key,"', location)
    if isinstance(block, ParsingFailedBlock):
        inner: Any = block.ignore_error_block
        if not isinstance(inner, Entry):
            reason = shortened(str(block.error))
            raise InputError(
                f"{place_of(path, _line(block))}: invalid BibTeX entry ({reason}); look for a brace or quotation mark "
                "that is not closed."
            )
        return inner
    return block if isinstance(block, Entry) else None


def _line(block: Block) -> int:
    return (block.start_line or 0) + 1


def _plain(text: str) -> str:
    """Return a field's text in one line, without braces and LaTeX commands. Raises InputError for too much LaTeX."""
    if _COMMAND.search(text):
        text = _decoded(_UNESCAPED.sub(r"\1\\\2", text))
        text = text.replace(r"\%", "%").replace(r"\&", "&")  # inside formulas, which are kept
    return " ".join(_BRACE.sub("", text).split()).strip('"')


def _decoded(latex: str) -> str:
    from pylatexenc.latex2text import LatexNodes2Text

    if len(latex) > _LONGEST_LATEX:
        raise InputError(
            f"a field with LaTeX commands has {len(latex):,} characters (expected up to {_LONGEST_LATEX:,}); "
            "shorten it, or remove its commands."
        )
    try:
        text: str = LatexNodes2Text(math_mode="verbatim", strict_latex_spaces=False).latex_to_text(latex)
        return text
    except RecursionError as error:
        raise InputError("a field's LaTeX is nested too deeply; remove its commands.") from error

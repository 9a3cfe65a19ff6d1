"""The lines of tagged reference files, in which a line begins with a tag and other lines continue it.

One machine reads PubMed's format, RIS, Web of Science's and EndNote's Refer format; references.py has their tags.
rispy and nbib are not used, because they drop tags before TY, stop at an unclosed record, lose line numbers, and hold
the whole file in memory.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mpir.files.limits import limit_bytes, too_large
from mpir.files.read import place_of, read_lines

Fields = dict[str, list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Syntax:
    """The syntax of a tagged format.

    Attributes:
        tag: the pattern of a line with a tag (its first group) and a value (its second one).
        begins: whether a tag, of those in `may_begin` or after a blank line, begins the next record; its arguments are
            the tag, the record so far, and whether a blank line precedes.
        may_begin: tags that begin a record without a blank line.
        last: the tag that ends a record, or "".
        around: tags that describe the file.
        keeps_blank: whether a text may go on after a blank line, judged by the record so far.
        is_text: whether a line that looks like a tag is text, judged by the tag and the record so far.
        listed: tags whose further lines are values of their own.
        lined: tags whose lines are kept apart.
        names: the tags' fields (fields.py), judged by the record.
        example: two tags, for a message.
    """

    tag: re.Pattern[str]
    begins: Callable[[str, Fields, bool], bool]
    may_begin: frozenset[str]
    last: str
    around: frozenset[str] = frozenset()
    keeps_blank: Callable[[Fields], bool] = lambda fields: True
    is_text: Callable[[str, Fields], bool] = lambda tag, fields: False
    listed: frozenset[str] = frozenset()
    lined: frozenset[str] = frozenset()
    names: Callable[[Fields], Mapping[str, str]]
    example: str


def records(path: str | Path, syntax: Syntax) -> Iterator[tuple[int, Fields]]:
    """Yield the first line of each record, and its values by tag, each in one line.

    Raises:
        InputError: the file cannot be read, or a record is longer than ``MPIR_MAX_RECORD_MB``.
    """
    begin, fields, values, continued = 0, _new(), list[str](), list[str]()
    size, longest, after_blank = 0, limit_bytes("MPIR_MAX_RECORD_MB"), False
    match, begins, may_begin, last, tag = syntax.tag.match, syntax.begins, syntax.may_begin, syntax.last, ""
    for number, line in read_lines(path, old_ends=True, old_encodings=True):
        size += len(line)
        if size > longest:
            raise too_large(place_of(path, begin), "the reference", "MPIR_MAX_RECORD_MB")
        tagged = match(line)
        if not tagged or (len(tagged[1]) > 2 and syntax.is_text(tagged[1], fields)):
            text = line.strip()
            behind = after_blank and not syntax.keeps_blank(fields)
            if values and text and not behind:
                continued.append(text)
            after_blank = not text or behind
            continue
        if continued:
            _append(values, continued, tag, syntax)
        tag, value = tagged.groups()
        if fields and (tag == last or ((after_blank or tag in may_begin) and begins(tag, fields, after_blank))):
            yield begin, fields
            size, fields = 0, _new()
        after_blank = False
        if tag == last or tag in syntax.around:
            values = []
            continue
        if not fields:
            begin = number
        values = fields[tag]
        values.append((value or "").strip())
    if fields:
        _append(values, continued, tag, syntax)
        yield begin, fields


def _new() -> Fields:
    return defaultdict(list)


def _append(values: list[str], continued: list[str], tag: str, syntax: Syntax) -> None:
    """Append continuation lines to a tag's values, or to the last value, and clear them."""
    if tag in syntax.listed:
        values.extend(continued)
    elif continued:
        values[-1] = ("\n" if tag in syntax.lined else " ").join((values[-1], *continued)).strip()
    continued.clear()

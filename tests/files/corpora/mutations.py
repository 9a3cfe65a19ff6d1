"""Mutations of exports: some change no record, others damage the records that they touch."""

from __future__ import annotations

import gzip
from collections import Counter
from dataclasses import dataclass

from hypothesis import strategies as st

from tests.files.corpora.exports import FORMATS, Paper, papers, styles

HOSTILE = [
    *(b'"', b"{", b"}", b"<", b"&", b"\0", b"\r", b"\n\n", b"\t", b"\x85", b"\xe9", b"\xff\xfe", b"\xef\xbb\xbf", b"%"),
    *(b"ER  - \n", b"TY  - JOUR\n", b"\nER\n", b"\nPT J\n", b"EF\n", b"PMID- 9\n", b"@article{x,\n", b"@comment{"),
    *(b"]]>", b"<![CDATA[", b"<!--", b"</PubmedArticleSet>", b"\xe2\x80\xa8", b"\\", b"$", b",,\n", b";" * 500),
    b"a " * 5000,
]


@dataclass(frozen=True, slots=True)
class Export:
    """A file, and the papers whose records in it are undamaged, each as often as the file should give it."""

    name: str
    content: bytes
    undamaged: list[Paper]
    is_damaged: bool


@dataclass(slots=True)
class _Piece:
    text: bytes
    paper: Paper | None = None


@dataclass(slots=True)
class _Damage:
    """The bytes from `begin` to `end` are replaced."""

    begin: int
    end: int
    replacement: bytes = b""


@st.composite
def exports(draw: st.DrawFn, format_name: str) -> Export:
    """An export, mutated."""
    suffix, write = FORMATS[format_name]
    written = draw(papers)
    head, *records, tail = write(written, draw(styles))
    pieces = draw(_repeated([(head, None), *zip(records, written, strict=True), (tail, None)], suffix))
    encoded = draw(_encoded(pieces))
    content = b"".join(piece.text for piece in encoded)
    damages = sorted(draw(st.lists(_damages(content), max_size=2)), key=lambda damage: damage.begin)
    damages = [damage for damage in damages if damage is damages[0] or damage.begin >= damages[0].end]
    undamaged = _undamaged(encoded, damages)
    for damage in reversed(damages):
        content = content[: damage.begin] + damage.replacement + content[damage.end :]
    name = f"export{draw(st.sampled_from([suffix, suffix, '.txt', '.dat']))}"
    if suffix == ".xml":  # a later version, even a damaged one, replaces a record
        copies = Counter(paper for _, paper in pieces)
        undamaged = [paper for paper, number in Counter(undamaged).items() if number == copies[paper]]
    match draw(st.sampled_from(["plain", "plain", "plain", "plain", "plain", "packed", "packed", "damaged"])):
        case "packed":
            return Export(f"{name}.gz", gzip.compress(content, 1), undamaged, bool(damages))
        case "damaged":
            packed = bytearray(gzip.compress(content, 1))
            packed[draw(st.integers(0, len(packed) - 1))] ^= draw(st.integers(1, 255))
            return Export(f"{name}.gz", bytes(packed[: draw(st.integers(1, len(packed)))]), [], True)
        case _:
            return Export(name, content, undamaged, bool(damages))


_Texts = list[tuple[str, Paper | None]]


@st.composite
def _repeated(draw: st.DrawFn, pieces: _Texts, suffix: str) -> _Texts:
    """The pieces, some of them twice: a record, or the whole file but for what a table has before its header."""
    how = draw(st.sampled_from(["once", "once", "record", "file"]))
    if how == "once":
        return pieces
    if how == "record":
        first, after = draw(st.integers(1, len(pieces) - 2)), draw(st.integers(1, len(pieces) - 1))
        return [*pieces[:after], pieces[first], *pieces[after:]]
    head = pieces[0][0]
    return [*pieces, (head[head.rfind("\n", 0, -1) + 1 :] if suffix in (".csv", ".tsv") else head, None), *pieces[1:]]


@st.composite
def _encoded(draw: st.DrawFn, pieces: _Texts) -> list[_Piece]:
    """The pieces in some encoding, with some line ends, and perhaps with white space at their ends."""
    newline = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    trailing = draw(st.sampled_from(["", "", "\n\n", " "]))
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "cp1252"]))
    text = "".join(text for text, _ in pieces)
    if encoding == "cp1252" and text.encode(encoding, errors="ignore").decode(encoding) != text:
        encoding = "utf-8"
    if encoding.startswith("utf-16") and text.count("<?xml") > 1:  # which is refused
        encoding = "utf-8"
    declared = encoding.removesuffix("-sig").removesuffix("-le").removesuffix("-be").replace("cp", "windows-")
    encoded = []
    for number, (text, paper) in enumerate(pieces):
        mark = "\ufeff" if number == 0 and encoding not in ("utf-8", "cp1252") else ""
        written = mark + text.replace("ENCODING", declared) + (trailing if number == len(pieces) - 1 else "")
        encoded.append(_Piece(written.replace("\n", newline).encode(encoding.removesuffix("-sig")), paper))
    return encoded


@st.composite
def _damages(draw: st.DrawFn, content: bytes) -> _Damage:
    """A damage to some bytes, a line or two, or all that follows."""
    begin = draw(st.integers(0, len(content) - 1))
    end = min(len(content), begin + draw(st.integers(1, 60)))
    first, after = content.rfind(b"\n", 0, begin) + 1, (content.find(b"\n", begin) + 1) or len(content)
    source = draw(st.integers(0, len(content) - 1))
    damages = {
        "byte": _Damage(begin, begin + 1, bytes([draw(st.integers(0, 255))])),
        "bytes": _Damage(begin, end),
        "cut": _Damage(begin, len(content)),
        "insert": _Damage(begin, begin, draw(st.sampled_from(HOSTILE))),
        "copy": _Damage(begin, begin, content[source : source + 7 * (end - begin)]),
        "line": _Damage(first, after),
        "double": _Damage(after, after, content[first:after]),
        "tag": _Damage(first, min(first + 2, after), draw(st.sampled_from([b"XX", b"TI", b"ER", b"<a", b"@x"]))),
    }
    return damages[draw(st.sampled_from(list(damages)))]


def _undamaged(pieces: list[_Piece], damages: list[_Damage]) -> list[Paper]:
    """The papers whose records no damage touches, nor two of them enclose; none where the file's head is damaged."""
    if not damages:
        return [piece.paper for piece in pieces if piece.paper]
    first, last = min(damage.begin for damage in damages) - 4, max(damage.end for damage in damages) + 4
    undamaged, offset = list[Paper](), 0
    for number, piece in enumerate(pieces):
        begin, offset = offset, offset + len(piece.text)
        is_touched = first < offset and begin < last
        if is_touched and number == 0 and piece.text:
            return []
        undamaged += [piece.paper] if piece.paper and not is_touched else []
    return undamaged

"""Read references in tagged formats: PubMed's own, RIS, Web of Science's and EndNote's Refer format.

    PMID- 17284678              TY  - JOUR            FN Clarivate …      %0 Journal Article
    TI  - A title that goes     TI  - A title         PT J                %A Doe, J.
          on here               AB  - An abstract     TI A title          %T A title
    AB  - An abstract           DO  - 10.1000/182     UT WOS:0002000      %X An abstract
                                ER  -                 ER                  %R 10.1000/182

PubMed's format is defined in "MEDLINE/PubMed Data Element (Field) Descriptions" (NLM), RIS in "RIS Format
Specifications" (Research Information Systems); Embase, Scopus, the Cochrane Library, EndNote, Zotero and others export
RIS. tagged.py reads the lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from mpir.core.text.legible import without_markup
from mpir.core.text.types import Document
from mpir.errors import InputError
from mpir.files.corpora.field_values import Value
from mpir.files.corpora.fields import BODIES, TEXTS
from mpir.files.corpora.identifiers import doi_of
from mpir.files.corpora.placeholders import says_nothing
from mpir.files.corpora.record import document_of
from mpir.files.corpora.screening_tools import list_field
from mpir.files.corpora.source_fields import fields_of_tags, own_notes
from mpir.files.corpora.tagged import Fields, Syntax, records
from mpir.files.corpora.unread_fields import report_unread

_FIRST = ("PMID", "TY")
_IDS = ("DO", "LID", "AID", "AN", "ID")
_TEXT_TAGS = ("TI", "T1", "TT", "BTI", "AB", "N2", "OAB")
_SINGLE = frozenset(("UI", "VN", "AN", "ID", "TI", "T1", "DB", "ST"))
"""Tags that begin the next reference where they begin this one, if no TY, ER or blank line does."""
_SINGLE_OF_RIS = frozenset(("AN", "TI", "T1"))
"""Tags of RIS that begin the next reference behind an abstract, if this one has them and no ER ended it."""
_SPLIT = frozenset(("de", "keywordsplus", "dt"))
"""Fields of several values in one text."""


def _same_names(tags: str) -> dict[str, str]:
    """Return tags that fields.py knows in lower case."""
    return {tag: tag.lower() for tag in tags.split()}


_RIS = {
    **_same_names("AN DO LID AID TI T1 TT BTI AB N2 OAB AU A1 PY Y1 DA JF JO T2 JA J2 VL IS SP EP LA KW M3 SN PB UR"),
    **_same_names("DB C2 C3 C7 PM N1"),
    **{"ID": "referenceid", "DP": "databaseprovider", "L2": "link", "U2": "pui", "PT": "publicationtype"},
    **{"TY": "referencetype"},
}
_MEDLINE = {
    **_same_names("PMID LID AID TI TT BTI AB OAB FAU AU DP DEP JT TA VI IP"),
    **_same_names("PG LA MH OT PT PMC SI DB AN DO SO UR KW PB"),
    **{"UI": "uniqueidentifier", "IS": "issn", "OID": "an", "ID": "referenceid", "N2": "n2", "T1": "t1", "JN": "jt"},
    **{"RIN": "retractionin", "CN": "groupauthors"},
}
_WOS = {
    **_same_names("TI AB DI UT PM AU AF SO JI PY PD EA EY VL IS BP EP AR LA DT"),
    **{"CA": "groupauthors", "DE": "de", "ID": "keywordsplus", "SN": "sn", "PU": "pu", "PT": "referencetype"},
}
_REFER = {
    **{"%T": "title", "%X": "abstract", "%R": "doi", "%M": "accessionnumber", "%F": "citationkey", "%A": "author"},
    **{"%D": "year", "%8": "date", "%J": "journal", "%B": "booktitle", "%V": "volume", "%N": "issue", "%P": "pages"},
    **{"%K": "keywords", "%G": "language", "%U": "url", "%@": "issn", "%I": "publisher", "%9": "dt", "%2": "pmcid"},
    **{"%0": "referencetype", "%~": "database", "%W": "databaseprovider", "%Z": "notes"},
}
_REFER_KEPT = {
    **{
        "%Z": "notes",
        "%<": "research-notes",
        "%L": "call-num",
        "%+": "auth-address",
        "%E": "editor",
        "%!": "short-title",
    },
    **{"%1": "custom1", "%3": "custom3", "%4": "custom4", "%#": "custom5", "%$": "custom6", "%7": "edition"},
}
"""EndNote's names of the fields of its Refer format that are kept, as in its XML; others go by their tags."""


_PMID_TAGS = {"embase": "C5", "scopus": "C2"}
"""Tags of RIS in which these databases write the PMID; in Zotero's RIS, C2 is the PMCID."""


def _is_number(texts: Sequence[str]) -> bool:
    return all(text.isdecimal() for text in texts)


def _names_of_reference(fields: Fields) -> Mapping[str, str]:
    """Return the tags of RIS for a reference with TY, else those of PubMed's and Ovid's formats."""
    if "TY" not in fields and ("PMID" in fields or "UI" in fields or _has_long_tags(fields)):
        return _MEDLINE if "DB" in fields else {**_MEDLINE, "UI": "medlinepmid"}
    databases = " ".join(fields.get("DB", ())).lower()
    tag = next((tag for database, tag in _PMID_TAGS.items() if database in databases), "")
    return {**_RIS, tag: "medlinepmid"} if tag and _is_number(fields.get(tag, ())) else _RIS


def _has_long_tags(fields: Fields) -> bool:
    """Whether a reference is in PubMed's format, whose tags have up to four letters; RIS has two."""
    return len(next(iter(fields), "")) > 2


def _begins_reference(tag: str, fields: Fields, after_blank: bool) -> bool:
    """Whether a tag begins the next reference although no ER ended this one.

    A reference has one PMID or TY, which need not come first. After a blank line, a PMID or TY begins the next
    reference if this one has a text or an id, and so does a repeated tag. RIS allows blank lines in an abstract, so
    this does not apply to references with TY.
    """
    has_text = any(name in fields for name in _TEXT_TAGS)
    if tag in _FIRST:
        return tag in fields or (after_blank and (has_text or any(name in fields for name in (*_FIRST, *_IDS))))
    if not has_text or tag not in fields:
        return False
    if "TY" in fields:
        return tag in _SINGLE_OF_RIS and any(name in fields for name in ("AB", "N2"))
    return after_blank or (tag in _SINGLE and tag == next(iter(fields)))


def _is_text(tag: str, fields: Fields) -> bool:
    """Whether an apparent tag of RIS is text ("AIM - To learn …"), because its tags have two characters."""
    return len(tag) > 2 and tag != "PMID" and bool(fields) and not _has_long_tags(fields)


def _begins_record(first: str, tag: str, fields: Fields, after_blank: bool) -> bool:
    return tag in fields and (tag == first or after_blank)


REFERENCES = Syntax(
    tag=re.compile(r"(?=.{4}-)([A-Z][A-Z0-9]{1,3}) *-(?: |$)(.*)"),
    begins=_begins_reference,
    may_begin=_SINGLE.union(_FIRST),
    last="ER",
    keeps_blank=lambda fields: not _has_long_tags(fields),  # only RIS allows blank lines inside a text
    is_text=_is_text,
    listed=frozenset(("KW",)),
    lined=frozenset(("N1",)),
    names=_names_of_reference,
    example='"PMID- 17284678" (PubMed) or "TY  - JOUR" (RIS); export it again in one of these formats',
)
WEB_OF_SCIENCE = Syntax(
    tag=re.compile(r"([A-Z][A-Z0-9])(?: (.*)|$)"),
    begins=partial(_begins_record, "PT"),
    may_begin=frozenset(("PT",)),
    last="ER",
    around=frozenset(("FN", "VR", "EF")),
    listed=frozenset(("AU", "AF", "CA")),
    names=lambda fields: _WOS,
    example='"PT J" and "TI A title"',
)
REFER = Syntax(
    tag=re.compile(r"(%[0-9A-Z@!#$&(*+<=>?^~\[])(?: (.*)|$)"),
    begins=partial(_begins_record, "%0"),
    may_begin=frozenset(("%0",)),
    last="",
    listed=frozenset(("%K",)),
    lined=frozenset(("%Z", "%<")),
    names=lambda fields: _REFER,
    example='"%0 Journal Article" and "%T A title"',
)


def read_references(path: str | Path) -> Iterator[Document]:
    """Stream the references of a file in PubMed's format or RIS, with title and abstract on one line each.

    The id is the PMID or, in RIS, the first of accession number, DOI and ID that is not blank; without any, it is
    a hash of its words. The accession number and ID of a record whose DB is MEDLINE or
    PubMed are PMIDs. A reference ends at ER, so its tags may come in any order. Untagged text before the first
    reference is skipped.

    Raises:
        InputError: the file has no reference, or cannot be read.
    """
    return read_tagged(path, REFERENCES)


def read_tagged(path: str | Path, syntax: Syntax) -> Iterator[Document]:
    """Stream the references of a file in a tagged format; errors are those of `read_references`.

    The id is the PMID, else UT, else the DOI of WEB_OF_SCIENCE, and %M, else the DOI, else %F of REFER.
    """
    empty = True
    for document in report_unread(path, _documents(path, syntax)):
        empty = False
        yield document
    if empty:
        raise InputError(f"{path}: no references found; expected lines such as {syntax.example}.")


def _documents(path: str | Path, syntax: Syntax) -> Iterator[tuple[Document, Mapping[str, Sequence[str]]]]:
    for _, fields in records(path, syntax):
        names = syntax.names(fields)
        values = {names[tag]: _value(names[tag], texts) for tag, texts in fields.items() if tag in names}
        kept = (
            fields_of_tags(fields, names) if syntax is REFERENCES else _kept_of_refer(fields) if syntax is REFER else {}
        )
        kept |= list_field(path, (note.partition(":")[0] for note in fields.get("N1", ())))
        document = document_of(values, kept)
        yield document, {tag: texts for tag, texts in fields.items() if tag not in names}


def _kept_of_refer(fields: Fields) -> dict[str, str]:
    """Return the notes and the fields that mpir does not read, by EndNote's names."""
    texts = {tag: own_notes("\n".join(texts)) for tag, texts in fields.items() if tag == "%Z" or tag not in _REFER}
    return {_REFER_KEPT.get(tag, tag): text for tag, text in texts.items() if text}


_BODIES = frozenset(BODIES)


def _value(name: str, texts: list[str]) -> Value:
    """Return a field's value: all paragraphs of an abstract, a title that is not a placeholder, or a list.

    Titles and abstracts that publishers exported as HTML are read as their text.
    """
    if name in TEXTS:
        texts = [without_markup(text).strip() for text in texts]
    if name in _BODIES:
        return texts[0] if len(texts) == 1 else " ".join(text for text in texts if not says_nothing(text))
    if name in TEXTS or (len(texts) == 1 and name in _SPLIT):
        return next((text for text in texts if not says_nothing(text)), "")
    if name == "m3":  # some programs write the DOI there
        return [text for text in texts if not doi_of(text)] or texts
    return texts

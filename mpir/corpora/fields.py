"""Names of fields in files of documents: one list for every reader, whatever the case and punctuation of a name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

from mpir.corpora.identifiers import ListId, clean_id, names_of, pmid_of
from mpir.corpora.placeholders import says_nothing
from mpir.text.types import Document

PMIDS = ("pmid", "pubmedid", "medlinepmid", "pubmed", "pm")
DOIS = ("doi", "di", "do", "digitalobjectidentifier", "doilink", "doiurl", "articledoi", "electronicresourcenum")
COLLECTION_IDS = ("corduid", *PMIDS, "id", "_id", "docid", "docno", "documentid", "uid")
"""Names of ids that a collection gives, the best first; TREC-COVID's judgements name documents by cord_uid."""
LIST_IDS = (
    *("recordid", "key", "accessionnumber", "accessionnum", "an", "nctid", "nctnumber", "eid", "ut", "utuniquewosid"),
    *("uniquewosid", "uniqueid", "lensid", "publicationid", "paperid", *DOIS, "pui", "pmcid", "embaseaccessionid"),
    *("citationkey", "referenceid", "recnumber"),
)
"""Names of ids that databases and reference managers give."""
IDS = (*COLLECTION_IDS, *LIST_IDS)
TITLES = (
    *("title", "articletitle", "documenttitle", "primarytitle", "papertitle", "titleprimary", "titleenglish"),
    *("englishtitle", "titleen", "studytitle", "brieftitle", "officialtitle", "publishedtitle", "displayname"),
    *("ti", "t1", "tt", "bti", "originalnonenglishtitle", "originaltitle", "vernaculartitle"),
)
BODIES = (
    *("abstract", "text", "contents", "content", "pagecontent", "body", "abstracttext", "abstractnote"),
    *("notesabstract", "articleabstract", "documentabstract", "paperabstract", "abstractenglish", "englishabstract"),
    *("abstracten", "ab", "n2", "oab", "summary", "abstractsummary", "briefsummary", "description"),
    *("detaileddescription", "fulltext", "bodytext", "passage", "sentences"),
    *("originalnonenglishabstract", "originalabstract"),
)
KNOWN = frozenset((*IDS, *TITLES, *BODIES))
_LOCAL = frozenset(("id", "_id", "recordid", "key", "an", "accessionnumber", "accessionnum"))
"""Names under which a small number is a place in a list: reference managers count from 1."""
_ALWAYS_LOCAL = frozenset(("citationkey", "referenceid", "recnumber"))
_SMALL_NUMBER = re.compile(r"\d{1,6}")
_PUNCTUATION = re.compile(r"[\W_]+")


@lru_cache(maxsize=2**12)
def field_name(name: str) -> str:
    """A field's name as the lists of this module have it: "Document Title" and "document_title" are documenttitle.

    MongoDB's "_id" keeps its underscore, as some records have an "id" beside it.
    """
    return "_id" if name == "_id" else _PUNCTUATION.sub("", name.lower())


def document_of(values: Mapping[str, str], fallback_id: str, dois: Iterable[str] = ()) -> Document:
    """The document that a record describes.

    Args:
        values: the record's texts under the names that `field_name` gives, white space at their ends removed.
        fallback_id: the id of a record without one, such as its file and line.
        dois: further texts that may hold a DOI, but are no ids.
    """
    name = next((name for name in IDS if name in values and not says_nothing(values[name])), "")
    identity = clean_id(values[name], is_pmid=name in PMIDS) if name else fallback_id
    if not name or name in _ALWAYS_LOCAL or (name in _LOCAL and _SMALL_NUMBER.fullmatch(identity)):
        identity = ListId(identity)
    names = names_of(pmid_in(values, name), chain((values[name] for name in DOIS if name in values), dois))
    return Document(identity, first_text(values, TITLES), first_text(values, BODIES), metadata=names)


def first_text(values: Mapping[str, str], names: Sequence[str]) -> str:
    """The first text under one of these names that says something, or ""."""
    for name in names:
        if name in values and not says_nothing(values[name]):
            return values[name]
    return ""


def pmid_in(values: Mapping[str, str], id_name: str) -> str:
    """The PMID of a record: under one of its names, or with its prefix under the name of the record's id."""
    return pmid_of(first_text(values, PMIDS)) or pmid_of(values.get(id_name, ""), prefixed=True)


def telling_key(record: Mapping[Any, Any], names: Sequence[str]) -> Any:
    """The key of a record that has one of these names, in any case, and says something.

    Of several the first name counts. Where none says something, it is the first that is there; None where none is.
    """
    keys: dict[str, list[Any]] = {}
    for key, value in record.items():
        if value is not None and isinstance(key, str):
            keys.setdefault(field_name(key), []).append(key)
    present = [key for name in names for key in keys.get(name, ())]
    return next((key for key in present if not _is_blank(record[key])), present[0] if present else None)


def _is_blank(value: Any) -> bool:
    return isinstance(value, str) and says_nothing(value)

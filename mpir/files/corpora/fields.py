"""Field names in document files: one list for all readers, independent of case and punctuation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from itertools import chain
from typing import Any, NamedTuple

from mpir.core.text.types import Document
from mpir.files.corpora.identifiers import ListId, clean_id, names_of, pmid_of
from mpir.files.corpora.placeholders import says_nothing

PMIDS = ("pmid", "pubmedid", "medlinepmid", "pubmed", "pm")
DOIS = ("doi", "di", "do", "digitalobjectidentifier", "doilink", "doiurl", "articledoi", "electronicresourcenum")
COLLECTION_IDS = ("corduid", *PMIDS, "id", "_id", "docid", "docno", "documentid", "uid")
"""Names of a collection's ids, by preference; TREC-COVID's judgements use cord_uid."""
LIST_IDS = (
    *("recordid", "key", "accessionnumber", "accessionnum", "an", "nctid", "nctnumber", "eid", "ut", "utuniquewosid"),
    *("uniquewosid", "uniqueid", "lensid", "publicationid", "paperid", *DOIS, "pui", "pmcid", "embaseaccessionid"),
    *("citationkey", "referenceid", "recnumber"),
)
"""Names of ids in databases and reference managers."""
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
TEXTS = frozenset((*TITLES, *BODIES))
KNOWN = frozenset((*IDS, *TEXTS))
_LOCAL = frozenset(("id", "_id", "recordid", "key", "an", "accessionnumber", "accessionnum"))
"""Names under which a small number is a position in a list, which reference managers count from 1."""
_ALWAYS_LOCAL = frozenset(("citationkey", "referenceid", "recnumber"))
_SMALL_NUMBER = re.compile(r"\d{1,6}")
_FEW = 64
_NONE: Mapping[str, Any] = {}
_PUNCTUATION = re.compile(r"[\W_]+")


@lru_cache(maxsize=2**12)
def field_name(name: str) -> str:
    """Normalise a field name: "Document Title" and "document_title" become documenttitle.

    MongoDB's "_id" keeps its underscore, because some records also have an "id".
    """
    return "_id" if name == "_id" else _PUNCTUATION.sub("", name.lower())


def document_of(
    values: Mapping[str, str],
    fallback_id: str,
    dois: Iterable[str] = (),
    metadata: Mapping[str, Any] = _NONE,
) -> Document:
    """Build the document of a record.

    Args:
        values: the record's texts, stripped, by normalised field name (`field_name`).
        fallback_id: the id of a record that has none, such as its file and line.
        dois: further texts that may contain a DOI but are not ids.
        metadata: further metadata.
    """
    names = _by_rank(tuple(values))
    name = _first_telling(values, names.ids)
    text = values.get(name, "")
    pmid = next(filter(None, map(pmid_of, map(values.__getitem__, names.pmids))), "") or pmid_of(text, prefixed=True)
    identity = (pmid if name in PMIDS else "") or (clean_id(text) if name else fallback_id)
    if not name or name in _ALWAYS_LOCAL or (name in _LOCAL and _SMALL_NUMBER.fullmatch(identity)):
        identity = ListId(identity)
    title, body = _first_telling(values, names.titles), _first_telling(values, names.bodies)
    known = names_of(pmid, chain(map(values.__getitem__, names.dois), dois))
    return Document(identity, values.get(title, ""), values.get(body, ""), metadata={**known, **metadata})


_Names = tuple[str, ...]


class _Ranked(NamedTuple):
    """A record's field names for id, title, body, PMID and DOI, each by preference."""

    ids: _Names
    titles: _Names
    bodies: _Names
    pmids: _Names
    dois: _Names


@lru_cache(maxsize=2**10)  # the records of a file share a few sets of names
def _by_rank(names: _Names) -> _Ranked:
    lists = map(_ranks, (IDS, TITLES, BODIES, PMIDS, DOIS))
    return _Ranked(*(tuple(sorted(filter(ranks.__contains__, names), key=ranks.__getitem__)) for ranks in lists))


def _first_telling(values: Mapping[str, str], names: _Names) -> str:
    """Return the first of the names whose value in the record is not blank, or ""."""
    for name in names:
        if not says_nothing(values[name]):
            return name
    return ""


def telling_key(record: Mapping[Any, Any], names: tuple[str, ...]) -> Any:
    """Return the record's key for the first of these names, in any case, whose value is not blank.

    If all values are blank, return the first key that exists; None if there is none.
    """
    keys = _named_keys(tuple(record), names) if len(record) <= _FEW else _named_keys.__wrapped__(tuple(record), names)
    present = [key for key in keys if record[key] is not None]
    if len(present) < 2:
        return present[0] if present else None
    return next((key for key in present if not _is_blank(record[key])), present[0])


@lru_cache(maxsize=2**8)  # the records of a file share a few sets of keys
def _named_keys(keys: tuple[Any, ...], names: tuple[str, ...]) -> tuple[Any, ...]:
    """Return the keys that match one of these names, in the order of the names."""
    ranks = _ranks(names)
    return tuple(sorted((key for key in keys if _name(key) in ranks), key=lambda key: ranks[_name(key)]))


def _name(key: Any) -> str:
    return field_name(key) if isinstance(key, str) else ""


@cache
def _ranks(names: tuple[str, ...]) -> dict[str, int]:
    return {name: rank for rank, name in enumerate(names)}


def _is_blank(value: Any) -> bool:
    return isinstance(value, str) and says_nothing(value)

"""Names of fields in files of documents: one list for every reader, whatever the case and punctuation of a name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from itertools import chain
from typing import Any, NamedTuple

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
TEXTS = frozenset((*TITLES, *BODIES))
KNOWN = frozenset((*IDS, *TEXTS))
_LOCAL = frozenset(("id", "_id", "recordid", "key", "an", "accessionnumber", "accessionnum"))
"""Names under which a small number is a place in a list: reference managers count from 1."""
_ALWAYS_LOCAL = frozenset(("citationkey", "referenceid", "recnumber"))
_SMALL_NUMBER = re.compile(r"\d{1,6}")
_FEW = 64
_NONE: Mapping[str, Any] = {}
_PUNCTUATION = re.compile(r"[\W_]+")


@lru_cache(maxsize=2**12)
def field_name(name: str) -> str:
    """A field's name as the lists of this module have it: "Document Title" and "document_title" are documenttitle.

    MongoDB's "_id" keeps its underscore, as some records have an "id" beside it.
    """
    return "_id" if name == "_id" else _PUNCTUATION.sub("", name.lower())


def document_of(
    values: Mapping[str, str],
    fallback_id: str,
    dois: Iterable[str] = (),
    metadata: Mapping[str, Any] = _NONE,
) -> Document:
    """The document that a record describes.

    Args:
        values: the record's texts under the names that `field_name` gives, white space at their ends removed.
        fallback_id: the id of a record without one, such as its file and line.
        dois: further texts that may hold a DOI, but are no ids.
        metadata: what else is known of it.
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
    """Those of a record's names that are an id's, title's, body's, PMID's and DOI's, the best first."""

    ids: _Names
    titles: _Names
    bodies: _Names
    pmids: _Names
    dois: _Names


@lru_cache(maxsize=2**10)  # the records of a file have few sets of names
def _by_rank(names: _Names) -> _Ranked:
    lists = map(_ranks, (IDS, TITLES, BODIES, PMIDS, DOIS))
    return _Ranked(*(tuple(sorted(filter(ranks.__contains__, names), key=ranks.__getitem__)) for ranks in lists))


def _first_telling(values: Mapping[str, str], names: _Names) -> str:
    """The first of the names under which a record says something, or ""."""
    for name in names:
        if not says_nothing(values[name]):
            return name
    return ""


def telling_key(record: Mapping[Any, Any], names: tuple[str, ...]) -> Any:
    """The key of a record that has one of these names, in any case, and says something.

    Of several the first name counts. Where none says something, it is the first that is there; None where none is.
    """
    keys = _named_keys(tuple(record), names) if len(record) <= _FEW else _named_keys.__wrapped__(tuple(record), names)
    present = [key for key in keys if record[key] is not None]
    if len(present) < 2:
        return present[0] if present else None
    return next((key for key in present if not _is_blank(record[key])), present[0])


@lru_cache(maxsize=2**8)  # the records of a file have few sets of keys
def _named_keys(keys: tuple[Any, ...], names: tuple[str, ...]) -> tuple[Any, ...]:
    """The keys that have one of these names, in the order of the names."""
    ranks = _ranks(names)
    return tuple(sorted((key for key in keys if _name(key) in ranks), key=lambda key: ranks[_name(key)]))


def _name(key: Any) -> str:
    return field_name(key) if isinstance(key, str) else ""


@cache
def _ranks(names: tuple[str, ...]) -> dict[str, int]:
    return {name: rank for rank, name in enumerate(names)}


def _is_blank(value: Any) -> bool:
    return isinstance(value, str) and says_nothing(value)

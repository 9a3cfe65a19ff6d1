"""Build documents of records: id, title and body, and every bibliographic field and id as metadata."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from mpir.core.text.types import Document
from mpir.files.corpora.authors import authors_of, plain_author
from mpir.files.corpora.bibliography import (
    AUTHORS,
    JOURNAL,
    KEYWORDS,
    LANGUAGE,
    PAGES,
    RETRACTED,
    TYPES,
    YEAR,
    Bibliography,
    date_of,
    distinct_names,
    first_telling,
    reference_type_of,
    split_names,
)
from mpir.files.corpora.content import content_id
from mpir.files.corpora.fields import (
    ACCESSION_NUMBERS,
    BIBLIOGRAPHY,
    BODIES,
    DATABASES,
    DOIS,
    FURTHER_IDS,
    IDS,
    LINKS,
    NOTES,
    PMIDS,
    RANKED_ID,
    REMARKS,
    RETRACTIONS,
    TITLES,
    Value,
    ranks_of,
)
from mpir.files.corpora.identifiers import (
    AccessionNumber,
    ListId,
    clean_id,
    doi_of,
    pmid_in_link,
    pmid_of,
    registry_ids,
    split_ids,
)
from mpir.files.corpora.json_values import persons_or_names
from mpir.files.corpora.list_cells import objects_in
from mpir.files.corpora.notes import ids_in_note, trials_in_note
from mpir.files.corpora.placeholders import says_nothing, without_remarks
from mpir.files.corpora.retractions import is_retracted_title
from mpir.files.corpora.source_fields import SOURCE_FIELDS

_LOCAL = frozenset(("id", "_id", "recordid", "key", "itemid", *ACCESSION_NUMBERS))
"""Names under which a small number is a position in a list, which reference managers count from 1."""
_ALWAYS_LOCAL = frozenset(("citationkey", "referenceid", "recnumber"))
_OF_PUBMED = re.compile(r"medline|pubmed|\bnlm\b", re.IGNORECASE)
"""Databases whose accession numbers are PMIDs."""
_PMID_ELSEWHERE = (*ACCESSION_NUMBERS, "referenceid")
_OF_TRIALS = ("nctid", "nctnumber")
_SMALL_NUMBER = re.compile(r"\d{1,6}")
_DATABASE = re.compile(
    r"MED|PPR|PMC|AGR|CBA|ETH|HIR|PAT|(?:scopus|medline|pubmed|embase|wos|web of science)", re.IGNORECASE
)
_NO = frozenset(("false", "no", "n", "f", "0", "0.0", "not retracted"))
_BEFORE_PAGES = re.compile(r"^\s*pp?\.?\s*(?=\d)", re.IGNORECASE)
_RANGE = re.compile(r"([a-z]*)\d+-(?:\1)?\d+(?![\w-])", re.IGNORECASE)
_DASHES = re.compile(r"\s*[-–—]+\s*")
_NUMBER = re.compile(r"\d{7,12}")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])(?! )")
_ISSN = re.compile(r"(?<![\w-])(\d{4})-?(\d{3}[\dXx])(?![\w-])")


def document_of(values: Mapping[str, Value], source_fields: Mapping[str, Any] | None = None) -> Document:
    """Build the document of a record, with its bibliographic fields and ids as metadata.

    A record without an id gets one of its words (`content_id`).

    Args:
        values: the record's texts, stripped, by normalised field name (`field_name`); several values of a field are a
            list.
        source_fields: the fields to keep as the source has them (source_fields.py).
    """
    names = _by_rank(tuple(values))
    name = _first_telling(values, names.ids)
    text = _text(values[name]) if name else ""
    noted = _noted(values, names)
    pmid = _pmid(values, names, noted) or pmid_of(text, prefixed=True)
    if name == RANKED_ID or (pmid and text == pmid and name in PMIDS):  # the common case
        identity = text
    else:
        several = split_ids(text) if name in _PMID_ELSEWHERE else [text]
        identity = clean_id(several[0], is_pmid=name in PMIDS) if name else ""
        identity = pmid if pmid in several[1:] else identity
        identity = pmid if pmid and ids_in_note(identity).get("pmid") == pmid else identity
    if not pmid or identity != pmid:
        if name in _ALWAYS_LOCAL or (name in _LOCAL and _SMALL_NUMBER.fullmatch(identity)):
            identity = ListId(identity)
        elif name in _OF_TRIALS or (name in ACCESSION_NUMBERS and _NUMBER.fullmatch(identity)):
            identity = AccessionNumber(identity)
    title, body = _first_telling(values, names.titles), _first_telling(values, names.bodies)
    texts = {**values, SOURCE_FIELDS: source_fields} if source_fields else values
    metadata = RecordMetadata(_ids(values, names, pmid, noted), texts, _bibliography)
    abstract = without_remarks(_text(values.get(body, "")))
    document = Document(identity, _text(values.get(title, "")), abstract, metadata=metadata)
    return document if identity else replace(document, id=content_id(document))


def bibliography_of(
    values: Mapping[str, Value], pmid: str = "", source_fields: Mapping[str, Any] | None = None
) -> RecordMetadata:
    """Return a record's ids and bibliographic fields as a document's metadata; missing ones are left out.

    Args:
        values: as of `document_of`.
        pmid: the record's PMID, if it is known already.
        source_fields: as of `document_of`.
    """
    names = _by_rank(tuple(values))
    noted = _noted(values, names)
    ids = _ids(values, names, pmid or _pmid(values, names, noted), noted)
    texts = {**values, SOURCE_FIELDS: source_fields} if source_fields else values
    return RecordMetadata(ids, texts, _bibliography)


def _bibliography(values: Mapping[str, Any]) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    names = _by_rank(tuple(values))
    for key, fields in names.bibliography:
        read = _READERS.get(key)
        if read is not None:
            read(metadata, [values[field] for field in fields])
        elif text := first_telling(map(_text, map(values.__getitem__, fields))):
            metadata[key] = text
    if "firstpage" in metadata or "articlenumber" in metadata:
        _add_pages(metadata)
    trials = [trial for name in names.remarks for text in _texts(values[name]) for trial in trials_in_note(text)]
    if trials:
        metadata["trials"] = list(dict.fromkeys((*metadata.get("trials", ()), *trials)))
    if _is_retracted(values, names) and not Bibliography.of(metadata).is_retracted:
        metadata[TYPES] = [*metadata.get(TYPES, ()), RETRACTED]
    if source_fields := values.get(SOURCE_FIELDS):
        metadata[SOURCE_FIELDS] = dict(source_fields)
    return metadata


def _is_retracted(values: Mapping[str, Value], names: _Ranked) -> bool:
    """Whether a record names a notice of retraction, or its title begins as publishers mark retracted papers."""
    for name in names.retractions:
        if any(not says_nothing(text) and text.lower() not in _NO for text in _texts(values[name])):
            return True
    return any([is_retracted_title(_text(values[name])) for name in names.titles])  # noqa: C419 - a list is faster


def _noted(values: Mapping[str, Value], names: _Ranked) -> dict[str, str]:
    """Return the record's own ids in its notes and accession numbers, by registry."""
    ids: dict[str, str] = {}
    for name in names.remarks:
        for text in _texts(values[name]):
            if not text.isdecimal() and (in_note := ids_in_note(text)):
                ids = {**in_note, **ids}
    return ids


def _pmid(values: Mapping[str, Value], names: _Ranked, noted: Mapping[str, str]) -> str:
    """Return the PMID of a record: of its own field, of a link, or the accession number that PubMed gave."""
    for name in names.pmids:
        if pmid := pmid_of(_text(values[name])):
            return pmid
    if names.databases and any(_OF_PUBMED.search(_text(values[name])) for name in names.databases):
        for name in names.numbers:
            if pmid := next(filter(None, map(pmid_of, split_ids(_text(values[name])))), ""):
                return pmid
    for name in names.links:
        for text in _texts(values[name]):
            if pmid := pmid_in_link(text):
                return pmid
    return noted.get("pmid", "")


def _doi(values: Mapping[str, Value], names: _Ranked) -> str:
    for name in names.may_hold_doi:
        for text in _texts(values[name]):
            if doi := doi_of(text):
                return doi
    return ""


def _ids(values: Mapping[str, Value], names: _Ranked, pmid: str, noted: Mapping[str, str]) -> dict[str, str]:
    metadata = {"pmid": pmid} if pmid else {}
    if doi := _doi(values, names) or noted.get("doi", ""):
        metadata["doi"] = doi
    for name in names.worlds:
        for text in _texts(values[name]):
            for registry, identity in registry_ids(name, text).items():
                metadata.setdefault(registry, identity)
    for name in names.links:
        for url in _texts(values[name]):
            for registry, identity in registry_ids("", url).items():
                metadata.setdefault(registry, identity)
            if not (pmid_in_link(url) or doi_of(url)) and url.startswith(("http://", "https://")):
                metadata.setdefault("url", url)
    for registry, identity in noted.items():
        if registry not in ("pmid", "doi"):
            metadata.setdefault(registry, identity)
    return metadata


def _text(value: Value) -> str:
    if isinstance(value, str):
        return value
    for text in value:
        if not says_nothing(text):
            return text
    return ""


def _texts(value: Value) -> Sequence[str]:
    return (value,) if isinstance(value, str) else value


def _add_date(metadata: dict[str, Any], values: Iterable[Value]) -> None:
    year, date = date_of(text for value in values for text in _texts(value))
    metadata |= ({YEAR: year} if year else {}) | ({"date": date} if date else {})


def _add_names(key: str, *, every: bool, plain: Callable[[str], str] = str) -> _Add:
    """Return a function that adds the names, made plain, in the first field that has any, or in every field."""

    def add(metadata: dict[str, Any], values: Iterable[Value]) -> None:
        """Set `key` to the names in the values, in their order, each once."""
        names = list[str]()
        for value in values:
            names += distinct_names(map(plain, _names(value)))
            if names and not every:
                break
        if names:
            metadata[key] = list(dict.fromkeys(names)) if every else names

    return add


def _names(value: Value) -> list[str]:
    """Return the names in a value; some programs write several of a list in one line: "salt; sweat"."""
    if isinstance(value, str):
        objects = objects_in(value) if "{" in value else []
        return persons_or_names(objects) if objects else split_names(value)
    if ";" not in "\n".join(value):  # the common case
        return list(value)
    return [name for text in value for name in (split_names(text) if ";" in text else (text,))]


def _add_authors(metadata: dict[str, Any], values: Iterable[Value]) -> None:
    for value in values:
        persons = objects_in(value) if isinstance(value, str) and "{" in value else []
        if authors := distinct_names(map(plain_author, persons_or_names(persons)) if persons else authors_of(value)):
            metadata[AUTHORS] = authors
            return


def _add_groups(metadata: dict[str, Any], values: Iterable[Value]) -> None:
    """Append the groups that a record names beside its persons."""
    groups = [name for value in values for name in distinct_names(_names(value))]
    if groups:
        metadata[AUTHORS] = list(dict.fromkeys((*metadata.get(AUTHORS, ()), *groups)))


def _type(name: str) -> str:
    """Return a publication type; "" for a DOI, which some programs write there, and a letter of Web of Science."""
    return "" if doi_of(name) or len(name) == 1 else _CAMEL.sub(" ", name)


def _heading(keyword: str) -> str:
    """Return a keyword without the asterisk of a major MeSH heading: "*Sweat/chemistry", "Sweat/*chemistry"."""
    return keyword.removeprefix("*").replace("/*", "/") if "*" in keyword else keyword


def _add_pages(metadata: dict[str, Any]) -> None:
    """Join the first and last page; some programs write the whole range in one of their fields, or both."""
    pages = [metadata.pop(name, "") for name in ("firstpage", "lastpage")]
    number, whole = metadata.pop("articlenumber", ""), ""
    if not "".join(pages).isalnum():
        pages = [_DASHES.sub("-", text).strip("+") for text in pages]
        whole = next((text for text in pages if _RANGE.match(text)), "")
    if text := whole or "-".join(dict.fromkeys(filter(None, pages))) or number:
        metadata.setdefault(PAGES, text)


def _add_page_range(metadata: dict[str, Any], values: Iterable[Value]) -> None:
    if pages := first_telling(map(_text, values)):
        metadata[PAGES] = _DASHES.sub("-", _BEFORE_PAGES.sub("", pages) if pages[0] in "pP" else pages)


def _add_journal(metadata: dict[str, Any], values: Iterable[Value]) -> None:
    texts = (text for text in map(_text, values) if not _DATABASE.fullmatch(text.strip()))
    if journal := first_telling(texts):
        metadata[JOURNAL] = journal


def _add_issn(metadata: dict[str, Any], values: Iterable[Value]) -> None:
    if text := first_telling(map(_text, values)):
        match = _ISSN.search(text)
        metadata["issn"] = "-".join(match.groups()).upper() if match else text


def _add_reference_type(metadata: dict[str, Any], values: Iterable[Value]) -> None:
    if reference_type := reference_type_of(_text(next(iter(values)))):
        metadata["reference_type"] = reference_type


_Add = Callable[[dict[str, Any], Iterable[Value]], None]
_READERS: dict[str, _Add] = {
    YEAR: _add_date,
    JOURNAL: _add_journal,
    PAGES: _add_page_range,
    "issn": _add_issn,
    "reference_type": _add_reference_type,
    AUTHORS: _add_authors,
    "groups": _add_groups,
    TYPES: _add_names(TYPES, every=False, plain=_type),
    KEYWORDS: _add_names(KEYWORDS, every=True, plain=_heading),
    LANGUAGE: _add_names(LANGUAGE, every=False),
    "trials": _add_names("trials", every=True),
}


_Names = tuple[str, ...]


class _Ranked(NamedTuple):
    """A record's field names for each use, by preference."""

    ids: _Names
    titles: _Names
    bodies: _Names
    pmids: _Names
    links: _Names
    remarks: _Names
    may_hold_doi: _Names
    databases: _Names
    numbers: _Names
    worlds: _Names
    retractions: _Names
    bibliography: tuple[tuple[str, _Names], ...]


_WORLDS = (*FURTHER_IDS, *(name for name in IDS if name not in PMIDS and name not in DOIS))


@lru_cache(maxsize=2**10)  # the records of a file share a few sets of names
def _by_rank(names: _Names) -> _Ranked:
    def ranked(every: tuple[str, ...]) -> _Names:
        """Return the record's names that are among these, in their order."""
        ranks = ranks_of(every)
        return tuple(sorted(filter(ranks.__contains__, names), key=ranks.__getitem__))

    fields = ((key, ranked(every)) for key, every in BIBLIOGRAPHY.items())
    return _Ranked(
        ids=ranked(IDS),
        titles=ranked(TITLES),
        bodies=ranked(BODIES),
        pmids=ranked(PMIDS),
        links=ranked(LINKS),
        remarks=ranked((*REMARKS, *ACCESSION_NUMBERS)),
        may_hold_doi=(*ranked(DOIS), *ranked(LINKS), *ranked(NOTES)),
        databases=ranked(DATABASES),
        numbers=ranked(_PMID_ELSEWHERE),
        worlds=ranked(_WORLDS),
        retractions=ranked(RETRACTIONS),
        bibliography=tuple((key, every) for key, every in fields if every),
    )


def _first_telling(values: Mapping[str, Value], names: _Names) -> str:
    """Return the first of the names whose value in the record is not blank, or ""."""
    for name in names:
        value = values[name]
        if not says_nothing(value if isinstance(value, str) else _text(value)):
            return name
    return ""


class RecordMetadata(Mapping[str, Any]):
    """The metadata of a document that a reader made; read-only, and equal to the dictionary of the same items.

    Indexing needs the ids of a million records, and a ranking the other fields of a hundred. Copies and pickles are
    plain dictionaries.
    """

    __slots__ = ("_items", "_read", "_texts", "ids")

    def __init__(
        self, ids: Mapping[str, str], texts: Mapping[str, Any], read: Callable[[Mapping[str, Any]], dict[str, Any]]
    ) -> None:
        """Hold the ids by registry; `read` returns the bibliographic fields of the record's texts."""
        self.ids, self._texts, self._read = ids, texts, read
        self._items: dict[str, Any] | None = None

    def _all(self) -> dict[str, Any]:
        texts, items = self._texts, self._items  # in this order, since another thread may read them, too
        if items is None:
            self._items = items = {**self.ids, **self._read(texts)}
            self._texts = self.ids  # frees the record's texts
        return items

    def __getitem__(self, name: str) -> Any:
        items = self._items  # the common case
        return (self._all() if items is None else items)[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field, as a mapping does, in less time than by an error for each missing one."""
        return self._all().get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        return dict, (self._all(),)


def ids_of(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the ids in a document's metadata, perhaps with other fields, without reading those of a record."""
    return metadata.ids if isinstance(metadata, RecordMetadata) else metadata

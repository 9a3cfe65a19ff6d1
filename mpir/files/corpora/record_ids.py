"""The ids of a record: the one that identifies its document, and those in registries."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mpir.files.corpora.field_uses import PMID_ELSEWHERE, FieldUses
from mpir.files.corpora.field_values import Value, text_of, texts_of
from mpir.files.corpora.fields import ACCESSION_NUMBERS, PMIDS, RANKED_ID
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
from mpir.files.corpora.notes import ids_in_note

_LOCAL = frozenset(("id", "_id", "recordid", "key", "itemid", *ACCESSION_NUMBERS))
"""Names under which a small number is a position in a list, which reference managers count from 1."""
_ALWAYS_LOCAL = frozenset(("citationkey", "referenceid", "recnumber"))
_OF_PUBMED = re.compile(r"medline|pubmed|\bnlm\b", re.IGNORECASE)
"""Databases whose accession numbers are PMIDs."""
_OF_TRIALS = ("nctid", "nctnumber")
_SMALL_NUMBER = re.compile(r"\d{1,6}")
_NUMBER = re.compile(r"\d{7,12}")


def document_id(name: str, text: str, pmid: str) -> str:
    """Return the id of a record's document: a PMID, a list's number, an accession number; "" without any.

    Args:
        name: the field that names the document, or "".
        text: its text.
        pmid: the record's PMID, if it has one.
    """
    if name == RANKED_ID or (pmid and text == pmid and name in PMIDS):  # the common case
        identity = text
    else:
        several = split_ids(text) if name in PMID_ELSEWHERE else [text]
        identity = clean_id(several[0], is_pmid=name in PMIDS) if name else ""
        identity = pmid if pmid in several[1:] else identity
        identity = pmid if pmid and ids_in_note(identity).get("pmid") == pmid else identity
    return identity if pmid and identity == pmid else _marked(identity, name)


def _marked(identity: str, name: str) -> str:
    """Return an id that is valid within a list or a database as such; `name` is that of its field."""
    if name in _ALWAYS_LOCAL or (name in _LOCAL and _SMALL_NUMBER.fullmatch(identity)):
        return ListId(identity)
    if name in _OF_TRIALS or (name in ACCESSION_NUMBERS and _NUMBER.fullmatch(identity)):
        return AccessionNumber(identity)
    return identity


def noted_ids(values: Mapping[str, Value], names: FieldUses) -> dict[str, str]:
    """Return the record's own ids in its notes and accession numbers, by registry."""
    ids: dict[str, str] = {}
    for name in names.remarks:
        for text in texts_of(values[name]):
            if not text.isdecimal() and (in_note := ids_in_note(text)):
                ids = {**in_note, **ids}
    return ids


def record_pmid(values: Mapping[str, Value], names: FieldUses, noted: Mapping[str, str]) -> str:
    """Return the PMID of a record: of its own field, of a link, or the accession number that PubMed gave."""
    for name in names.pmids:
        if pmid := pmid_of(text_of(values[name])):
            return pmid
    if names.databases and any(_OF_PUBMED.search(text_of(values[name])) for name in names.databases):
        for name in names.numbers:
            if pmid := next(filter(None, map(pmid_of, split_ids(text_of(values[name])))), ""):
                return pmid
    for name in names.links:
        for text in texts_of(values[name]):
            if pmid := pmid_in_link(text):
                return pmid
    return noted.get("pmid", "")


def _doi(values: Mapping[str, Value], names: FieldUses) -> str:
    for name in names.may_hold_doi:
        for text in texts_of(values[name]):
            if doi := doi_of(text):
                return doi
    return ""


def registered_ids(
    values: Mapping[str, Value], names: FieldUses, pmid: str, noted: Mapping[str, str]
) -> dict[str, str]:
    """Return a record's ids by registry, and its address; `noted` are those in its notes (`noted_ids`)."""
    metadata = {"pmid": pmid} if pmid else {}
    if doi := _doi(values, names) or noted.get("doi", ""):
        metadata["doi"] = doi
    for name in names.registries:
        for text in texts_of(values[name]):
            for registry, identity in registry_ids(name, text).items():
                metadata.setdefault(registry, identity)
    for name in names.links:
        for url in texts_of(values[name]):
            _add_ids_of_link(metadata, url)
    for registry, identity in noted.items():
        if registry not in ("pmid", "doi"):
            metadata.setdefault(registry, identity)
    return metadata


def _add_ids_of_link(metadata: dict[str, str], url: str) -> None:
    """Add the ids in an address, and an address without PMID and DOI itself."""
    for registry, identity in registry_ids("", url).items():
        metadata.setdefault(registry, identity)
    if not (pmid_in_link(url) or doi_of(url)) and url.startswith(("http://", "https://")):
        metadata.setdefault("url", url)

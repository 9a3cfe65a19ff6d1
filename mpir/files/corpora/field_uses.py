"""The uses of a record's fields: which of its names have its id, its title, its links and so on, by preference."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from mpir.files.corpora.field_keys import ranks_of
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
    REMARKS,
    RETRACTIONS,
    TITLES,
)

PMID_ELSEWHERE = (*ACCESSION_NUMBERS, "referenceid")
"""Names of fields that have a PMID in a record of PubMed's."""
_REGISTRIES = (*FURTHER_IDS, *(name for name in IDS if name not in PMIDS and name not in DOIS))
_Names = tuple[str, ...]


class FieldUses(NamedTuple):
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
    registries: _Names
    retractions: _Names
    bibliography: tuple[tuple[str, _Names], ...]


@lru_cache(maxsize=2**10)  # the records of a file share a few sets of names
def uses_of(names: tuple[str, ...]) -> FieldUses:
    """Return the uses of a record's field names."""

    def ranked(every: tuple[str, ...]) -> _Names:
        """Return the record's names that are among these, in their order."""
        ranks = ranks_of(every)
        return tuple(sorted(filter(ranks.__contains__, names), key=ranks.__getitem__))

    fields = ((key, ranked(every)) for key, every in BIBLIOGRAPHY.items())
    return FieldUses(
        ids=ranked(IDS),
        titles=ranked(TITLES),
        bodies=ranked(BODIES),
        pmids=ranked(PMIDS),
        links=ranked(LINKS),
        remarks=ranked((*REMARKS, *ACCESSION_NUMBERS)),
        may_hold_doi=(*ranked(DOIS), *ranked(LINKS), *ranked(NOTES)),
        databases=ranked(DATABASES),
        numbers=ranked(PMID_ELSEWHERE),
        registries=ranked(_REGISTRIES),
        retractions=ranked(RETRACTIONS),
        bibliography=tuple((key, every) for key, every in fields if every),
    )

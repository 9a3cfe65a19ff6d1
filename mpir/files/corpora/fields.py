"""Field names in document files: one list for all readers, independent of case and punctuation.

A file whose titles or bodies are all blank is logged, because their field may have an unknown name.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from math import isnan
from pathlib import Path
from typing import Any

from mpir.core.text.types import Document
from mpir.errors import format_names
from mpir.files.corpora.bibliography import AUTHORS, KEYWORDS, LANGUAGE, PAGES, TYPES, YEAR
from mpir.files.corpora.placeholders import says_nothing

Value = str | Sequence[str]
"""A field's text, or its texts."""
PMIDS = ("pmid", "pubmedid", "medlinepmid", "pubmed", "pm")
DOIS = ("doi", "di", "do", "digitalobjectidentifier", "doilink", "doiurl", "articledoi", "electronicresourcenum")
RANKED_ID = "rankeddocument"
"""The name of the ids in tables that mpir wrote."""
COLLECTION_IDS = (RANKED_ID, "corduid", *PMIDS, "id", "_id", "docid", "docno", "documentid", "uid", "pid")
"""Names of a collection's ids, by preference; TREC-COVID's judgements use cord_uid."""
ACCESSION_NUMBERS = ("an", "accessionnumber", "accessionnum", "uniqueidentifier")
LIST_IDS = (
    *("recordid", "key", *ACCESSION_NUMBERS, "eid", "ut", "utuniquewosid"),
    *("uniquewosid", "uniqueid", "lensid", "publicationid", "paperid", *DOIS, "pui", "pmcid", "embaseaccessionid"),
    *("nctid", "nctnumber"),  # of a paper's trial, if the paper has an id of its own
    *("citationkey", "referenceid", "recnumber", "itemid"),
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
    *("detaileddescription", "fulltext", "bodytext", "passage", "sentences", "contexts"),
    *("originalnonenglishabstract", "originalabstract"),
)
TEXTS = frozenset((*TITLES, *BODIES))
BIBLIOGRAPHY: dict[str, tuple[str, ...]] = {
    YEAR: (
        *("year", "publicationyear", "pubyear", "yearpublished", "yearofpublication", "py", "date", "publicationdate"),
        *("pubdate", "publishtime", "publisheddate", "datepublished", "dateofpublication", "coverdate", "issued", "y1"),
        *(
            "da",
            "dp",
            "pd",
            "firstpublicationdate",
            "startdate",
            "firstposted",
            "yr",
            "publishedyear",
            "publishedprint",
        ),
        *("published", "printpublicationdate", "publicationdateprint", "publishedonline", "publicationdateonline"),
        *("electronicpublicationdate", "epubdate", "dep", "ey", "ea", "earlyaccessdate", "earlyaccessyear"),
        *("onlinedate", "sortpubdate"),
    ),
    "journal": (
        *("journal", "journaltitle", "sourcetitle", "publicationtitle", "containertitle", "journalname", "journalbook"),
        *("jt", "jf", "so", "t2", "secondarytitle", "booktitle", "journalfull", "source", "sourcetitleanthologytitle"),
        *("jo", "venue", "journalinfo", "primarylocation", "hostvenue", "fullsource", "bt", "server", "periodical"),
        *("pubtitle", "anthologytitle", "primarylocationsourcedisplayname"),
    ),
    "abbreviation": ("abbreviation", "ta", "ja", "j2", "ji", "journalabbreviation", "abbreviatedsourcetitle"),
    "volume": ("volume", "vol", "vl", "vi", "journalvolume", "volumenumber"),
    "issue": ("issue", "is", "ip", "issuenumber", "journalissue"),
    PAGES: ("pages", "page", "pagination", "pg", "medlinepgn", "pageinfo", "pagerange", "pagenumbers"),
    "firstpage": ("startpage", "pagestart", "firstpage", "beginningpage", "beginpage", "sp", "bp"),
    "lastpage": ("endpage", "pageend", "lastpage", "endingpage", "ep"),
    "articlenumber": ("articlenumber", "artno", "ar", "elocationid", "c7"),
    AUTHORS: (
        *("authors", "author", "fau", "af", "authorfullnames", "authornames", "au", "a1", "authorstring", "authorlist"),
        *("authorships", "creators", "creator", "authorsnames", "authorname", "authorshipsauthordisplayname"),
        "contributors",
    ),
    "groups": ("collectivename", "groupauthors", "groupauthor", "corporateauthors", "corporateauthor"),
    TYPES: (
        *("types", "publicationtype", "publicationtypes", "documenttype", "pubtypes", "pubtype", "pubtypelist"),
        *("articletype", "dt", "pt", "m3", "publicationtypelist", "doctype", "typeofwork", "studytype", "subtype"),
        *("kindofdocument", "doctypes", "articletypes", "type"),
    ),
    "reference_type": ("referencetype", "itemtype", "reftype", "entrytype"),
    LANGUAGE: ("language", "languages", "la", "lang", "languageofpublication", "languageoforiginaldocument", "lg"),
    KEYWORDS: (
        *("keywords", "authorkeywords", "keyword", "de", "keywordlist", "meshterms", "mesh", "mh", "ot", "kw"),
        *("meshheadings", "meshheadinglist", "indexkeywords", "keywordsplus", "manualtags", "automatictags"),
        *(
            "tags",
            "identifierkeywords",
            "subjectterms",
            "ieeeterms",
            "subjects",
            "subject",
            "descriptors",
            "emtreemedicalindexterms",
            "emtreedrugindexterms",
            "medicalterms",
        ),
    ),
    "issn": ("issn", "sn", "isbn", "eissn", "issnprint", "issnl", "issns"),
    "publisher": ("publisher", "pb", "pu", "publishername"),
    "trials": ("trials", "si", "clinicaltrialnumber", "clinicaltrialnumbers"),
}
"""Names of bibliographic fields, by preference."""
REMARKS = ("note", "notes", "n1", "extra", "pui", "c3")
"""Fields with remarks, which may name ids of the paper and of others."""
NOTES = ("lid", "aid", "m3", "ids", "externalids")
"""Further fields that may have a DOI."""
LINKS = (
    "url",
    "link",
    "ur",
    "urls",
    "fulltexturl",
    "sourceurl",
    "studyurl",
    "articleurl",
    "landingpageurl",
    "sourceurls",
    "plink",
    "documenturl",
    "pdflink",
    "externalurl",
)
DATABASES = ("db", "database", "databasename", "databaseprovider", "remotedatabasename", "remotedatabaseprovider")
FURTHER_IDS = (
    *("ids", "externalids", "pmc", "pmcid", "pmcids", "nctnumber", "nctid", "nct", "eid", "ut", "utuniquewosid", "pui"),
    *(
        "uniquewosid",
        "lensid",
        "paperid",
        "corduid",
        "embaseaccessionid",
        "openalex",
        "arxivid",
        "arxiv",
        "c2",
        "s2",
        "s2id",
    ),
    *("semanticscholarid", "corpusid", "cochraneid", "wos", "scopus", "embase", "cord", "cochrane", "lens"),
)
"""Names of ids that a record may have in addition to the one that identifies its document."""
RETRACTIONS = ("retractionin", "rin", "isretracted", "retracted")
"""Names of fields that say that a paper was retracted: by a notice, or by true."""
KNOWN = frozenset((*IDS, *TEXTS))
"""Names of fields that a document itself has: its id, title and body."""
READ = KNOWN.union(*BIBLIOGRAPHY.values(), chain(LINKS, (*NOTES, *REMARKS), DATABASES, FURTHER_IDS, RETRACTIONS))
"""All names that readers use."""
_FEW = 64
_PUNCTUATION = re.compile(r"[\W_]+")
log = logging.getLogger(__name__)
_LOOKED_AT = 1000
"""Number of records from which a file's field names are collected."""


@lru_cache(maxsize=2**12)
def field_name(name: str) -> str:
    """Normalise a field name: "Document Title" and "document_title" become documenttitle.

    MongoDB's "_id" keeps its underscore, because some records also have an "id".
    """
    return "_id" if name == "_id" else _PUNCTUATION.sub("", name.lower())


def telling_key(record: Mapping[Any, Any], names: tuple[str, ...]) -> Any:
    """Return the record's key for the first of these names, in any case, whose value is not blank.

    If all values are blank, return the first key that exists; None if there is none.
    """
    keys = _named_keys(tuple(record), names) if len(record) <= _FEW else _named_keys.__wrapped__(tuple(record), names)
    present = [key for key in keys if record[key] is not None and not is_nan(record[key])]
    if len(present) < 2:
        return present[0] if present else None
    return next((key for key in present if not is_blank(record[key])), present[0])


@lru_cache(maxsize=2**8)  # the records of a file share a few sets of keys
def _named_keys(keys: tuple[Any, ...], names: tuple[str, ...]) -> tuple[Any, ...]:
    """Return the keys that match one of these names, in the order of the names."""
    ranks = ranks_of(names)
    return tuple(sorted((key for key in keys if _name(key) in ranks), key=lambda key: ranks[_name(key)]))


def _name(key: Any) -> str:
    return field_name(key) if isinstance(key, str) else ""


@cache
def ranks_of(names: tuple[str, ...]) -> dict[str, int]:
    """Return the rank of each name in a list by preference."""
    return {name: rank for rank, name in enumerate(names)}


def is_blank(value: Any) -> bool:
    """Whether a value of a JSON object or a dictionary is missing: null, NaN, blank, or an empty list."""
    if isinstance(value, str):
        return says_nothing(value)
    return value is None or is_nan(value) or (isinstance(value, list | dict) and not value)


def is_nan(value: Any) -> bool:
    """Whether a value is NaN, which Python and pandas write for missing values, also into JSON."""
    return isinstance(value, float) and isnan(value)


def report_unread(path: str | Path, records: Iterable[tuple[Document, Mapping[str, Any]]]) -> Iterator[Document]:
    """Yield the documents of a file; at its end, log its field names if all titles or all bodies are blank.

    Args:
        path: the file, for the message.
        records: each document with its values by the file's field names.
    """
    blank, lengths, count = {"title", "abstract"}, dict[str, int](), 0
    for document, values in records:
        if blank and count < _LOOKED_AT:
            blank -= {section for section, text in document.sections.items() if text}
            for name, value in values.items():
                if field_name(name) not in READ:
                    lengths[name] = max(lengths.get(name, 0), len(str(value)))
        elif blank:
            blank -= {section for section, text in document.sections.items() if text}
        count += 1
        yield document
    if count and blank and lengths:
        longest_first = sorted(lengths, key=lambda name: -lengths[name])
        log.warning(
            "%s: no document has %s; names that mpir does not read: %s",
            path,
            " or ".join(f"a{'n' if section == 'abstract' else ''} {section}" for section in sorted(blank)),
            format_names(longest_first),
        )

"""Read PubMed/MEDLINE XML as NLM distributes it: MedlineCitationSet files up to 2016, PubmedArticleSet files since.

A later record replaces an earlier one of the same PMID, and deleted records are dropped. To do so in one pass and
without a table of all records, files are read from the last to the first, so that the first record of a PMID is the
latest. Memory holds the documents of one file (NLM's have at most 30,000) and one byte for each PMID, about 60 MB for
all of PubMed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress
from pathlib import Path
from typing import TypeVar
from xml.etree import ElementTree as ET

from mpir.core.text.types import Document
from mpir.errors import InputError, format_value
from mpir.files.corpora.placeholders import says_nothing, without_remarks
from mpir.files.corpora.record import bibliography_of
from mpir.files.corpora.xml import read_elements, text_of
from mpir.files.read import open_bytes

PUBMED = (
    *("PubmedArticleSet", "MedlineCitationSet", "PubmedBookArticleSet"),
    *("PubmedArticle", "PubmedBookArticle", "MedlineCitation", "BookDocument"),
)
"""Root elements: sets from efetch, single records from other tools."""
_RECORDS = ("MedlineCitation", "BookDocument")
_ARTICLES = {"PubmedArticle": "PubmedData", "PubmedBookArticle": "PubmedBookData"}
"""Elements around a record, and the record's sibling with its ids."""
_DELETED = "DeleteCitation"
_TITLES = ("ArticleTitle", "VernacularTitle", "Book/BookTitle")
"""Title elements by preference; a whole book has only the last."""
_OF_NLM = re.compile(r"(?:pubmed|medline)\d\dn\d{4}\.xml(?:\.gz)?")
"""NLM's file names: baseline and update files of a year are numbered consecutively across folders."""
_BEGIN = re.compile(rb"<(?:[\w.-]+:)?(?:%b)(?=[\s/>])" % "|".join((*_RECORDS, _DELETED)).encode())
_NUMBER = re.compile(r"[0-9]{1,18}")
_PAGE = 1 << 8
_Key = tuple[int, int]  # PMID, version
_P = TypeVar("_P", str, Path, str | Path)
_PmidPages = defaultdict[int, bytearray]  # a byte for each PMID, in pages allocated on demand


def read_pubmed(files: Sequence[str | Path]) -> Iterator[Document]:
    """Read each PMID's latest record, the last file's records first.

    A PMID in a later file replaces the one in an earlier file; inside a file the highest version counts, then the
    last one. ``DeleteCitation`` removes the version it names from its own file, as read so far, and from earlier ones.

    Args:
        files: ``.xml`` or ``.xml.gz`` files, oldest first; NLM's names determine the order of its own files.

    Raises:
        InputError: malformed XML (with file, line and column), other XML, truncated gzip, or a citation without PMID.
    """
    reader = PubmedReader()
    for file in latest_first(files):
        yield from reader.read(file)


class PubmedReader:
    """Read PubMed's files one by one, the latest first, and yield each PMID's latest record.

    Attributes:
        deleted: the PMIDs and versions that the files read so far delete.
    """

    def __init__(self) -> None:
        self._read_pmids: _PmidPages = defaultdict(lambda: bytearray(_PAGE))
        self.deleted: set[_Key] = set()

    def read(self, file: str | Path) -> Iterator[Document]:
        """Yield the file's documents that no file read before replaces or deletes. Raises InputError as `read_pubmed`.

        The iterator must be exhausted before the next file is read.
        """
        records, gone = _read_file(file)
        latest: dict[int, tuple[int, Document]] = {}
        for (pmid, version), document in records.items():
            known = self._read_pmids[pmid // _PAGE][pmid % _PAGE] or (pmid, version) in self.deleted
            if not known and version >= latest.get(pmid, (0,))[0]:
                latest[pmid] = version, document
        self.deleted |= gone
        self._mark(latest)
        for _, document in latest.values():
            yield document

    def resume(self, pmids: Iterable[int], deleted: Iterable[_Key]) -> None:
        """Continue after files that another reader has read: the PMIDs of their documents, and its `deleted`."""
        self._mark(pmids)
        self.deleted.update(deleted)

    def _mark(self, pmids: Iterable[int]) -> None:
        for pmid in pmids:
            self._read_pmids[pmid // _PAGE][pmid % _PAGE] = 1


def read_deleted(file: str | Path) -> Iterator[str]:
    """Return the PMIDs in a file's ``DeleteCitation``, of any version. Raises InputError as `read_pubmed`."""
    for number, element in enumerate(read_elements(file, PUBMED, (*_RECORDS, _DELETED))):
        if element.tag == _DELETED:
            yield from (str(_key(pmid, file, number)[0]) for pmid in element.iter("PMID"))


def latest_first(files: Sequence[_P]) -> list[_P]:
    """Return PubMed's files, given oldest first, from the latest on; NLM's names determine the order of its own."""
    of_nlm = [_OF_NLM.fullmatch(Path(file).name) is not None for file in files]
    from_nlm = iter(sorted(compress(files, of_nlm), key=lambda file: Path(file).name))
    return [next(from_nlm) if named else file for named, file in zip(of_nlm, files, strict=True)][::-1]


def _read_file(path: str | Path) -> tuple[dict[_Key, Document], set[_Key]]:
    """Return the file's last record of each PMID and version, and the PMIDs and versions that it deletes."""
    records: dict[_Key, Document] = {}
    gone: set[_Key] = set()
    for number, element in enumerate(read_elements(path, PUBMED, (*_ARTICLES, *_RECORDS, _DELETED))):
        if element.tag == _DELETED:
            for pmid in element.iter("PMID"):
                key = _key(pmid, path, number)
                records.pop(key, None)
                gone.add(key)
        else:
            record, ids = _record(element)
            key = _key(record.find("PMID"), path, number)
            records.pop(key, None)
            records[key] = _document(key, record, ids)
    return records, gone


def _record(element: ET.Element) -> tuple[ET.Element, list[ET.Element]]:
    """Return a citation or book, and the elements with its further ids."""
    ids: list[ET.Element] = []
    if around := _ARTICLES.get(element.tag):
        ids = _inside(element, around, "ArticleIdList", "ArticleId")
        element = next((child for child in element if child.tag in _RECORDS), element)
    return element, ids or _inside(element, "ArticleIdList", "ArticleId")


def _key(element: ET.Element | None, path: str | Path, number: int) -> _Key:
    """Return the PMID and version of a record, which has this number (from 0) in its file."""
    pmid = "" if element is None else (element.text or "").strip()
    version = "1" if element is None else element.get("Version", "1")
    if not (_NUMBER.fullmatch(pmid) and _NUMBER.fullmatch(version)):
        raise InputError(
            f"{path}:{_line_of(path, number)}: a citation has the PMID {format_value(pmid)}, version "
            f"{format_value(version)}; "
            "expected whole numbers."
        )
    return int(pmid), int(version)


def _line_of(path: str | Path, number: int) -> int:
    """Return the line on which a record begins, for a message; ElementTree does not keep it."""
    line, count = 1, 0
    with open_bytes(path) as stream:
        for text in stream:
            count += len(_BEGIN.findall(text))
            if count > number:
                break
            line += 1
    return line


def _document(key: _Key, record: ET.Element, ids: list[ET.Element]) -> Document:
    inner = record.find("Article")
    article = record if inner is None else inner
    titles = (text_of(article.find(name)) for name in _TITLES)
    title = next((text for text in titles if not says_nothing(text)), "")
    values = _bibliography(article, record)
    locations = _valid(article, "ELocationID")
    values["doi"] = tuple(_text(location) for location in locations if location.get("EIdType") == "doi")
    for element in ids:
        if (kind := element.get("IdType", "")) in _ID_TYPES and element.text:
            values[_ID_TYPES[kind]] = (*values.get(_ID_TYPES[kind], ()), element.text)
    metadata = bibliography_of(values, str(key[0]))
    return Document(str(key[0]), title, without_remarks(_abstract(article, record)), metadata=metadata)


_ID_TYPES = {"doi": "doi", "pmc": "pmcid"}


def _bibliography(article: ET.Element, record: ET.Element) -> dict[str, tuple[str, ...]]:
    """Return a record's bibliographic texts by their names in fields.py."""
    journal, book, banks = article.find("Journal"), article.find("Book"), article.find("DataBankList")
    issue = None if journal is None else journal.find("JournalIssue")
    pages = article.find("Pagination")
    dates = ((issue, "PubDate"), (article, "ArticleDate"), (book, "PubDate"), (article, "ContributionDate"))
    texts_of = (
        ("journal", journal, "Title"),
        ("journal", record.find("MedlineJournalInfo"), "MedlineTA"),
        ("abbreviation", journal, "ISOAbbreviation"),
        ("issn", journal, "ISSN"),
        ("volume", issue, "Volume"),
        ("issue", issue, "Issue"),
        ("pages", pages, "MedlinePgn"),
        ("firstpage", pages, "StartPage"),
        ("lastpage", pages, "EndPage"),
        ("language", article, "Language"),
        ("publisher", None if book is None else book.find("Publisher"), "PublisherName"),
        ("types", article.find("PublicationTypeList"), "PublicationType"),
        ("types", article, "PublicationType"),
    )
    values: dict[str, tuple[str, ...]] = {"authors": _authors(article) or (() if book is None else _authors(book))}
    if book is not None:
        is_chapter = article.find("ArticleTitle") is not None
        values |= {"journal": (_text(book.find("BookTitle")),)} if is_chapter else {}
        values["referencetype"] = ("CHAP" if is_chapter else "BOOK",)
    values["date"] = tuple(
        " ".join(date.itertext()) for parent, tag in dates if parent is not None for date in parent.findall(tag)
    )
    for name, parent, tag in texts_of:
        if parent is not None and (elements := parent.findall(tag)):
            values[name] = (*values.get(name, ()), *map(_text, elements))
    headings = [heading.find("DescriptorName") for heading in _inside(record, "MeshHeadingList", "MeshHeading")]
    if keywords := [*headings, *(keyword for keywords in record.findall("KeywordList") for keyword in keywords)]:
        values["keywords"] = tuple(map(_text, keywords))
    notices = _inside(record, "CommentsCorrectionsList", "CommentsCorrections")
    if retractions := [notice for notice in notices if notice.get("RefType") == "RetractionIn"]:
        values["retractionin"] = tuple(_text(notice.find("RefSource")) or "?" for notice in retractions)
    if banks is not None:
        values["trials"] = tuple(map(_text, banks.iter("AccessionNumber")))
    return values


def _text(element: ET.Element | None) -> str:
    """Return the text of an element, which seldom has others inside; white space is normalised later."""
    if element is None:
        return ""
    return text_of(element) if len(element) else element.text or ""


def _inside(element: ET.Element, *names: str) -> list[ET.Element]:
    """Return the elements at a path of names, several times faster than ElementTree's own paths."""
    *parents, last = names
    for name in parents:
        inner = element.find(name)
        if inner is None:
            return []
        element = inner
    return element.findall(last)


def _authors(element: ET.Element) -> tuple[str, ...]:
    """Return the names in an element's lists of authors; editors have lists of their own."""
    lists = (_valid(authors, "Author") for authors in element.findall("AuthorList") if authors.get("Type") != "editors")
    return tuple(map(_author, chain.from_iterable(lists)))


def _valid(parent: ET.Element, name: str) -> list[ET.Element]:
    """Return the authors or ids in an element that NLM has not marked as wrong, beside the right ones."""
    return [element for element in parent.findall(name) if element.get("ValidYN") != "N"]


def _author(author: ET.Element) -> str:
    """Return a person as "Doe, Jane Jr", or the name of a group."""
    last, first = _text(author.find("LastName")), _text(author.find("ForeName")) or _text(author.find("Initials"))
    name = f"{last}, {first}" if last and first else last or first or _text(author.find("CollectiveName"))
    suffix = author.find("Suffix")
    return name if suffix is None else f"{name} {_text(suffix)}"


def _abstract(article: ET.Element, record: ET.Element) -> str:
    """Return the abstract, else the first abstract in another language or for other readers that is not blank."""
    elements = _inside(article, "Abstract", "AbstractText")
    other_abstracts = (abstract.findall("AbstractText") for abstract in record.findall("OtherAbstract"))
    return next((text for text in map(_joined, chain([elements], other_abstracts)) if not says_nothing(text)), "")


def _joined(texts: list[ET.Element]) -> str:
    """Join the parts as ``LABEL: text LABEL: text``, to which most BioASQ offsets refer (docs/reference/formats.md)."""
    labelled = []
    for element in texts:
        label, text = (element.get("Label") or "").strip(), text_of(element)
        if text:
            labelled.append(f"{label}: {text}" if label and label != "UNLABELLED" else text)
    return " ".join(labelled)

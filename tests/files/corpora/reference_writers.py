"""One reference in the formats that databases write, with the fields that a format cannot hold."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable

from mpir.files.corpora.bibliography import MONTHS, Bibliography, month_and_day

TITLE, BODY = "Salt in the sweat of rowers", "Sweat is salty."


def ris(record: Bibliography) -> str:
    """RIS as Scopus writes it."""
    first, last = record.pages.split("-")
    fields = [
        *(("TY", "JOUR"), ("TI", TITLE), ("AB", BODY), ("PY", record.year), ("DA", record.date.replace("-", "/"))),
        *(("T2", record.journal), ("VL", record.volume), ("IS", record.issue), ("SP", first), ("EP", last)),
        *(("SN", record.issn), ("PB", record.publisher), ("DO", record.doi), ("UR", record.url)),
        *((tag, name) for tag, names in (("AU", record.authors), ("M3", record.types)) for name in names),
        *((tag, name) for tag, names in (("KW", record.keywords), ("LA", record.language)) for name in names),
    ]
    return "".join(f"{tag}  - {value}\n" for tag, value in fields) + "ER  - \n"


def nbib(record: Bibliography) -> str:
    """PubMed's own format."""
    fields = [
        *(("PMID", "30111222"), ("TI", TITLE), ("AB", BODY), ("DP", f"{record.year} {month_and_day(record.date)}")),
        *(("JT", record.journal), ("VI", record.volume), ("IP", record.issue), ("PG", record.pages)),
        *(("IS", record.issn), ("LID", f"{record.doi} [doi]")),
        *((tag, name) for tag, names in (("FAU", record.authors), ("PT", record.types)) for name in names),
        *((tag, name) for tag, names in (("MH", record.keywords), ("LA", record.language)) for name in names),
    ]
    return "".join(f"{tag:4}- {value}\n" for tag, value in fields)


def bibtex(record: Bibliography) -> str:
    """BibTeX as reference managers write it."""
    _, month, day = record.date.split("-")
    fields = {
        **{"title": TITLE, "abstract": BODY, "year": record.year, "month": MONTHS[int(month) - 1], "day": int(day)},
        **{"journal": record.journal, "volume": record.volume, "number": record.issue, "issn": record.issn},
        **{"pages": record.pages.replace("-", "--"), "publisher": record.publisher, "doi": record.doi},
        **{"author": " and ".join(record.authors), "keywords": ", ".join(record.keywords), "url": record.url},
        **{"language": record.language[0], "type": "; ".join(record.types)},
    }
    return "@article{key,\n" + "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items()) + "}\n"


def table(record: Bibliography) -> str:
    """A table with the names of columns that databases use."""
    first, last = record.pages.split("-")
    cells = {
        **{"Title": TITLE, "Abstract": BODY, "Year": record.year, "Publication Date": record.date},
        **{"Source title": record.journal, "Volume": record.volume, "Issue": record.issue, "Page start": first},
        **{"Page end": last, "ISSN": record.issn, "Publisher": record.publisher, "DOI": record.doi},
        **{"Authors": "; ".join(record.authors), "Author Keywords": "; ".join(record.keywords), "Link": record.url},
        **{"Language of Original Document": record.language[0], "Document Type": "; ".join(record.types)},
    }
    stream = io.StringIO()
    csv.writer(stream).writerows([list(cells), list(cells.values())])
    return stream.getvalue()


def csl(record: Bibliography) -> str:
    """CSL-JSON as Zotero writes it."""
    names = [dict(zip(("family", "given"), name.split(", "), strict=True)) for name in record.authors]
    item = {
        **{"id": "roe", "type": "article-journal", "title": TITLE, "abstract": BODY, "author": names},
        **{"container-title": record.journal, "volume": record.volume, "issue": record.issue, "page": record.pages},
        **{"ISSN": record.issn, "publisher": record.publisher, "DOI": record.doi, "URL": record.url},
        **{"issued": {"date-parts": [[int(part) for part in record.date.split("-")]]}, "language": record.language[0]},
    }
    return json.dumps([item])


WRITERS: dict[str, tuple[str, Callable[[Bibliography], str], tuple[str, ...]]] = {
    "RIS": (".ris", ris, ()),
    "PubMed": (".nbib", nbib, ("publisher", "url")),
    "BibTeX": (".bib", bibtex, ()),
    "CSV": (".csv", table, ()),
    "CSL-JSON": (".json", csl, ("types", "keywords")),
}
"""Each format's suffix, its writer, and the fields that it does not hold."""

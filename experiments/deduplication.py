"""How many copies of a paper does deduplication find, and how many different papers does it join?

    python -m experiments.deduplication --data DATA

The originals are the records of pubmed/xml/medline16n0902.xml.gz with title, abstract, year, journal and authors. Each
gets a copy as another database would export it: without the PMID, and changed in one of the ways that the papers on
ASySD (Hair et al. 2023) and Deduklick (Borissov et al. 2022) name. A copy that is joined with its original, and with no
other, counts as found. Look-alikes are different papers: they share a title, a DOI or an abstract's beginning with an
original. Last, all texts of pubmed/abstracts.jsonl are read without any id, and those that are joined are counted.
Precision is the share of joins that are right; intervals are Wilson's.
"""

from __future__ import annotations

import argparse
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from math import sqrt
from typing import Any

from tabulate import tabulate

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, positive
from mpir.core.text.types import Document
from mpir.files.corpora import read_corpus, read_jsonl
from mpir.files.corpora.bibliography import Bibliography
from mpir.files.corpora.deduplicate import without_copies
from mpir.files.corpora.identifiers import ListId

XML, ABSTRACTS = "pubmed/xml/medline16n0902.xml.gz", "pubmed/abstracts.jsonl"
_Z = 1.96
Change = Callable[[Document], Document]


def main() -> int:
    """Read arguments, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the folder with pubmed/")
    parser.add_argument("--limit", type=positive, help="at most so many originals, and texts without ids")
    return guarded("deduplication", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """Print a table of copies, one of look-alikes, and the joins of texts without ids."""
    originals = list(islice(filter(_is_complete, read_corpus([arguments.data / XML])), arguments.limit))
    texts = list(islice(read_jsonl(arguments.data / ABSTRACTS), arguments.limit))
    named = {document.id for document in originals}
    papers = [document for document in texts if document.title and document.id not in named]
    rows, right, wrong = [], 0, 0
    for name, change in COPIES.items():
        number, joined, astray = joins(originals, [copy_of(document, change) for document in originals])
        rows.append((name, f"{joined} of {number}", shown(joined, number), astray))
        right, wrong = right + joined, wrong + astray
    print(tabulate(rows, ("a copy", "found", "recall (95 %)", "joined with another"), "github"))
    rows = []
    for name, alter in LOOK_ALIKES.items():
        trial = {"nct": "NCT01111222"} if alter is _same_trial else {}
        number, *counts = joins(
            [_with(original, **trial) for original in originals], list(map(alter, originals, papers))
        )
        rows.append((name, number, sum(counts)))
        wrong += sum(counts)
    print("\n" + tabulate(rows, ("another paper", "papers", "joined with an original"), "github"))
    same = list(same_papers(texts))
    print(f"\n{len(texts):,} texts without ids: {len(same)} joined with an earlier one.")
    for first, second in same[:20]:
        print(f"  {first.id} {first.title[:60]!r}\n  {second.id} {second.title[:60]!r}")
    print(f"\nAll copies: {right} right joins, {wrong} wrong ones; precision {shown(right, right + wrong)}.")
    return 0


def joins(originals: Sequence[Document], copies: Sequence[Document]) -> tuple[int, int, int]:
    """Return the number of copies, of those joined with the original at their position only, and with another one."""
    mark = {"original": True}
    marked = [_with(document, **{f"original {number}": mark}) for number, document in enumerate(originals)]
    marked += [_with(document, **{f"copy {number}": mark}) for number, document in enumerate(copies)]
    right = wrong = 0
    for document in without_copies(marked):
        of = {
            role: {name for name in document.metadata if name.startswith(f"{role} ")} for role in ("original", "copy")
        }
        numbers = {name.partition(" ")[2] for name in of["original"]}
        for copy in of["copy"]:
            right += numbers == {copy.partition(" ")[2]}
            wrong += bool(numbers - {copy.partition(" ")[2]})
    return len(copies), right, wrong


def same_papers(documents: Sequence[Document]) -> Iterator[tuple[Document, Document]]:
    """Yield the first and the further documents of each group that is joined by texts alone."""
    bare = [
        Document(ListId(str(number)), document.title, document.abstract, metadata={f"text {number}": True})
        for number, document in enumerate(documents)
    ]
    for document in without_copies(bare):
        first, *copies = sorted(int(name.partition(" ")[2]) for name in document.metadata if name.startswith("text "))
        yield from ((documents[first], documents[copy]) for copy in copies)


def copy_of(document: Document, change: Change) -> Document:
    """Return a record as another database has it: the same fields without PubMed's ids, and changed."""
    metadata = {name: value for name, value in document.metadata.items() if name not in ("pmid", "pmcid")}
    return change(replace(document, id=ListId(document.id), metadata=metadata))


def shown(count: int, total: int) -> str:
    """A share with Wilson's interval of 95 %."""
    share = count / max(1, total)
    centre, squared = share + _Z**2 / (2 * max(1, total)), _Z**2 / max(1, total)
    spread = _Z * sqrt(share * (1 - share) / max(1, total) + squared / (4 * max(1, total)))
    return f"{share:.4f} ({(centre - spread) / (1 + squared):.4f} to {(centre + spread) / (1 + squared):.4f})"


def _is_complete(document: Document) -> bool:
    known = Bibliography.of(document.metadata)
    return bool(document.title and document.abstract and known.authors and known.year and known.journal)


def _with(document: Document, **fields: Any) -> Document:
    """Return the document with these fields; None takes one away."""
    metadata = {name: value for name, value in {**document.metadata, **fields}.items() if value is not None}
    return replace(document, metadata=metadata)


def _no_doi(document: Document) -> Document:
    return _with(document, doi=None)


def _no_abstract(document: Document) -> Document:
    return replace(document, abstract="")


def _initials(document: Document) -> Document:
    names = [name.partition(", ") for name in Bibliography.of(document.metadata).authors]
    short = [f"{last} {''.join(word[0] for word in first.split())}".strip() for last, _, first in names]
    return _with(document, authors=short)


def _short_pages(document: Document) -> Document:
    return _with(document, pages=Bibliography.of(document.metadata).pages.partition("-")[0] or None)


def _capitals(document: Document) -> Document:
    return replace(document, title=document.title.upper().rstrip("."))


def _folded(document: Document) -> Document:
    folded = [
        re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFKD", text)).replace("β", "beta").replace("α", "alpha")
        for text in (document.title, document.abstract)
    ]
    return replace(document, title=folded[0], abstract=folded[1])


def _marked_up(document: Document) -> Document:
    title = document.title.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return replace(document, title=f"<i>{title}</i>", abstract=f"{document.abstract} © 2015 The Authors.")


def _mistyped(document: Document) -> Document:
    """A letter of the longest word of the title is missing."""
    longest = max(document.title.split(), key=len)
    return replace(document, title=document.title.replace(longest, longest[:2] + longest[3:], 1))


def _cut_abstract(document: Document) -> Document:
    text = " ".join(document.abstract.split()[:100])
    return replace(document, abstract=f"{text} (ABSTRACT TRUNCATED AT 250 WORDS)")


def _no_subtitle(document: Document) -> Document:
    return replace(document, title=re.split(r"[:.?] ", document.title)[0])


def _next_year(document: Document) -> Document:
    return _with(document, year=(Bibliography.of(document.metadata).year or 0) + 1, date=None)


def _no_authors(document: Document) -> Document:
    return _with(document, authors=None)


def _title_only(document: Document) -> Document:
    return replace(document, abstract="", metadata={})


def _all(*changes: Change) -> Change:
    def change(document: Document) -> Document:
        for one_change in changes:
            document = one_change(document)
        return document

    return change


COPIES: dict[str, Change] = {
    "the same fields": _all(),
    "capitals, no abstract": _all(_capitals, _no_abstract),
    "no subtitle, no abstract": _all(_no_subtitle, _no_abstract),
    "no DOI, initials, short pages, no abstract": _all(_no_doi, _initials, _short_pages, _no_abstract),
    "no DOI, the next year, no pages, no abstract": _all(
        _no_doi, _next_year, lambda document: _with(document, pages=None, volume=None), _no_abstract
    ),
    "no DOI, no authors, no abstract": _all(_no_doi, _no_authors, _no_abstract),
    "no DOI, no authors, accents and Greek letters spelt": _all(_no_doi, _no_authors, _folded),
    "no DOI, no authors, tags, entities, a copyright notice": _all(_no_doi, _no_authors, _marked_up),
    "no DOI, no authors, a letter of the title missing": _all(_no_doi, _no_authors, _mistyped),
    "no DOI, no authors, the abstract cut": _all(_no_doi, _no_authors, _cut_abstract),
    "title alone": _title_only,
}
"""What differs in a copy, in the words of the evidence page."""


def _namesake(original: Document, _: Document) -> Document:
    """A paper of the same title by others in another year, such as a column of a journal, without an abstract."""
    fields = {"authors": ["Another, Ann"], "year": (Bibliography.of(original.metadata).year or 0) + 3, "date": None}
    return _with(copy_of(original, _no_abstract), **fields, doi=None, volume="901", pages="77")


def _supplement(original: Document, paper: Document) -> Document:
    """Another abstract of a supplement, which shares its DOI and year."""
    known = original.metadata
    return _with(copy_of(paper, _all()), doi=known.get("doi"), year=known.get("year"), journal=known.get("journal"))


def _second_part(original: Document, paper: Document) -> Document:
    """A second part by the same authors: the title with a number, and another abstract."""
    title = f"{original.title.rstrip('.')}: part 2"
    return _with(copy_of(replace(original, title=title, abstract=paper.abstract), _no_doi), pages="77")


def _erratum(original: Document, _: Document) -> Document:
    """A notice that repeats the paper's title and abstract, in the next volume and under its own DOI."""
    copy = replace(copy_of(original, _all()), title=f"Erratum to: {original.title}")
    return _with(copy, doi="10.1000/erratum", year=(Bibliography.of(original.metadata).year or 0) + 1, volume="901")


def _reply(original: Document, paper: Document) -> Document:
    """A reply to the paper on the next page of the same volume, by its authors, without an abstract."""
    return _with(replace(copy_of(original, _no_abstract), title=f"{original.title}: authors' reply"), doi=None)


def _congress(original: Document, _: Document) -> Document:
    """A congress abstract of the same title and authors in the year before."""
    fields = {"journal": "Abstracts of the Annual Congress", "abbreviation": None, "issn": None, "volume": None}
    year = (Bibliography.of(original.metadata).year or 0) - 1
    return _with(copy_of(original, _no_abstract), **fields, doi=None, pages=None, year=year, date=None)


def _other_journal(original: Document, _: Document) -> Document:
    """A notice or column of the same title, year, volume and page in another journal, such as an acknowledgement."""
    fields = {"journal": "Another Journal", "abbreviation": None, "issn": None, "authors": None}
    return _with(copy_of(original, _no_abstract), **fields, doi=None)


def _same_trial(original: Document, paper: Document) -> Document:
    """Another paper of the same trial."""
    return _with(copy_of(paper, _all()), nct="NCT01111222")


LOOK_ALIKES: dict[str, Callable[[Document, Document], Document]] = {
    "the same title, other authors, year and pages": _namesake,
    "the same DOI (of a supplement), another text": _supplement,
    "the same title with “part 2”, another abstract": _second_part,
    "an erratum that repeats title and abstract": _erratum,
    "the authors' reply, without an abstract": _reply,
    "a congress abstract of the same title and authors": _congress,
    "the same title, volume and page in another journal": _other_journal,
    "another paper of the same trial": _same_trial,
}
"""Different papers, each made of an original and an unrelated paper."""


if __name__ == "__main__":
    sys.exit(main())

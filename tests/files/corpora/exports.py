"""Small exports of known papers in the formats that databases write, with the liberties that their programs take."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from hypothesis import strategies as st

WORDS = [
    *("sweat", "of", "CFTR", "(n=5)", "p<0.05", "<i>E.", "coli</i>", "&", "&amp;", "AT&T", "don't", '"quoted"', "10,5"),
    *("a;b", "x|y", "50%", "a_b", "#1", "US$5", "p$q", "Sjögren", "naïve", "TGF-β1", "été", "–", "’", "囊性", "🧬"),
    *("ER", "AIM", "-", "[sic].", "title", "Abstract:", "1", "\xa0", "10^5", "@home", "No abstract", "NA"),
]


@dataclass(frozen=True, slots=True)
class Paper:
    """What every reader should find; no text is a placeholder."""

    pmid: str
    title: str
    abstract: str
    doi: str


@dataclass(frozen=True, slots=True)
class Style:
    """The liberties of a program that writes exports; `wrap` is the number of words in a line, 0 for any number."""

    order: tuple[int, ...]
    wrap: int
    marks_ends: bool
    has_others: bool
    has_preamble: bool
    quotes: bool
    placeholder: str

    def ordered(self, fields: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """The fields, of which the abstract may be missing, in the program's order, with others that nobody reads."""
        told = [fields[number] for number in self.order]
        return [field for field in told if field[1]] + (list(others) if self.has_others else [])

    def wrapped(self, text: str, indent: str) -> str:
        """The text in lines."""
        words = text.split(" ")
        size = self.wrap or len(words)
        return f"\n{indent}".join(" ".join(words[begin : begin + size]) for begin in range(0, len(words), size))


_texts = st.lists(st.sampled_from(WORDS), max_size=8)
papers = st.lists(st.tuples(_texts, _texts | st.none()), min_size=1, max_size=5).map(
    lambda texts: [_paper(number, *both) for number, both in enumerate(texts, 1)]
)
styles = st.builds(
    Style,
    order=st.permutations(range(4)).map(tuple),
    wrap=st.sampled_from([0, 0, 2, 5]),
    marks_ends=st.booleans(),
    has_others=st.booleans(),
    has_preamble=st.booleans(),
    quotes=st.booleans(),
    placeholder=st.sampled_from(["", "NA", "[No abstract available]"]),
)


def _paper(number: int, title: list[str], abstract: list[str] | None) -> Paper:
    """A paper whose words and numbers, several of its digits apart, no other one has."""
    digit = str(number)
    doi = f"10.1000/{digit * 4}"
    body = "" if abstract is None else " ".join([f"Rose{digit * 4}", *abstract, "indeed."])
    return Paper(f"{digit * 3}0{digit * 2}2{digit}", " ".join([f"Salt{digit * 4}", *title, "today"]), body, doi)


def _named(paper: Paper, style: Style, *names: str) -> list[tuple[str, str]]:
    return list(zip(names, (paper.pmid, paper.title, paper.abstract or style.placeholder, paper.doi), strict=True))


def ris(papers: Sequence[Paper], style: Style) -> list[str]:
    """RIS, its type first or last, with or without marks of the end."""

    def record(paper: Paper) -> str:
        fields = style.ordered(_named(paper, style, "AN", "TI", "AB", "DO"), [("KW", "salt"), ("XX", "odd")])
        lines = [f"{tag}  - {style.wrapped(text, '')}" for tag, text in [("TY", "JOUR"), *fields]]
        return "\n".join([*lines, *(["ER  - "] if style.marks_ends else []), "", ""])

    preamble = "Provider: A database\nContent: text\n\n" * (style.has_preamble and style.marks_ends)
    return [preamble, *map(record, papers), ""]


def nbib(papers: Sequence[Paper], style: Style) -> list[str]:
    """PubMed's own format."""

    def record(paper: Paper) -> str:
        fields = style.ordered(_named(paper, style, "PMID", "TI", "AB", "LID"), [("OWN", "NLM"), ("MH", "Sweat")])
        first, *later = sorted(fields, key=lambda field: field[0] != "PMID")
        lines = [f"{tag:4}- {style.wrapped(text, ' ' * 6)}" for tag, text in [first, *later]]
        return "\n".join([*lines, "", ""])

    return ["\n" * style.has_preamble, *map(record, papers), ""]


def _table(separator: str) -> Callable[[Sequence[Paper], Style], list[str]]:
    def write(papers: Sequence[Paper], style: Style) -> list[str]:
        others = [("Authors", "Doe, J."), ("Year", "2020"), ("Notes", "")]

        def row(cells: Sequence[str]) -> str:
            text = io.StringIO()
            quoting = csv.QUOTE_ALL if style.quotes else csv.QUOTE_MINIMAL
            csv.writer(text, delimiter=separator, quoting=quoting, lineterminator="\n").writerow(cells)
            return text.getvalue()

        def cells(paper: Paper, position: int) -> list[str]:
            fields = _named(paper, style, "PMID", "Title", "Abstract", "DOI")
            told = [fields[number] for number in style.order] + (others if style.has_others else [])
            return [style.wrapped(field[position], "") if position else field[0] for field in told]

        preamble = f"Exported on Jan 1{separator}\n\n" * style.has_preamble
        return [preamble + row(cells(papers[0], 0)), *(row(cells(paper, 1)) for paper in papers), ""]

    return write


def bibtex(papers: Sequence[Paper], style: Style) -> list[str]:
    """BibTeX, whose special characters some programs escape."""

    def value(text: str) -> str:
        escaped = "".join(f"\\{letter}" if letter in "&%$#_" else letter for letter in text) if style.quotes else text
        return f"{{{style.wrapped(escaped, '  ')}}}"

    def record(paper: Paper) -> str:
        fields = style.ordered(_named(paper, style, "pmid", "title", "abstract", "doi"), [("year", "2020")])
        lines = [f"  {name} = {value(text)}" for name, text in fields]
        return f"@article{{key{paper.pmid},\n" + ",\n".join(lines) + "\n}\n\n"

    return ["% a list\n" * style.has_preamble, *map(record, papers), ""]


def web_of_science(papers: Sequence[Paper], style: Style) -> list[str]:
    """Web of Science's tagged format."""

    def record(paper: Paper) -> str:
        fields = style.ordered(_named(paper, style, "PM", "TI", "AB", "DI"), [("ID", "SWEAT; SALT"), ("PY", "2020")])
        lines = [f"{tag} {style.wrapped(text, '   ')}" for tag, text in [("PT", "J"), *fields]]
        return "\n".join([*lines, f"UT WOS:{paper.pmid}", "ER", "", ""])

    return ["FN Clarivate Analytics Web of Science\nVR 1.0\n", *map(record, papers), "EF\n" * style.marks_ends]


def pubmed(papers: Sequence[Paper], style: Style) -> list[str]:
    """PubMed's XML."""

    def record(paper: Paper) -> str:
        title, abstract = (escape(style.wrapped(text, "")) for text in (paper.title, paper.abstract))
        body = f"<Abstract>\n<AbstractText>{abstract}</AbstractText>\n</Abstract>\n" * bool(abstract)
        mesh = "<MeshHeadingList><MeshHeading/></MeshHeadingList>\n" * style.has_others
        return (
            f'<PubmedArticle>\n<MedlineCitation>\n<PMID Version="1">{paper.pmid}</PMID>\n<Article>\n'
            f'<ArticleTitle>{title}</ArticleTitle>\n{body}<ELocationID EIdType="doi">{paper.doi}</ELocationID>\n'
            f"</Article>\n{mesh}</MedlineCitation>\n</PubmedArticle>\n"
        )

    declaration = '<?xml version="1.0" encoding="ENCODING"?>\n'
    return [f"{declaration}<PubmedArticleSet>\n", *map(record, papers), "</PubmedArticleSet>\n"]


FORMATS: dict[str, tuple[str, Callable[[Sequence[Paper], Style], list[str]]]] = {
    "RIS": (".ris", ris),
    "PubMed's own": (".nbib", nbib),
    "CSV": (".csv", _table(",")),
    "TSV": (".tsv", _table("\t")),
    "BibTeX": (".bib", bibtex),
    "Web of Science": (".ciw", web_of_science),
    "PubMed XML": (".xml", pubmed),
}
"""Each format's suffix, and its writer: it gives what stands before the records, each record, what stands behind."""

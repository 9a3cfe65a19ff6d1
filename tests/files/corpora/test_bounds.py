"""Readers of files that nobody checked: bounded memory and linear time, and a record is never cut in silence."""

import time
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from mpir.core.text.types import Document
from mpir.errors import InputError
from mpir.files.corpora.corpus import read_corpus
from mpir.files.corpora.deduplicate import without_copies
from mpir.files.corpora.pubmed import read_pubmed
from mpir.files.corpora.references import read_references
from mpir.files.corpora.topics import read_topics
from mpir.files.corpora.tripclick import read_documents
from mpir.files.corpora.workbooks import read_workbook
from tests.faults.report import count
from tests.files.corpora.records import unnamed
from tests.files.corpora.workbook_xml import sheet_xml, write_book

RIS = "TY  - JOUR\nTI  - A title\nAB  - "
ARTICLE = (
    "<PubmedArticle><MedlineCitation><PMID>{}</PMID><Article><ArticleTitle>{}</ArticleTitle></Article>"
    "</MedlineCitation></PubmedArticle>"
)


def _read(tmp_path: Path, name: str, content: str, read: Callable[[Path], Iterable[object]]) -> list[object]:
    path = tmp_path / name
    path.write_text(content)
    return list(read(path))


def _seconds(work: Callable[[], object]) -> float:
    """What a run takes, in seconds of this process."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def _is_linear(small: Callable[[], object], large: Callable[[], object]) -> bool:
    """Whether four times the input takes less than ten times as long, in the first of three tries that says so."""
    return any(_seconds(large) < 10 * max(_seconds(small), 0.01) for _ in range(3))


READERS: dict[str, tuple[str, Callable[[int], str], Callable[[Path], Iterable[object]]]] = {
    "continued": ("a.ris", lambda n: RIS + "word\n" * n + "ER  - \n", read_references),
    "references": ("a.ris", lambda n: "TY  - JOUR\n" * n, read_references),
    "openings": ("docs_grp_1.txt", lambda n: f"<DOC><DOCNO>7</DOCNO>{'<TITLE>' * n}</DOC>", read_documents),
    "white": ("docs_grp_1.txt", lambda n: f"<DOC><DOCNO>7{' ' * n}x</DOCNO></DOC>".replace("x", ""), read_documents),
    "topic": ("topics.txt", lambda n: f"<top><num>7<title>a{' ' * n}b<</top>", read_topics),
    "inline": ("a.xml", lambda n: _articles([(1, "<sup>2</sup>" * n)]), lambda path: read_pubmed([path])),
}


def _articles(records: Iterable[tuple[int, str]]) -> str:
    return f"<PubmedArticleSet>{''.join(ARTICLE.format(*record) for record in records)}</PubmedArticleSet>"


@pytest.mark.parametrize("name", READERS)
def test_readers_take_time_in_proportion_to_their_input(tmp_path: Path, name: str) -> None:
    file, content, read = READERS[name]
    small, large = (_written(tmp_path / str(size), file, content(size)) for size in (5_000, 20_000))
    assert _is_linear(lambda: list(read(small)), lambda: list(read(large)))


def _written(folder: Path, name: str, content: str) -> Path:
    folder.mkdir()
    (folder / name).write_text(content)
    return folder / name


@pytest.mark.parametrize(
    ("name", "content", "read"),
    [
        ("a.ris", RIS + "word and word\n" * 100_000, read_references),
        ("docs_grp_1.txt", "<DOC>\n" + "a line\n" * 200_000, read_documents),
        ("a.xml", _articles([(1, "t" * 1_200_000)]), lambda path: read_pubmed([path])),
        ("a.xml", _articles([(1, "<i>t</i>" * 150_000)]), lambda path: read_pubmed([path])),
    ],
)
def test_a_record_without_end_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: str,
    read: Callable[[Path], Iterable[object]],
) -> None:
    monkeypatch.setenv("MPIR_MAX_RECORD_MB", "1")
    with pytest.raises(InputError, match=r"longer than 1 MB.*MPIR_MAX_RECORD_MB"):
        _read(tmp_path, name, content, read)


CHAINS = {"i": ("<i>", "</i>"), "sup": ("<i>1", "</i><sup>2</sup>"), "msup": ("<msup>", "<mn>2</mn></msup>")}
LIBRARY = "<xml><records><record><titles><title>Salt {0}</title></titles><notes>{0}</notes></record></records></xml>"
PAPER = "<article><front><article-meta><abstract><p>Salt {0}</p></abstract></article-meta></front></article>"


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("form", [LIBRARY, PAPER, _articles([(1, "{0}")])], ids=["EndNote", "JATS", "PubMed"])
def test_nested_elements_take_linear_time(tmp_path: Path, form: str, chain: str) -> None:
    opening, closing = CHAINS[chain]
    count("nested XML")
    small, large = (
        _written(tmp_path / str(size), "a.xml", form.format((opening * 240 + closing * 240) * size)) for size in (8, 32)
    )
    assert _is_linear(lambda: list(read_corpus([small])), lambda: list(read_corpus([large])))


@pytest.mark.parametrize("closed", [True, False])
def test_deep_nesting_is_refused(tmp_path: Path, closed: bool) -> None:
    nested = "<sup>" * 100_000 + ("</sup>" * 100_000 if closed else "")
    with pytest.raises(InputError, match=r"a\.xml: .*\b256 deep"):
        _read(tmp_path, "a.xml", _articles([(1, nested)]), lambda path: read_pubmed([path]))


def test_pmids_far_apart_take_little_memory(tmp_path: Path) -> None:
    records = _articles((number * 5000, "a") for number in range(1, 4_001))
    tracemalloc.start()
    assert len(_read(tmp_path, "a.xml", records, lambda path: read_pubmed([path]))) == 4_000
    assert tracemalloc.get_traced_memory()[1] < 16_000_000  # bytes; pages of 4,096 bytes alone took as many
    tracemalloc.stop()


CELLS = r"more than 4,194,304 cells, most of them blank; save .* or set MPIR_MAX_EXPANSION"
EXPANDS = "expands to more than 200 times its size"


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ('<row r="99999999999"/>', {}, CELLS),
        ("".join(f'<row r="{row}"><c r="XFD{row}"/></row>' for row in range(3, 300)), {}, CELLS),
        ('<row r="1048576"/>', {"sheets": 5}, CELLS),
        ('<row r="1048576"/>', {"sheets": 5, "files": 1}, "two sheets .*file"),
        ("", {"strings": "<si><t></t></si>" * 5_000_000}, EXPANDS),
        ("", {"strings": "<si/>" * 100_000}, EXPANDS),
    ],
)
def test_a_workbook_is_bounded_before_it_is_read(
    tmp_path: Path, rows: str, options: dict[str, Any], message: str
) -> None:
    count("workbooks without bound")
    path = write_book(tmp_path / "a.xlsx", sheet_xml(rows), **options)
    with pytest.raises(InputError, match=rf"a\.xlsx: .*{message}"):
        list(read_workbook(path))


def test_the_size_that_a_sheet_declares_is_not_walked(tmp_path: Path) -> None:
    count("workbooks without bound")
    path = write_book(tmp_path / "a.xlsx", sheet_xml(dimension="A1:XFD1048576"))
    assert list(read_workbook(path)) == [unnamed("Aspirin")]


def test_the_limit_of_a_workbook_can_be_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_book(tmp_path / "a.xlsx", sheet_xml(), strings="<si/>" * 100_000)
    monkeypatch.setenv("MPIR_MAX_EXPANSION", "2000")
    assert len(list(read_workbook(path))) == 1


ENTRY = "@article{{{}, title = {{A study}}, abstract = {{Aspirin {}}}}}\n"


@pytest.mark.parametrize("abstract", ["", "{}"])
def test_a_repeated_key_takes_linear_time(tmp_path: Path, abstract: str) -> None:
    """Both in reading, where ids get a number, and in finding the duplicates."""
    count("BibTeX without bound")
    small, large = (
        _written(
            tmp_path / str(size),
            "a.bib",
            "".join(ENTRY.format("key", abstract.format(number)) for number in range(size)),
        )
        for size in (250, 1_000)
    )
    assert _is_linear(lambda: _deduplicated(small), lambda: _deduplicated(large))


def _deduplicated(path: Path) -> list[Document]:
    return without_copies(list(read_corpus([path])))


@pytest.mark.parametrize(
    ("latex", "message"),
    [(r"a\#" * 50_000, "has 150,000 characters"), (r"\textbf{" * 3_000 + "}" * 3_000, "nested too deeply")],
)
def test_latex_is_bounded(tmp_path: Path, latex: str, message: str) -> None:
    count("BibTeX without bound")
    path = _written(tmp_path / "folder", "a.bib", f"@article{{key, title = {{{latex}}}}}")
    with pytest.raises(InputError, match=rf"a\.bib:1: .* {message}"):
        list(read_corpus([path]))

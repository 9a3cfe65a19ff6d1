import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.corpora import read_corpus
from mpir.corpora.tables import _NOTHING, read_table
from mpir.errors import InputError
from mpir.text.types import Document

WANTED = [Document("7", "Salt, in sweat", 'It is "high".\nOften.'), Document("10.1/2", "No PMID", "")]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_columns_are_found_by_their_names(tmp_path: Path, delimiter: str, start: str) -> None:
    rows = [
        ["Authors", "Title", "DOI", "PMID", "Abstract"],
        ["Doe, J.", "Salt, in sweat", "10.1/1", "7", 'It is "high".\nOften.'],
        [],
        ["", "No PMID", "10.1/2"],
    ]
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter).writerows(rows)
    path = tmp_path / "a.csv"
    path.write_bytes((start + written.getvalue()).encode())
    assert list(read_table(path)) == WANTED


def test_a_row_without_an_id_has_its_number_as_a_spreadsheet_shows_it(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('title,abstract note\nOne,"First\nsecond line"\nTwo,Third\n')
    assert list(read_corpus([tmp_path])) == [
        Document("a.csv:2", "One", "First\nsecond line"),
        Document("a.csv:3", "Two", "Third"),
    ]
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"id,text\n1,packed\n"))
    assert [one.id for one in read_corpus([tmp_path / "b.csv.gz"])] == ["1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.csv:1: no column is named title or abstract, but none at all"),
        ("name,age\nJane,7\n", "a.csv:1: no column is named title or abstract, but name, age; name"),
        ('id,title\n1,whole\n2,"never closed\n3,lost\n4,lost\n', r"a.csv:3: no table's row \(unexpected end of data\)"),
        ('title\n"She said "no" to it"\n', r"a.csv:2: no table's row .* or not doubled inside a cell."),
    ],
)
def test_what_is_no_table_of_documents_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        list(read_table(tmp_path / "a.csv"))


def test_a_full_paper_fits_into_a_cell(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f'id,text\n1,"{"word " * 50_000}"\n')
    (document,) = read_table(tmp_path / "a.csv")
    assert len(document.abstract) == 249_999


def test_old_line_ends_and_headers_of_two_lines(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"Title,Abstract\rA,B c.\r\rD,E.\r")
    assert list(read_table(tmp_path / "a.csv")) == [Document("a.csv:2", "A", "B c."), Document("a.csv:4", "D", "E.")]
    (tmp_path / "b.csv").write_text('"Study\nID","Record\nID",Title,Abstract\nx,7,T,"Two\nlines"\n')
    assert list(read_table(tmp_path / "b.csv")) == [Document("b.csv:2", "T", "Two\nlines")]


def test_the_pmid_is_the_best_id_and_na_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Title,Abstract,DOI,EID,PubMed ID\nA,NA,10.1/1,2-s2.0-1,222\nB,b,10.1/2,NA,\n")
    assert list(read_table(tmp_path / "a.csv")) == [Document("222", "A", ""), Document("10.1/2", "B", "b")]


def test_an_abstract_that_scopus_does_not_have_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Title,Abstract,EID\nA,[No abstract available],1\nB,Not available.,2\n")
    assert list(read_table(tmp_path / "a.csv")) == [Document("1", "A", ""), Document("2", "B", "Not available.")]


CELL = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"))
    .map(str.strip)
    .filter(lambda cell: cell not in _NOTHING)
)


@given(st.lists(st.tuples(CELL.filter(bool), CELL, CELL), min_size=1))
def test_what_python_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]]
) -> None:
    path = tmp_path_factory.mktemp("corpus") / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("id", "title", "abstract"), *rows])
    assert list(read_table(path)) == [Document(*row) for row in rows]

import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.core.text.types import Document
from mpir.errors import InputError
from mpir.files.corpora import read_corpus
from mpir.files.corpora.placeholders import says_nothing
from mpir.files.corpora.tables import read_table
from tests.files.corpora.records import unnamed

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


def test_a_row_without_an_id_is_called_by_its_words(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('title,abstract note\nOne,"First\nsecond line"\nTwo,Third\n')
    assert list(read_corpus([tmp_path])) == [
        unnamed("One", "First\nsecond line"),
        unnamed("Two", "Third"),
    ]
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"id,text\n1,packed\n"))
    assert [document.id for document in read_corpus([tmp_path / "b.csv.gz"])] == ["1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"a\.csv:1: .*\(got no columns"),
        ("name,age\nJane,7\n", r"a\.csv:1: .*\(got name, age\)"),
        ("a,b\nJane,7\n", r"a\.csv:1: .*\(got a, b\)"),  # together they are "ab", an abstract's tag
        ("a;b\nJane, 7;8\n", r"a\.csv:1: .*\(got a, b\)"),
        (
            'id,title\n1,whole\n2,"never closed\n3,lost\n4,lost\n',
            r"a\.csv:3: .*\(unexpected end",
        ),
        ('title\n"She said "no" to it"\n', r"a\.csv:2: .*table row"),
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
    assert list(read_table(tmp_path / "a.csv")) == [unnamed("A", "B c."), unnamed("D", "E.")]
    (tmp_path / "b.csv").write_text('"Study\nID","Record\nID",Title,Abstract\nx,7,T,"Two\nlines"\n')
    assert list(read_table(tmp_path / "b.csv")) == [Document("7", "T", "Two\nlines")]


def test_blank_rows_and_a_header_that_comes_again_are_no_records(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("PMID,Title\n1,One\n , \nPMID,Title\n2,Two\n\n \n")
    assert [(document.id, document.title) for document in read_table(path)] == [("1", "One"), ("2", "Two")]


def test_the_pmid_is_the_best_id_and_na_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Title,Abstract,DOI,EID,PubMed ID\nA,NA,10.1/1,2-s2.0-1,222\nB,b,10.1/2,NA,\n")
    assert list(read_table(tmp_path / "a.csv")) == [Document("222", "A", ""), Document("10.1/2", "B", "b")]


def test_an_abstract_that_scopus_does_not_have_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Title,Abstract,EID\nA,[No abstract available],1\nB,Not available.,2\n")
    assert list(read_table(tmp_path / "a.csv")) == [Document("1", "A", ""), Document("2", "B", "")]


@pytest.mark.parametrize("first", ["sep=;", "SEP=;", '"sep=;"'])
def test_the_separator_that_excel_is_told(tmp_path: Path, first: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(f"\ufeff{first}\r\nPMID;Title, subtitle, title;Title\r\n7;x;Salt\r\n;y;Water\r\n".encode())
    assert list(read_table(path)) == [Document("7", "Salt", ""), unnamed("Water")]


def test_any_separator_may_be_told_and_lines_are_counted_with_it(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('sep=|\nid|title\n1|Salt, "sweat"\n', encoding="utf-8")
    assert list(read_table(path)) == [Document("1", 'Salt, "sweat"', "")]
    path.write_text("sep=\t\nid\ttitle\n1\tA;b;c\n", encoding="utf-8")
    assert list(read_table(path)) == [Document("1", "A;b;c", "")]
    path.write_text('sep=;\nid;title\n1;whole\n2;"never closed\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.csv:4: .*table row"):
        list(read_table(path))
    path.write_text("sep=;\nname;age\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.csv:2: .*\(got name, age"):
        list(read_table(path))


def test_two_columns_of_one_name_are_refused_where_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,Title,title ,Title\n1,One,Two,Three\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.csv:1: columns 2, 3 and 4 .*title"):
        list(read_table(path))
    path.write_text("id,Notes,Notes,Title,,\n1,a,b,One,,\n", encoding="utf-8")
    assert list(read_table(path)) == [Document("1", "One", "")]


EMBASE = """\
"TITLE","Salt; in; sweat"
"AUTHOR NAMES","Doe J.","Roe R."
"ABSTRACT","It is ""high"".","Often."
"MEDLINE PMID","7","http://www.ncbi.nlm.nih.gov/pubmed/7"
"PUI","L1"
"DOI","10.1/1"

"TITLE","No PMID"
"SOURCE","Letters on Salt (2020)"
"PUI","L2"
"DOI","10.1/2"

"TITLE","A PUI alone"
"PUI","L3"

"ORIGINAL (NON-ENGLISH) TITLE","Salz"
"ORIGINAL (NON-ENGLISH) ABSTRACT","Es ist hoch."
"""
RECORDS = [
    Document("7", "Salt; in; sweat", 'It is "high". Often.'),
    Document("10.1/2", "No PMID", ""),
    Document("L3", "A PUI alone", ""),
    unnamed("Salz", "Es ist hoch."),
]


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_embases_fields_by_row(tmp_path: Path, start: str, end: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes((start + EMBASE.replace("\n", end)).encode())
    assert list(read_corpus([path])) == RECORDS


def test_embases_fields_by_row_as_a_spreadsheet_saves_them_again(tmp_path: Path) -> None:
    written = io.StringIO()
    rows = [[*row, "", "", ""][:4] for row in csv.reader(EMBASE.splitlines())]
    csv.writer(written, delimiter=";").writerows(rows)
    (tmp_path / "a.csv").write_text(written.getvalue(), encoding="utf-8")
    assert list(read_table(tmp_path / "a.csv")) == RECORDS


def test_a_title_begins_a_record_of_embases_without_a_blank_row_too(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('"TITLE","One"\n"TITLE","Two"\n"ABSTRACT","b"\n', encoding="utf-8")
    assert list(read_table(tmp_path / "a.csv")) == [unnamed("One"), unnamed("Two", "b")]


def test_a_title_may_come_behind_other_fields_of_a_record_of_embases(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('"TITLE","One"\n"DOI","10.1/1"\n\n"PUI","L2"\n"TITLE","Two"\n', encoding="utf-8")
    assert list(read_table(tmp_path / "a.csv")) == [Document("10.1/1", "One", ""), Document("L2", "Two", "")]


def test_embases_fields_by_column_have_the_pmid_too(tmp_path: Path) -> None:
    header = "TITLE,ABSTRACT,Embase Accession ID,Medline PMID,PUI,DOI"
    (tmp_path / "a.csv").write_text(f"{header}\nSource,b,1,7,L1,10.1/1\nSOURCE,b,2,,L2,\n", encoding="utf-8")
    assert list(read_table(tmp_path / "a.csv")) == [Document("7", "Source", "b"), Document("L2", "SOURCE", "b")]


CELL = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"))
    .map(str.strip)
    .filter(lambda cell: not cell or not says_nothing(cell))
)


@given(st.lists(st.tuples(CELL.filter(bool), CELL, CELL), min_size=1))
def test_what_python_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]]
) -> None:
    path = tmp_path_factory.mktemp("corpus") / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("id", "title", "abstract"), *rows])
    assert list(read_table(path)) == [Document(*row) for row in rows]


def test_a_message_about_very_many_columns_is_short(tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text(",".join(f"c{number}" for number in range(100_000)) + "\n")
    (tmp_path / "same.csv").write_text("id,title," + ",".join(["title"] * 1000) + "\n1,a\n")
    for name, count in (("wide.csv", "100,000"), ("same.csv", "1,000")):
        with pytest.raises(InputError, match=rf"… \({count} in all\)") as error:
            list(read_table(tmp_path / name))
        assert len(str(error.value)) < 400

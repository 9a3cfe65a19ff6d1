"""Rows that would be read as something else: second headers, cells without a name, broken rows, repeated names."""

import csv
import io
import logging
from pathlib import Path

import pytest

from mpir import Document
from mpir.errors import InputError
from mpir.files.corpora import read_corpus
from mpir.files.corpora.tables import read_table

HEADER, SECOND = "ID,Title,Abstract,Cited by", '2,Tea,"Sweet, as milk.",7'


def table(folder: Path, *lines: str) -> list[Document]:
    (folder / "a.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return list(read_table(folder / "a.csv"))


@pytest.mark.parametrize(
    "again",
    [HEADER, HEADER.lower(), "ID, Title, Abstract, Cited by", '"ID","Title","Abstract","Cited-by",', "\ufeff" + HEADER],
)
def test_the_header_of_a_concatenated_table_is_no_record_however_it_is_written(tmp_path: Path, again: str) -> None:
    documents = table(tmp_path, HEADER, "1,Salt,Sweat.,3", again, SECOND)
    assert documents == [Document("1", "Salt", "Sweat."), Document("2", "Tea", "Sweet, as milk.")]


@pytest.mark.parametrize("again", ["ID,Abstract,Title,Cited by", "PMID,Title,Year,Abstract", "title,abstract,journal"])
def test_a_second_header_with_other_columns_is_refused(tmp_path: Path, again: str) -> None:
    with pytest.raises(InputError, match=r"a\.csv: row 3 .*second header"):
        table(tmp_path, HEADER, "1,Salt,Sweat.,3", again, SECOND)


def test_words_of_headers_in_records_are_no_header(tmp_path: Path) -> None:
    rows = ["x,Abstract,,", "Key,Summary,,", "y,Text,A summary.,", "z,Title,Abstract of a talk.,"]
    assert [document.title for document in table(tmp_path, HEADER, *rows)] == ["Abstract", "Summary", "Text", "Title"]


def test_each_author_and_keyword_may_have_a_column_of_one_name(tmp_path: Path) -> None:
    header = "ID,Title,Author,Author,Year,Author,Keywords,keywords,Year,Notes,Notes"
    documents = table(tmp_path, header, 'a,Salt,"Doe, J.",,2015,Roe R,salt; sweat,Salt of seas,2016,x,y')
    metadata = documents[0].metadata
    assert metadata["authors"] == ["Doe, J.", "Roe R"]
    assert metadata["keywords"] == ["salt", "sweat", "Salt of seas"]
    assert (metadata["year"], metadata["source_fields"]["Year"]) == (2015, "2016")
    assert metadata["source_fields"]["Notes"] == ["x", "y"]


def test_names_in_lines_of_a_cell_are_several(tmp_path: Path) -> None:
    (document,) = table(tmp_path, "ID,Title,Keywords,Publication Type", '1,Salt,"salt\nsweat","Review\nLetter"')
    assert (document.metadata["keywords"], document.metadata["types"]) == (["salt", "sweat"], ["Review", "Letter"])
    (document,) = table(tmp_path, "ID,Title,Keywords", '1,Salt,"salt;\nsweat of\nmen"')
    assert document.metadata["keywords"] == ["salt", "sweat of men"]


@pytest.mark.parametrize("header", ["ID,Title,Decision,,Note", "ID,Title,Decision,Note,"])
def test_cells_below_no_name_are_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture, header: str) -> None:
    with caplog.at_level(logging.WARNING):
        table(tmp_path, header, "1,Salt,yes,,", "2,Tea,no,x,y", ",Milk,no,,")
    assert "a.csv: 1 rows have cells without a column name" in caplog.text
    assert "the first is row 3" in caplog.text


def test_numbers_of_rows_are_not_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table(tmp_path, ",Title,Abstract", "0,Salt,Sweat.", "1,Tea,Sweet.")
    assert not [record for record in caplog.records if "column name" in record.getMessage()]


def test_rows_that_a_line_break_divides_are_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [["1", "Salt", "First.\n\nSecond\nThird", "2015"], ["2", "Tea", "Whole.", "2016"], ["3", "A\nB", "C.", ""]]
    lines = ["ID\tTitle\tAbstract\tYear", *map("\t".join, rows)]
    with caplog.at_level(logging.WARNING):
        table(tmp_path, *lines)
    assert "a.csv: 2 rows are probably broken by a line break" in caplog.text
    assert "the first is row 2" in caplog.text
    caplog.clear()
    quoted = io.StringIO()
    csv.writer(quoted, delimiter="\t").writerows(rows)
    assert len(table(tmp_path, lines[0], quoted.getvalue())) == 3
    assert not caplog.records


def test_rows_without_their_last_blank_cells_are_whole(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lines = ["1,Salt,Sweat.", "2,Tea", "3,Milk,White.,2015", "4,Ale", "", "5,Gin,Dry.", "Total"]
    with caplog.at_level(logging.WARNING):
        assert len(table(tmp_path, "ID,Title,Abstract,Year", *lines)) == 6
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        "1 of 6 records have neither title nor abstract (the first has the id Total); look at the file there"
    ]


def test_the_keywords_of_web_of_science_are_no_key(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("PT\tTI\tAB\tID\tUT\tMY\nJ\tSalt\tSweat.\tSODIUM\tWOS:1\tx\n", encoding="utf-8")
    (document,) = read_corpus([tmp_path / "a.txt"])
    assert document.metadata["source_fields"] == {"MY": "x"}
    assert document.metadata["keywords"] == ["SODIUM"]


def test_names_in_cells_of_their_own_are_several_in_embases_rows(tmp_path: Path) -> None:
    rows = ['"TITLE","Salt"', '"AUTHOR NAMES","Doe J.","Roe R."', '"AUTHOR KEYWORDS","salt","sweat"', '"MY FIELD","x"']
    (document,) = table(tmp_path, *rows)
    assert (document.metadata["authors"], document.metadata["keywords"]) == (["Doe J.", "Roe R."], ["salt", "sweat"])
    assert document.metadata["source_fields"] == {"my field": "x"}


def test_a_pmid_with_a_decimal_comma_is_no_other_pmid(tmp_path: Path) -> None:
    rows = ["PMID;Title", "1,2345E+07;Digits lost", "1,2345678E+07;Whole", "1,7284678e+07;R", "8906788,0;Fraction"]
    ids = [(document.id, document.metadata.get("pmid")) for document in table(tmp_path, *rows)]
    pmids = [(pmid, pmid) for pmid in ("12345678", "17284678", "8906788")]
    assert ids == [("1,2345E+07", None), *pmids]


def test_titles_and_bodies_in_place_of_which_others_are_read_are_kept(tmp_path: Path) -> None:
    header = "ID,Title,Original title,Abstract,Summary,Description"
    documents = table(tmp_path, header, "a,Salt,Salz,Sweat.,mine: good,x", "b,Tea,,,Only a summary.,")
    assert [document.abstract for document in documents] == ["Sweat.", "Only a summary."]
    kept = {"ID": "a", "Original title": "Salz", "Summary": "mine: good", "Description": "x"}
    assert documents[0].metadata["source_fields"] == kept


def test_authors_beyond_the_first_hundreds_are_not_left_out_without_a_word(tmp_path: Path) -> None:
    names = "; ".join(f"Doe{number}, J." for number in range(501))
    (document,) = table(tmp_path, "ID,Title,Authors", f'1,Salt,"{names}"')
    assert document.metadata["authors"][-2:] == ["Doe499, J.", "et al."]
    (document,) = table(tmp_path, "ID,Title,Authors", f'1,Salt,"{names[:3000]}"')
    assert "et al." not in document.metadata["authors"]


def test_a_hidden_sheet_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for sheet, number in ((book.active, 1), (book.create_sheet("Old"), 2)):
        sheet.append(["ID", "Title"])
        sheet.append([number, "Salt"])
    book["Old"].sheet_state = "hidden"
    book.save(tmp_path / "a.xlsx")
    with caplog.at_level(logging.WARNING):
        assert len(list(read_corpus([tmp_path / "a.xlsx"]))) == 2
    assert "a.xlsx: read hidden sheets, too; delete those with other records: Old" in caplog.text

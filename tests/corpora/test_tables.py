import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.corpora import read_corpus
from mpir.corpora.tables import read_table
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
        ("title\n" + '"' + "never closed\n" * 20_000, r"a.csv:\d+: no table's row .*a quotation mark"),
    ],
)
def test_what_is_no_table_of_documents_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        list(read_table(tmp_path / "a.csv"))


CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00")).map(str.strip)


@given(st.lists(st.tuples(CELL.filter(bool), CELL, CELL), min_size=1))
def test_what_python_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]]
) -> None:
    path = tmp_path_factory.mktemp("corpus") / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("id", "title", "abstract"), *rows])
    assert list(read_table(path)) == [Document(*row) for row in rows]

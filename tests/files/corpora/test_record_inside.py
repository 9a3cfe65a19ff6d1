"""The record in a file: not a field of it, not what its name or a row's name suggests."""

import csv
import io
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.core.text.types import Document
from mpir.files.corpora import read_corpus

RECORD: dict[str, Any] = {"id": "a1", "title": "Salt in sweat", "abstract": "Sweat is salty."}
FIELDS: dict[str, Any] = {
    "source": {"title": "J Salt", "id": "S99", "publisher": "Salty Press"},
    "document": {"title": "scan.pdf", "pages": 7},
    "study": {"id": "st-7", "title": "SALT trial"},
    "data": {"title": "Table 1", "text": "1 2"},
    "references": [{"id": "r1", "title": "Salt in tears", "abstract": "Tears are salty."}],
    "documents": [{"id": "r2", "title": "supplement.pdf"}],
    "results": [],
    "papers": [{"title": "Salt in milk", "text": "Milk is not."}] * 3,
}


def read(path: Path, value: object) -> list[Document]:
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return list(read_corpus([path]))


@given(st.permutations([*RECORD, *FIELDS]), st.booleans(), st.sampled_from(["a.json", "a.jsonl"]))
def test_fields_of_a_record_are_no_records(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], in_list: bool, file: str
) -> None:
    record = {name: {**RECORD, **FIELDS}[name] for name in names}
    is_list = in_list and file == "a.json"
    (document,) = read(tmp_path_factory.mktemp("json") / file, [record] if is_list else record)
    assert (document.id, document.title, document.abstract) == tuple(RECORD.values())


@pytest.mark.parametrize(
    "around",
    [
        {"_index": "i", "_id": "a1", "_source": {"title": "Salt in sweat", "abstract": "Sweat is salty."}},
        {"distance": 0.5, "entity": RECORD},
        {"id": "a1", "fields": {"title": ["Salt in sweat"], "abstract": ["Sweat is salty."]}},
        {"key": "K", "version": 1, "data": RECORD},
        {"id": "a1", "type": "dois", "attributes": {"title": "Salt in sweat", "abstract": "Sweat is salty."}},
        {"study": RECORD},
        {"article": {"document": RECORD}},
    ],
)
@pytest.mark.parametrize("file", ["a.json", "a.jsonl"])
def test_an_object_without_a_text_wraps_its_record(tmp_path: Path, around: dict[str, Any], file: str) -> None:
    (document,) = read(tmp_path / file, [around] if file == "a.json" else json.dumps(around) + "\n")
    assert (document.id, document.title, document.abstract) == tuple(RECORD.values())


@pytest.mark.parametrize("number", [1, 3, 1500])
@pytest.mark.parametrize("around", [{"title": "Search results"}, {"query": "salt"}, {"description": "A collection."}])
def test_a_list_of_records_stays_one(tmp_path: Path, number: int, around: dict[str, str]) -> None:
    records = [{**RECORD, "id": str(position)} for position in range(number)]
    for value in ({**around, "items": records}, {"items": records, **around}, {"message": {"items": records}}):
        assert [document.id for document in read(tmp_path / "a.json", value)] == [str(n) for n in range(number)]


def test_metadata_completes_a_record_and_does_not_rename_it(tmp_path: Path) -> None:
    metadata = {"pmid": "30111222", "title": "Another", "year": 2015, "authors": ["Doe, Jane"]}
    (document,) = read(tmp_path / "a.jsonl", {**RECORD, "metadata": metadata})
    assert (document.id, document.title) == ("a1", "Salt in sweat")
    assert document.metadata == {"pmid": "30111222", "year": 2015, "authors": ["Doe, Jane"]}
    chunk = {"page_content": "Sweat is salty.", "metadata": {"pmid": "30111222", "title": "Salt in sweat"}}
    (document,) = read(tmp_path / "b.jsonl", chunk)
    assert (document.id, document.title, document.abstract) == ("30111222", "Salt in sweat", "Sweat is salty.")


def test_the_ids_of_a_list_of_ids_are_read(tmp_path: Path) -> None:
    ids = [{"type": "pmid", "value": "30111222"}, {"type": "doi", "value": "10.1000/s.1"}]
    for name in ("external_ids", "ids"):
        (document,) = read(tmp_path / "a.json", [{"title": "Salt", "lens_id": "000-1", name: ids}])
        assert (document.metadata["pmid"], document.metadata["doi"]) == ("30111222", "10.1000/s.1")


ROWS = [("30111222", "Salt in sweat", "Sweat, in rowers"), ("30111223", "Salt in tears", "Tears; not milk")]


@given(
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    st.lists(st.text("abc1", min_size=1), min_size=2, max_size=2, unique=True) | st.just(["1", "2"]),
    st.sampled_from(["row names", "index", "separators", "none"]),
)
def test_row_names_are_no_cells(
    tmp_path_factory: pytest.TempPathFactory, separator: str, quoting: Any, names: list[str], form: str
) -> None:
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=separator, quoting=quoting)
    header = ("pmid", "title", "abstract")
    writer.writerow(("", *header) if form == "index" else header)
    for name, row in zip(names, ROWS, strict=True):
        cells = {"row names": (name, *row), "index": (name, *row), "separators": (*row, ""), "none": row}
        writer.writerow(cells[form])
    documents = read(tmp_path_factory.mktemp("table") / "a.csv", stream.getvalue())
    assert [(document.id, document.title, document.abstract) for document in documents] == ROWS


def test_cells_without_a_column_are_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        (document, _) = read(tmp_path / "a.csv", "pmid,title\n7,Salt, and sweat\n8,Salt\n")
    assert document.id == "7"
    assert "a.csv: 1 rows have cells without a column name" in caplog.text
    assert "the first is row 2" in caplog.text


@pytest.mark.parametrize("name", ["set.tsv", "docs.tsv", "collection.tsv", "docs_grp_0.txt"])
def test_the_content_decides_before_the_name(tmp_path: Path, name: str) -> None:
    table = "pmid\ttitle\tabstract\n7\tSalt\tSweat is salty.\n"
    assert read(tmp_path / name, table) == [Document("7", "Salt", "Sweat is salty.")]
    for header in ("id\ttext", "pid\tpassage", "docno\tcontents"):
        assert read(tmp_path / name, f"{header}\n7\tSweat is salty.\n") == [Document("7", "", "Sweat is salty.")]
    ris = "TY  - JOUR\nID  - x7\nTI  - Salt\nAB  - Sweat is salty.\nER  - \n"
    assert read(tmp_path / name, ris) == [Document("x7", "Salt", "Sweat is salty.")]
    if name in ("docs.tsv", "collection.tsv"):
        assert read(tmp_path / name, "7\ttext\n8\tSalt.\n") == [Document("7", "", "text"), Document("8", "", "Salt.")]

"""Names of fields, ids and placeholders are read by one rule in every format."""

import json
import logging
from pathlib import Path

import pytest

from mpir.core.text.types import Document
from mpir.files.corpora import read_collection, read_corpus
from mpir.files.corpora.content import shared_id
from mpir.files.corpora.deduplicate import without_copies
from mpir.files.corpora.field_keys import field_name
from mpir.files.corpora.identifiers import ListId, clean_id, pmid_of
from tests.files.corpora.records import unnamed

BODY = "Cystic fibrosis is caused by mutations of CFTR."


def read(folder: Path, name: str, text: str) -> list[Document]:
    (folder / name).write_text(text, encoding="utf-8")
    return list(read_corpus([folder / name]))


@pytest.mark.parametrize("name", ["Document Title", "ARTICLE TITLE", "Title", "primary_title", "TI", "Study Title"])
@pytest.mark.parametrize("body", ["Abstract", "abstractText", "Abstract Note", "Brief Summary", "Description", "AB"])
def test_titles_and_bodies_go_by_many_names_in_tables_and_json(tmp_path: Path, name: str, body: str) -> None:
    expected = [Document("7", "CFTR", BODY)]
    assert read(tmp_path, "a.csv", f"id,{name},{body}\n7,CFTR,{BODY}\n") == expected
    assert read(tmp_path, "a.jsonl", json.dumps({"id": 7, name: "CFTR", body: BODY}) + "\n") == expected


@pytest.mark.parametrize(
    "name", ["PMID", "pubmed_id", "PubMed ID", "doc_id", "docno", "DOCNO", "docid", "uid", "cord_uid", "_id", "Id"]
)
def test_ids_go_by_many_names_in_tables_and_json(tmp_path: Path, name: str) -> None:
    expected = [Document("11111111", "CFTR", BODY)]
    assert read(tmp_path, "a.csv", f"{name},title,text\n11111111,CFTR,{BODY}\n") == expected
    assert read(tmp_path, "a.jsonl", json.dumps({name: "11111111", "Title": "CFTR", "text": BODY}) + "\n") == expected


def test_cord_uid_is_the_id_that_trec_covid_judges(tmp_path: Path) -> None:
    header = "cord_uid,sha,source_x,title,doi,pmcid,pubmed_id,abstract"
    (document,) = read(tmp_path, "metadata.csv", f"{header}\nug7v899j,,PMC,CFTR,10.1000/a,PMC1,11472636,{BODY}\n")
    assert document == Document("ug7v899j", "CFTR", BODY)
    ids = {"pmid": "11472636", "doi": "10.1000/a", "cord": "ug7v899j", "pmcid": "PMC1"}
    assert document.metadata == {**ids, "source_fields": {"source_x": "PMC"}}


@pytest.mark.parametrize(
    ("text", "identity"),
    [
        *(("8906788.0", "8906788"), ("8906788", "8906788"), (" 8906788.00 ", "8906788"), ("8.906788e+06", "8906788")),
        *(
            ("3e+07", "30000000"),
            ("PMID: 8906788", "8906788"),
            ("PMID:8906788", "8906788"),
            ("pmid 8906788", "8906788"),
        ),
        ("https://pubmed.ncbi.nlm.nih.gov/8906788/", "8906788"),
        ("http://www.ncbi.nlm.nih.gov/pubmed/8906788", "8906788"),
        ("7 http://www.ncbi.nlm.nih.gov/pubmed/7", "7"),
        ("MEDLINE:8906788", "8906788"),
    ],
)
def test_a_pmid_is_read_in_the_forms_that_exports_give_it(text: str, identity: str, tmp_path: Path) -> None:
    assert (pmid_of(text), clean_id(text, is_pmid=True)) == (identity, identity)
    (document,) = read(tmp_path, "a.csv", f"PMID,Title\n{text},CFTR\n")
    assert (document.id, document.metadata) == (identity, {"pmid": identity})


@pytest.mark.parametrize("text", ["3.3E+07", "10.1000/1", "d1", "1.5", "PMC8906788", "123456789"])
def test_what_is_no_pmid_stays_as_it_is(text: str) -> None:
    assert (pmid_of(text), clean_id(text, is_pmid=True)) == ("", text)


def test_ids_of_a_collection_keep_their_form_and_floats_of_json_are_whole(tmp_path: Path) -> None:
    lines = [{"id": "1.0", "text": "a"}, {"id": 2.0, "text": "b"}, {"id": "PMID: 3", "text": "c"}]
    documents = read(tmp_path, "a.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    assert [document.id for document in documents] == ["1.0", "2", "3"]
    assert [document.id for document in read(tmp_path, "a.csv", "key,title\n1.0,a\nhttps://doi.org/10.1/A,b\n")] == [
        "1",
        "10.1/A",
    ]


def test_a_placeholder_hides_no_text_and_makes_no_copies(tmp_path: Path) -> None:
    ris = read(tmp_path, "a.ris", f"TY  - JOUR\nAN  - a1\nTI  - NA\nT1  - CFTR\nAB  - NA\nN2  - {BODY}\nER  - \n")
    assert ris == [Document("a1", "CFTR", BODY)]
    assert read(tmp_path, "a.jsonl", json.dumps({"id": "a1", "title": "CFTR", "abstract": "N/A", "text": BODY})) == ris
    table = read(tmp_path, "a.csv", "pmid,title,abstract\n1,Editorial,No abstract available.\n2,Editorial,-\n")
    assert without_copies(table) == table == [Document("1", "Editorial"), Document("2", "Editorial")]


def test_two_pmids_are_two_papers_even_behind_an_unknown_placeholder() -> None:
    papers = [Document(pmid, "Editorial", "See the PDF file.", metadata={"pmid": pmid}) for pmid in "12"]
    assert without_copies(papers) == papers
    papers = [Document(doi, "Editorial", "See the PDF file.", metadata={"doi": doi}) for doi in ("10.1/a", "10.1/b")]
    assert without_copies(papers) == papers


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Role in <i>E. coli</i>", "Role in E. coli."),
        ("IL-1&beta; in Sjögren", "IL-1β in Sjo\u0308gren"),
        ("CO<sub>2</sub> rose", "CO₂ rose"),
        ("<jats:p>Cells &amp; salt</jats:p>", "Cells & salt"),
    ],
)
def test_copies_are_compared_as_they_are_read(first: str, second: str, tmp_path: Path) -> None:
    documents = [
        Document(name, text, text, metadata={"doi": "10.1/a"}) for name, text in zip("ab", (first, second), strict=True)
    ]
    assert without_copies(documents) == documents[:1]
    for document in documents:
        line = json.dumps({"id": "x", "title": document.title, "text": document.abstract})
        (tmp_path / f"{document.id}.jsonl").write_text(line + "\n", encoding="utf-8")
    assert len(list(read_collection([tmp_path]))) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("{}.ris", "TY  - JOUR\nTI  - {}\nAB  - {} rises.\nID  - 1\nER  - \n"),
        ("{}.csv", "record_id,title,abstract\n1,{},{} rises.\n"),
        ("{}.csv", "Key;Title;Abstract\n1;{};{} rises.\n"),
        ("{}/export.csv", "title,abstract\n{},{} rises.\n"),
    ],
)
def test_lists_that_count_their_records_can_be_read_together(tmp_path: Path, name: str, text: str) -> None:
    for number, word in enumerate(("CFTR", "KRAS", "CFTR")):
        path = tmp_path / name.format(number)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.format(word, word))
    paths = sorted(tmp_path.iterdir())
    documents = list(read_corpus(paths))
    assert len({document.id for document in documents}) == 3
    papers = without_copies(documents)
    assert [paper.title for paper in papers] == ["CFTR", "KRAS"]
    in_reverse = without_copies(list(read_corpus(paths[::-1])))
    assert {paper.title: paper.id for paper in papers} == {paper.title: paper.id for paper in in_reverse}
    assert [paper.title for paper in read_collection(paths)] == ["CFTR", "KRAS"]


def test_equal_numbers_and_titles_of_two_lists_are_two_papers(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("record_id,title\n1,Editorial\n")
    assert len(without_copies(read_corpus([tmp_path]))) == len(list(read_collection([tmp_path]))) == 2
    counted, pubmed = Document(ListId("1"), "Editorial"), Document("1", "Preface", metadata={"pmid": "1"})
    first, second = without_copies([counted, pubmed])
    assert (shared_id(first), second.id) == ("1", "1") and first.id != "1"


def test_a_file_of_blank_texts_says_what_was_not_understood(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    read(tmp_path, "a.jsonl", json.dumps({"id": "1", "title": "CFTR", "Zusammenfassung": BODY, "year": "2010"}) + "\n")
    assert caplog.messages[-1].endswith(
        "a.jsonl: no document has an abstract; names that mpir does not read: Zusammenfassung"
    )
    read(tmp_path, "a.csv", f"id,Kopf,Abstract\n1,CFTR,{BODY}\n")
    assert caplog.messages[-1].endswith("a.csv: no document has a title; names that mpir does not read: Kopf")
    read(tmp_path, "a.ris", f"TY  - JOUR\nXX  - {BODY}\nTI  - CFTR\nER  - \n")
    assert caplog.messages[-1].endswith("a.ris: no document has an abstract; names that mpir does not read: XX")
    with caplog.at_level(logging.WARNING):
        caplog.clear()
        read(tmp_path, "b.csv", f"id,title,abstract,year\n1,CFTR,,2010\n2,,{BODY},2011\n")
    assert not caplog.messages


def test_a_table_without_ids_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert read(tmp_path, "a.csv", f"Kennung,Title,Abstract\nx,CFTR,{BODY}\n") == [unnamed("CFTR", BODY)]
    said = "a.csv:1: no id column, so ids are hashes of the records' words (columns kept without being read: Kennung)"
    assert said in caplog.text


def test_field_names_are_compared_without_case_and_punctuation() -> None:
    assert {field_name(name) for name in ("Document Title", "document_title", "documentTitle", "DOCUMENT-TITLE")} == {
        "documenttitle"
    }
    assert field_name("_id") == "_id"

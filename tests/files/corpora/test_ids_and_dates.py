"""Ids, dates and pages in the forms that databases and spreadsheets write."""

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.core.text.types import Document
from mpir.files.corpora import read_corpus
from mpir.files.corpora.bibliography import date_of
from mpir.files.corpora.formula_guard import guarded, without_guards
from mpir.files.corpora.identifiers import doi_of, pmid_of, split_ids
from mpir.files.corpora.record import bibliography_of


def read(path: Path, text: str) -> Document:
    path.write_text(text, encoding="utf-8")
    (document,) = read_corpus([path])
    return document


@given(st.integers(1_000_000, 99_999_999), st.sampled_from([",", ".", " ", "'", "\u00a0", "\u202f"]))
def test_a_pmid_as_spreadsheets_and_databases_write_it(number: int, separator: str) -> None:
    grouped = f"{number:,}".replace(",", separator)
    decimals = f"{str(number)[0]}.{str(number)[1:]}E+{len(str(number)) - 1}"
    texts = [
        grouped,
        f"'{number}",
        f'="{number}"',
        f"NLM{number}",
        f"PUBMED {number}",
        f"PMID: NLM{number}",
        f"{number}.0",
    ]
    assert [pmid_of(text) for text in (*texts, decimals)] == [str(number)] * (len(texts) + 1)


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        *(("10.1000/s.1;10.1000/s.2", "10.1000/s.1"), ("10.1000/s.1|https://doi.org/10.1000/s.2", "10.1000/s.1")),
        *(("10.1000/s.1[doi]", "10.1000/s.1"), ("10.1000/s.1 [pii]; 10.1000/s.2", "10.1000/s.1")),
        (
            "10.1002/(SICI)1097-0258(19980815/30)17:15/16<1661::AID-SIM968>3.0.CO;2-2",
            "10.1002/(sici)1097-0258(19980815/30)17:15/16<1661::aid-sim968>3.0.co;2-2",
        ),
    ],
)
def test_the_first_of_several_dois(text: str, doi: str) -> None:
    assert doi_of(text) == doi


def test_an_id_has_no_white_space(tmp_path: Path) -> None:
    record = "TY  - JOUR\nTI  - Salt\nAB  - It is.\n{}\nER  - \n"
    for lines, identity, pmid in (
        ("AN  - 2099999999; 30111222\nDB  - MEDLINE®", "30111222", "30111222"),
        ("AN  - 2099999999; 30111222\nDB  - Embase", "2099999999", None),
        ("PM  - PUBMED 30111222\nAN  - CN-01999999", "30111222", "30111222"),
        ("AN  - L614142 2015-03-01", "L614142", None),
        ("DB  - Scopus\nC2  - 30111222\nAN  - x1", "30111222", "30111222"),
        ("C2  - PMC7\nAN  - x1", "x1", None),
    ):
        document = read(tmp_path / "a.ris", record.format(lines))
        assert (document.id, document.metadata.get("pmid")) == (identity, pmid)
    assert split_ids("PUBMED 30111222") == ["PUBMED 30111222"]


@given(st.dates(date(1800, 1, 1), date(2099, 12, 31)), st.sampled_from(["", "T000000", ".0", "T12:00:00Z"]))
def test_dates_without_separators(day: date, end: str) -> None:
    assert date_of([f"{day:%Y%m%d}{end}"]) == (day.year, day.isoformat())
    assert date_of([f"{day:%Y%m}"]) == (day.year, f"{day:%Y-%m}")


@pytest.mark.parametrize("text", ["104832767", "20151301", "12345678", "1999999999999"])
def test_other_numbers_are_no_dates(text: str) -> None:
    assert date_of([text]) == (None, "")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.ciw", "FN Clarivate\nPT J\nTI Salt\nEA MAR 2021\nER\n", (2021, "2021-03")),
        ("b.ciw", "FN Clarivate\nPT J\nTI Salt\nEY 2021\nER\n", (2021, None)),
        ("c.ciw", "FN Clarivate\nPT J\nTI Salt\nEA DEC 2020\nPY 2021\nPD MAR 1\nER\n", (2021, "2021-03-01")),
        ("a.nbib", "PMID- 7\nTI  - Salt\nDEP - 20210301\n", (2021, "2021-03-01")),
        ("a.ris", "TY  - JOUR\nTI  - Salt\nDA  - 20150301\nPY  - 20150301\nER  - \n", (2015, "2015-03-01")),
        ("a.csv", "title,publicationDate\nSalt,20150301\n", (2015, "2015-03-01")),
        ("b.csv", "Title,Published Year\nSalt,2015\n", (2015, None)),
        (
            "a.json",
            '[{"title": "A", "issued": {"date-parts": [[null]]}, "published-print": {"date-parts": [[2015, 3]]}}]',
            (2015, "2015-03"),
        ),
    ],
)
def test_dates_under_other_tags(tmp_path: Path, name: str, text: str, expected: tuple[int, str | None]) -> None:
    document = read(tmp_path / name, text)
    assert (document.metadata["year"], document.metadata.get("date")) == expected


@pytest.mark.parametrize(
    ("first", "last", "pages"),
    [
        *(("280-284", "284", "280-284"), ("280", "280-284", "280-284"), ("280-4", "284", "280-4")),
        *(("280", "284", "280-284"), ("280–284", "", "280-284"), ("280--284", "284", "280-284"), ("280", "+", "280")),
        *(
            ("S12-S18", "S18", "S12-S18"),
            ("e123", "e130", "e123-e130"),
            ("280", "280", "280"),
            ("e2015-12", "", "e2015-12"),
        ),
    ],
)
def test_a_range_in_the_field_of_one_page(tmp_path: Path, first: str, last: str, pages: str) -> None:
    assert bibliography_of({"sp": first, "ep": last})["pages"] == pages
    document = read(tmp_path / "a.ris", f"TY  - JOUR\nTI  - Salt\nSP  - {first}\nEP  - {last}\nER  - \n")
    assert document.metadata["pages"] == pages


def test_pages_of_pubmed_without_medlines_form(tmp_path: Path) -> None:
    pages = "<Pagination><StartPage>12</StartPage><EndPage>18</EndPage></Pagination>"
    article = f"<Article><ArticleTitle>Salt</ArticleTitle>{pages}</Article>"
    document = read(tmp_path / "a.xml", f"<MedlineCitation><PMID>7</PMID>{article}</MedlineCitation>")
    assert document.metadata["pages"] == "12-18"


def test_several_values_in_one_line_of_ris(tmp_path: Path) -> None:
    lines = "AU  - Doe, J.; Roe, R.\nKW  - salt; sweat\nKW  - tears\nLA  - eng; fre"
    document = read(tmp_path / "a.ris", f"TY  - JOUR\nTI  - Salt\n{lines}\nER  - \n")
    names = [document.metadata[name] for name in ("authors", "keywords", "language")]
    assert names == [["Doe, J.", "Roe, R."], ["salt", "sweat", "tears"], ["eng", "fre"]]


@given(st.text(st.sampled_from("=+-@'\"; a1.＝")))
def test_a_guarded_text_comes_back(text: str) -> None:
    assert without_guards(guarded(text)) == text

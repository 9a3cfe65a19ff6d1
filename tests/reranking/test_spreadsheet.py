"""The table for a spreadsheet: what a reader of it gets back."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir import Document, Perspective, Reranker
from mpir.app.cli import main
from mpir.files.corpora import read_corpus
from mpir.reranking.render.spreadsheet import spreadsheet

REFERENCES = "\n".join(
    [
        "PMID- 7\nTI  - Sweat, salt; and β-cells",
        "AB  - Aspirin does thin the blood. It is old.\nAID - 10.1000/a [doi]\n",
        "PMID- 8\nTI  - Heart\n",
        "PMID- 9\n",
    ]
)


class Below(Perspective):
    """Minus two for every sentence."""

    name = "below"

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        return np.full(len(pairs), -2.0)


class Named(Below):
    """A score of documents whose name another column has."""

    level = "document"

    def __init__(self, name: str) -> None:
        self.name = name


@pytest.mark.parametrize("name", ["document", "title", "year", "Abstract", "best sentence", "notes"])
def test_a_score_takes_no_other_column_away(name: str, tmp_path: Path) -> None:
    documents = [Document("7", "Salt", "Sweat has salt.", metadata={"year": 2015})]
    ranking = Reranker(perspectives=[Named(name), Below()]).rerank("salt", documents)
    (tmp_path / "a.csv").write_text(spreadsheet(ranking), encoding="utf-8")
    (row,) = csv.DictReader((tmp_path / "a.csv").read_text(encoding="utf-8-sig").splitlines())
    assert (row["document"], row["title"], row["year"], row[f"{name} score"]) == ("7", "Salt", "2015", "-2.0000")
    (document,) = read_corpus([tmp_path / "a.csv"])
    assert (document, document.metadata["year"]) == (Document("7", "Salt", "Sweat has salt."), 2015)
    assert "source_fields" not in document.metadata


def _table(tiny_bundle: Path, tmp_path: Path, *options: str) -> list[dict[str, str]]:
    (tmp_path / "a.nbib").write_text(REFERENCES)
    command = ["rerank", "aspirin", "--docs", str(tmp_path / "a.nbib"), "--bundle", str(tiny_bundle)]
    assert main([*command, "--output", str(tmp_path / "a.csv"), *options]) == 0
    with open(tmp_path / "a.csv", encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def test_documents_have_titles_names_and_best_sentences(tiny_bundle: Path, tmp_path: Path) -> None:
    rows = _table(tiny_bundle, tmp_path)
    assert [row["rank"] for row in rows] == ["1", "2", "3"]
    result = {row["document"]: (row["pmid"], row["doi"], row["title"]) for row in rows}
    assert result == {"7": ("7", "10.1000/a", "Sweat, salt; and β-cells"), "8": ("8", "", "Heart"), "9": ("9", "", "")}
    best = {row["document"]: row["best sentence"] for row in rows}
    assert best["7"] in REFERENCES
    assert (best["8"], best["9"]) == ("Heart", "")
    assert all(float(row["blended score"]) < 99 and row["bm25"] for row in rows)
    assert (tmp_path / "a.csv").read_bytes().startswith(b"\xef\xbb\xbf")  # or Excel reads β as two other characters


def test_with_sentences_it_has_a_row_for_each(tiny_bundle: Path, tmp_path: Path) -> None:
    rows = _table(tiny_bundle, tmp_path, "--sentences", "3")
    assert [row["rank"] for row in rows] == ["1", "2", "3"]
    assert all(row["sentence"] in REFERENCES and row["section"] in ("title", "abstract") for row in rows)


@pytest.mark.parametrize(
    ("title", "cell"),
    [
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("\t-Omics of salt", "'-Omics of salt"),
        ("+cmd|x", "'+cmd|x"),
        ("@SUM(1)", "'@SUM(1)"),
        ("-5", "-5"),
        ("+2.50", "+2.50"),
        ("Salt = sodium", "Salt = sodium"),
        ("5-HT", "5-HT"),
        ("Salt;=cmd|' /C calc'!A0", "Salt;'=cmd|' /C calc'!A0"),
        ("Salt; @SUM(1);+x; -y", "Salt;' @SUM(1);'+x;' -y"),
        ('Salt;"=1+1"', 'Salt;\'"=1+1"'),
        ("＝1+1", "'＝1+1"),
        ("＋1;－1;＠a", "'＋1;'－1;'＠a"),
        ("Salt; -5; +2.50", "Salt; -5; +2.50"),
        ("Salt; sodium = Na", "Salt; sodium = Na"),
    ],
)
def test_no_text_is_a_formula_and_numbers_stay_numbers(title: str, cell: str) -> None:
    ranking = Reranker(perspectives=[Below()]).rerank("salt", [{"id": title, "title": title, "text": ""}])
    (row,) = csv.DictReader(spreadsheet(ranking).removeprefix("\ufeff").splitlines())
    assert (row["document"], row["title"], row["best sentence"]) == (cell, cell, cell)
    assert row["below"] == "-2.0000"


@pytest.mark.parametrize("separator", [",", ";"])
@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "＝", "＋", "－", "＠"])
def test_no_cell_is_a_formula_whatever_separates_cells(separator: str, sign: str) -> None:
    title = f'{sign}a;{sign}b; {sign}c;"{sign}d;""{sign}e;;{sign}f,{sign}g'
    ranking = Reranker(perspectives=[Below()]).rerank("salt", [{"id": title, "title": title, "text": title}])
    for row in csv.reader(spreadsheet(ranking).removeprefix("\ufeff").splitlines()[1:], delimiter=separator):
        assert not [cell for cell in row if cell.lstrip(' "').startswith(sign) and not cell[1:2].isdigit()]


def test_what_cannot_be_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").mkdir()
    assert main(["rerank", "aspirin", "--docs", "none.nbib", "--output", str(tmp_path / "a.csv")]) == 2
    assert "a.csv: is a folder; give --output" in capsys.readouterr().err


def test_an_export_is_not_replaced_by_its_own_ranking(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export = tmp_path / "scopus.csv"
    export.write_text("id,title\n1,Salt\n", encoding="utf-8")
    assert main(["rerank", "salt", "--docs", str(export), "--output", str(export)]) == 2
    assert "is also --docs" in capsys.readouterr().err
    assert export.read_text(encoding="utf-8") == "id,title\n1,Salt\n"

"""What mpir does not read in a file is kept as it is, and decisions of screening tools are read."""

from __future__ import annotations

import csv
import io
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpir.core.results import RankedDocument
from mpir.core.text import Document
from mpir.core.weights import Weights
from mpir.errors import InputError
from mpir.files.corpora import read_corpus
from mpir.files.corpora.deduplicate import without_copies
from mpir.files.corpora.screening_tools import SourceDecision, decision_in, decisions_of
from mpir.files.corpora.source_fields import as_tags
from mpir.reranking.ranking import Ranking
from mpir.reranking.render.spreadsheet import spreadsheet

NOTES = (
    'Section: 12 p. | RAYYAN-INCLUSION: {"Ada"=>"Included", "Bo \\"B\\" Roe"=>"Maybe"} | RAYYAN-LABELS: rct,salt | '
    'RAYYAN-EXCLUSION-REASONS: wrong dose | USER-NOTES: {"Ada"=>["a | b", "see p. 3"]}'
)
ROWS: dict[str, dict[str, str]] = {
    "rayyan": {
        **{"key": "rayyan-7", "title": "Salt", "year": "2015", "abstract": "Sweat.", "notes": NOTES},
        **{"location": "Kiel"},
    },
    "covidence": {
        **{"Title": "Salt", "Abstract": "Sweat.", "Published Year": "2015", "Ref": "", "Covidence #": "12"},
        **{"Study": "Doe 2015", "Notes": "", "Tags": "Ongoing study; mine"},
    },
    "asreview": {"record_id": "3", "title": "Salt", "abstract": "Sweat.", "asreview_label": "1", "asreview_prior": "1"},
}  # fmt: skip


def table(path: Path, *rows: dict[str, str]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def ranking_of(*documents: Document) -> Ranking:
    ranked = [
        RankedDocument(
            id=document.id, title=document.title, text=document.abstract, metadata=document.metadata, index=n,
            score=1.0, scores={}, ranks={}, shares={}, best=(), sentences=(),
        )
        for n, document in enumerate(documents)
    ]  # fmt: skip
    weights = Weights(alpha={"answers": 1.0})
    return Ranking(query="salt", documents=tuple(ranked), weights=weights, candidates=len(ranked), left_out=0)


@pytest.mark.parametrize("tool", ROWS)
@pytest.mark.parametrize("form", ["csv", "ris", "nbib", "json"])
def test_decisions_and_own_fields_survive_a_ranking(tool: str, form: str, tmp_path: Path) -> None:
    (document,) = read_corpus([table(tmp_path / f"{tool}_select_csv_1.csv", ROWS[tool])])
    ranking = ranking_of(document)
    texts = {"csv": spreadsheet(ranking), "ris": ranking.to_ris(), "nbib": ranking.to_nbib()}
    (tmp_path / f"a.{form}").write_text(texts.get(form) or json.dumps(ranking.to_dict()), encoding="utf-8")
    (read,) = read_corpus([tmp_path / f"a.{form}"])
    assert decisions_of(read) == decisions_of(document) != []
    written = (tmp_path / f"a.{form}").read_text(encoding="utf-8").replace("\\", "").replace('""', '"')
    for name in ("key", "notes", "location", "Covidence #", "Study", "Tags", "record_id", "asreview_prior"):
        assert ROWS[tool].get(name, "").replace("\\", "") in written
    assert read.metadata.get("year") == document.metadata.get("year")


def test_rayyans_decisions_have_their_reviewers_and_notes(tmp_path: Path) -> None:
    expected = [
        SourceDecision(reviewer="Ada", grade=2, note="a | b\nsee p. 3"), SourceDecision(reviewer='Bo "B" Roe', grade=1)
    ]  # fmt: skip
    (document,) = read_corpus([table(tmp_path / "a.csv", ROWS["rayyan"])])
    assert decisions_of(document) == expected
    (tmp_path / "a.ris").write_text(f"TY  - JOUR\nTI  - Salt\nAB  - Sweat.\nID  - rayyan-7\nN1  - {NOTES}\nER  - \n")
    (document,) = read_corpus([tmp_path / "a.ris"])
    assert decisions_of(document) == expected
    assert document.metadata["source_fields"] == {"ID": "rayyan-7", "N1": NOTES}


@pytest.mark.parametrize(
    ("name", "grade"),
    [("review_5_select_csv_20260101.csv", 2), ("review_5_irrelevant_csv_20260101.csv", 0),
     ("review_5_screen_csv_1.csv", None), ("excluded.csv", 0), ("included.csv", 2), ("other.csv", None)],
)  # fmt: skip
def test_the_name_of_covidences_file_is_the_decision(name: str, grade: int | None, tmp_path: Path) -> None:
    (document,) = read_corpus([table(tmp_path / name, ROWS["covidence"])])
    expected = [] if grade is None else [SourceDecision(reviewer="Covidence", grade=grade)]
    assert decisions_of(document) == expected
    assert document.metadata["year"] == 2015
    fields = {name: text for name, text in ROWS["covidence"].items() if name in ("Covidence #", "Study", "Tags")}
    assert fields.items() <= document.metadata["source_fields"].items()
    (document,) = read_corpus(
        [table(tmp_path / name.replace(".csv", "x.csv"), {**ROWS["covidence"], "Notes": "Exclusion reason: dose"})]
    )
    assert [decision.grade for decision in decisions_of(document)] == [0]


@pytest.mark.parametrize(("label", "grade"), [("1", 2), ("0", 0), ("-1", None), ("", None), ("1.0", 2), ("odd", None)])
@pytest.mark.parametrize("column", ["asreview_label", "included"])
def test_asreviews_labels_are_read(column: str, label: str, grade: int | None, tmp_path: Path) -> None:
    row = {
        "title": "Salt",
        "abstract": "Sweat.",
        column: label,
        "asreview_time": "2026-01-02 03:04:05",
        "asreview_note": "n",
    }
    (document,) = read_corpus([table(tmp_path / "a.csv", {**row, "asreview_user_name": "Ada"})])
    assert decisions_of(document) == [SourceDecision(reviewer="Ada", grade=grade, note="n", time=1767323045000)]
    assert document.metadata["source_fields"].get(column, "") == label
    word = {2: "ASReview_relevant", 0: "ASReview_irrelevant"}.get(grade, "ASReview_not_seen")  # type: ignore[arg-type]
    (tmp_path / "a.ris").write_text(
        f'TY  - JOUR\nTI  - Salt\nAB  - S.\nN1  - {word}\nN1  - asreview_note: "n \\"q\\""\nER  - \n'
    )
    (document,) = read_corpus([tmp_path / "a.ris"])
    assert decisions_of(document) == [SourceDecision(reviewer="ASReview", grade=grade, note='n "q"')]


def test_a_column_that_the_user_names_is_read_or_refused(tmp_path: Path) -> None:
    row = {"title": "Salt", "abstract": "Sweat.", "Screening 1": "EXCLUDE on date"}
    (document,) = read_corpus([table(tmp_path / "a.csv", row)])
    assert decision_in(document, "Screening 1", "ada") == [SourceDecision(reviewer="ada", grade=0)]
    assert decisions_of(document) == []
    (document,) = read_corpus([table(tmp_path / "a.csv", {**row, "Screening 1": "blue"})])
    with pytest.raises(InputError, match=r"decision .*text-.*'blue'"):
        decision_in(document, "Screening 1", "ada")


def test_copies_keep_the_fields_of_both(tmp_path: Path) -> None:
    text = "Aspirin was given to a hundred patients and their blood was thinner after it than before it. " * 2
    rows = [
        {"key": f"rayyan-{n}", "title": "Aspirin thins the blood", "abstract": text, "notes": f"RAYYAN-LABELS: {n}"}
        for n in "12"
    ]
    (document,) = without_copies(read_corpus([table(tmp_path / "a.csv", *rows)]))
    expected = {"key": ["rayyan-1", "rayyan-2"], "notes": ["RAYYAN-LABELS: 1", "RAYYAN-LABELS: 2"]}
    assert document.metadata["source_fields"] == expected


def test_a_name_that_the_table_uses_is_told_apart() -> None:
    document = Document("1", "Salt", "Sweat.", metadata={"source_fields": {"Rank": "9", "title": "x"}})
    (row,) = csv.DictReader(io.StringIO(spreadsheet(ranking_of(document)).removeprefix("\ufeff")))
    assert (row["rank"], row["Rank (source)"], row["title (source)"]) == ("1", "9", "x")


_texts = st.text('aé|{}=>"\\:;, ', min_size=1, max_size=12).map(str.strip).filter(bool)


@settings(max_examples=60)
@given(fields=st.dictionaries(st.sampled_from(["Study", "U1", "location", "notes", "key"]), _texts))
def test_any_text_of_a_column_comes_back(tmp_path_factory: pytest.TempPathFactory, fields: dict[str, Any]) -> None:
    folder = tmp_path_factory.mktemp("fields")
    row = {"title": "Salt", "abstract": "Sweat.", **fields}
    (document,) = read_corpus([table(folder / "a.csv", row)])
    (folder / "b.csv").write_text(spreadsheet(ranking_of(document)), encoding="utf-8")
    (read,) = read_corpus([folder / "b.csv"])
    expected = {name: " ".join(text.split()) for name, text in document.metadata.get("source_fields", {}).items()}
    assert read.metadata.get("source_fields", {}) == expected


def test_fields_that_bibtex_has_twice_are_all_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fields = [
        *("title={Salt}", "year=2015", "year=2015", "author={Doe, J and Roe, R}", "author={Poe, P}", "number={4}"),
        *("issue={Spring}", "keywords={salt, sea}", "keywords={sweat; men}", "annote={one}", "annote={two}", "my={a}"),
        *("my={b}", "abstract={English.}", "Abstract={Deutsch.}", "doi={10.1000/a}", "doi={10.1000/b}"),
    ]
    (tmp_path / "a.bib").write_text(f"@article{{a, {', '.join(fields)}}}", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        (document,) = read_corpus([tmp_path / "a.bib"])
    metadata = document.metadata
    assert (document.id, document.abstract) == ("10.1000/b", "English. Deutsch.")
    assert metadata["authors"] == ["Doe, J", "Roe, R", "Poe, P"]
    assert metadata["keywords"] == ["salt", "sea", "sweat", "men"]
    assert (metadata["issue"], metadata["source_fields"]) == (
        "Spring",
        {"number": "4", "annote": "one\ntwo", "my": "a | b"},
    )
    (record,) = [record for record in caplog.records if "twice" in record.getMessage()]
    assert record.getMessage().endswith("the last is read: doi")


REFER = (
    "%0 Journal Article\n%T Salt\n%X Sweat.\n%Z mine: yes\nPMID: 17284678\nmpir: rank 1 of 2\n%1 c\n%+ Kiel\n%( odd\n"
)
ENDNOTE = (
    "<xml><records><record><database>My.enl</database><rec-number>3</rec-number><titles><title>Salt</title></titles>"
    "<abstract>Sweat.</abstract><notes><style>mine: yes&#xD;PMID: 17284678&#xD;mpir: rank 1 of 2</style></notes>"
    "<custom1>c</custom1><auth-address>Kiel</auth-address><label> </label></record></records></xml>"
)


@pytest.mark.parametrize(("name", "text", "odd"), [("a.enw", REFER, {"%(": "odd"}), ("a.xml", ENDNOTE, {})])
def test_notes_and_custom_fields_of_endnote_are_kept(tmp_path: Path, name: str, text: str, odd: dict[str, str]) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    (document,) = read_corpus([tmp_path / name])
    kept = {"notes": "mine: yes\nPMID: 17284678", "custom1": "c", "auth-address": "Kiel"}
    assert document.metadata["source_fields"] == {**kept, **odd}
    assert document.metadata["pmid"] == "17284678"  # as in the notes of other formats
    lines = "\n".join(f"{tag} {text}" for tag, text in as_tags(document.metadata))
    assert "N1 mine: yes\nPMID: 17284678\nN1 custom1: c\nN1 auth-address: Kiel" in lines

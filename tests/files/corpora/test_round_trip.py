"""A reference keeps its fields: from each format that databases write, through a ranking, to each that mpir writes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpir.core.results import RankedDocument, RankedList
from mpir.core.weights import Weights
from mpir.files.corpora import read_corpus
from mpir.files.corpora.bibliography import Bibliography
from mpir.reranking.ranking import Ranking
from mpir.reranking.render.references import to_nbib, to_ris
from mpir.reranking.render.spreadsheet import spreadsheet
from tests.faults.report import count
from tests.files.corpora.reference_writers import WRITERS

EXAMPLES = int(os.environ.get("MPIR_ROUND_TRIPS", "8"))
_words = st.text("abcdeéß", min_size=2, max_size=6).map(str.capitalize)
_phrases = st.lists(_words, min_size=1, max_size=3).map(" ".join)
_names = st.builds("{}, {}".format, _words, _words)
_numbers = st.integers(1, 999).map(str)
records = st.builds(
    Bibliography,
    year=st.integers(1950, 2026),
    date=st.tuples(st.integers(1, 12), st.integers(1, 28)).map(lambda day: f"-{day[0]:02}-{day[1]:02}"),
    journal=_phrases.map("Journal of {}".format),
    volume=_numbers,
    issue=_numbers,
    pages=st.tuples(st.integers(1, 99), st.integers(100, 199)).map(lambda pages: f"{pages[0]}-{pages[1]}"),
    authors=st.lists(_names, min_size=1, max_size=4, unique=True).map(tuple),
    types=st.lists(
        st.sampled_from(["Review", "Journal Article", "Letter", "Retracted Publication"]), min_size=1, unique=True
    ).map(tuple),
    language=st.sampled_from([("eng",), ("fre",)]),
    keywords=st.lists(_phrases, min_size=1, max_size=4, unique=True).map(tuple),
    issn=st.sampled_from(["1234-5678", "0000-123X"]),
    publisher=_phrases.map("Press of {}".format),
    doi=st.integers(1, 10**6).map("10.1000/x.{}".format),
    url=st.integers(1, 10**6).map("https://example.org/{}".format),
).map(lambda record: replace(record, date=f"{record.year}{record.date}"))
OUTPUTS: dict[str, tuple[str, Callable[[RankedList], str]]] = {
    "ris": (".ris", to_ris),
    "nbib": (".nbib", to_nbib),
    "csv": (".csv", spreadsheet),
}


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("source", WRITERS)
@settings(max_examples=EXAMPLES)
@given(record=records)
def test_fields_in_are_fields_out(
    source: str, output: str, tmp_path_factory: pytest.TempPathFactory, record: Bibliography
) -> None:
    folder = tmp_path_factory.mktemp("records")
    suffix, write, absent = WRITERS[source]
    expected = replace(record, **{name: getattr(Bibliography(), name) for name in absent})
    if source == "BibTeX":
        pytest.importorskip("bibtexparser")
    read = _read(folder / f"a{suffix}", write(record))
    count(f"round trips of {source}")
    assert _fields(read) == _fields(expected)
    output_suffix, render = OUTPUTS[output]
    assert _fields(_read(folder / f"b{output_suffix}", render(_ranking(read, folder / f"a{suffix}")))) == _fields(read)


def test_a_ranking_that_is_ranked_again_has_one_rank(tmp_path: Path) -> None:
    (tmp_path / "a.ris").write_text(
        "TY  - THES\nTI  - Salt\nAB  - Sweat.\nKW  - mpir rank 0002\nKW  - mpir probability 0.620\nKW  - salt\nER  - \n"
    )
    text = to_ris(_ranking(_read(tmp_path / "a.ris"), tmp_path / "a.ris"))
    assert [line for line in text.splitlines() if line.startswith(("TY", "KW"))] == [
        *("TY  - THES", "KW  - mpir rank 0001", "KW  - mpir blended score 1.0000", "KW  - salt")
    ]


@pytest.mark.parametrize(
    ("date", "ris", "nbib"), [("2018-07-02", "2018/07/02", "2018 Jul 2"), ("2018-07", "2018/07", "2018 Jul")]
)
def test_a_date_keeps_its_month_and_day(tmp_path: Path, date: str, ris: str, nbib: str) -> None:
    for text in (f"TY  - JOUR\nTI  - A\nDA  - {ris}\nER  - \n", f"PMID- 1\nTI  - A\nDP  - {nbib}\n"):
        known = _read(tmp_path / ("a.ris" if text[0] == "T" else "a.nbib"), text)
        assert (known.year, known.date) == (2018, date)


def _read(path: Path, text: str = "") -> Bibliography:
    if text:
        path.write_text(text, encoding="utf-8")
    (document,) = read_corpus([path])
    return Bibliography.of(document.metadata)


def _fields(record: Bibliography) -> dict[str, object]:
    """The fields without those that a format adds or that another field gives."""
    return {name: value for name, value in record.metadata().items() if name not in ("reference_type", "pmid")}


def _ranking(record: Bibliography, path: Path) -> RankedList:
    (document,) = read_corpus([path])
    texts = {"id": document.id, "title": document.title, "text": document.abstract, "metadata": record.metadata()}
    ranked = RankedDocument(**texts, index=0, score=1.0, scores={}, ranks={}, shares={}, best=(), sentences=())
    return RankedList(
        query="salt", documents=(ranked,), weights=Weights(alpha={"answers": 1.0}), candidates=1, left_out=0
    )


awkward = st.sampled_from(
    [
        *(
            "=SUM(A1)",
            "-Omics; -1; +Salt",
            "'=quoted",
            "''-x",
            "a;=b",
            "@home",
            "+1",
            "－全角",
            "Salt | sweat",
            "c('a', 'b')",
        ),
        *(
            '"Salt" and sweat',
            "Johnson & Johnson",
            "Heart and Lung Study Group",
            "Salt, sweat, tears and milk",
            "[Salt]",
        ),
        *("American Salt Association and American Sweat Association", "Doe, J., Roe, R.", "Salt's", "1.0", "007"),
        *("c('a', 'b')", "[Salt]"),
    ]
)
documents = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["PX-1", "007", "1.0", "a b", "=1", "https://doi.org/10.1/A", "30111222", "a.ris:7"]),
        "title": awkward | _phrases,
        "text": awkward | _phrases.map("{} is salty.".format),
        "metadata": st.fixed_dictionaries(
            {"authors": st.lists(_names, min_size=2, max_size=3, unique=True)},
            optional={
                "journal": _phrases,
                "year": st.integers(1950, 2026),
                "keywords": st.lists(_phrases, min_size=1, max_size=3, unique=True),
                "trials": st.just(["NCT01111222", "NCT01111223"]),
                "pmid": st.just("30111222"),
                "doi": st.just("10.1000/x.1"),
                "pmcid": st.just("PMC7"),
                "nct": st.just("NCT01111222"),
                "wos": st.just("000600000000001"),
                "scopus": st.just("2-s2.0-85000000001"),
                "embase": st.just("L614142"),
                "s2": st.just("0123456789" * 4),
                "cochrane": st.just("CN-01234567"),
                "lens": st.just("000-111-222-333-444"),
                "cord": st.just("ug7v899j"),
                "openalex": st.just("W77"),
            },
        )
        | awkward.filter(lambda name: name[:1].isalpha() and ";" not in name and name != "Doe, J., Roe, R.").map(
            lambda name: {"authors": [name], "types": [name]}
        ),
    }
)


@settings(max_examples=EXAMPLES * 10)
@given(document=documents)
def test_csv_and_json_of_mpir_come_back_whole(
    tmp_path_factory: pytest.TempPathFactory, document: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("own")
    ranked = RankedDocument(**document, index=0, score=1.0, scores={}, ranks={}, shares={}, best=(), sentences=())
    ranking = Ranking(
        query="salt", documents=(ranked,), weights=Weights(alpha={"answers": 1.0}), candidates=1, left_out=0
    )
    (folder / "a.csv").write_text(spreadsheet(ranking), encoding="utf-8")
    (folder / "a.json").write_text(json.dumps(ranking.to_dict()), encoding="utf-8")
    for name in ("a.csv", "a.json"):
        (read,) = read_corpus([folder / name])
        if document["id"] != "https://doi.org/10.1/A" or name == "a.csv":
            assert read.id == document["id"]
        assert (read.title, read.abstract, dict(read.metadata)) == tuple(
            document[key] for key in ("title", "text", "metadata")
        )

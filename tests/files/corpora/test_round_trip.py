"""A reference keeps its fields: from each format that databases write, through a ranking, to each that mpir writes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpir.core.results import RankedDocument, RankedList
from mpir.core.weights import Weights
from mpir.files.corpora import read_corpus
from mpir.files.corpora.bibliography import Bibliography
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

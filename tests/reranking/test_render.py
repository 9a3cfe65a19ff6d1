"""What people see of a ranking: one probability, evidence from the body, and exports that others read back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas
import pytest

from mpir import Document, Perspective, Reranker, Weights
from mpir.core.calibration import Calibration, Line
from mpir.core.stopping import ORDER_NOTE, expectation, reading_notes
from mpir.core.text.legible import without_markup
from mpir.errors import InputError
from mpir.files.corpora.references import read_references
from mpir.reranking.ranking import Ranking

KNOWN = {"pmid": "7", "doi": "10.1000/a", "year": 1998, "journal": "Lancet", "types": ["Review"], "authors": ["Doe, J"]}
DOCUMENTS = [
    Document("7", "On x <b>xx</b>", "Nothing said. We saw an x | here.", score=3.0, metadata=KNOWN),
    Document("8", "A title xxxx", "Nothing at all. Nor here.", score=2.0),
    Document("9", "", "An x. A second.", score=1.0, metadata={"doi": "10.1000/9"}),
]


class Count(Perspective):
    """How often a letter occurs in a sentence."""

    name = "x"

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> npt.NDArray[np.float64]:
        return np.array([float(sentence.count("x")) for _, sentence in pairs])


FITTED = Weights({"x": 1.0}, alpha_context=0.0, beta={"bm25": 0.0}, w=(1.0,), normalise="none")
CALIBRATION = Calibration(FITTED, {"whole": Line(1.0, -2.0)}, {"whole": Line(4.0, -5.0)})


@pytest.fixture
def ranking() -> Ranking:
    """A ranking with probabilities: a sentence without an x is no evidence, and one with an x is."""
    reranker = Reranker(perspectives=[Count()], weights=Weights({"x": 1.0}, alpha_context=0.0, beta={"bm25": 1.0}))
    reranker.calibration = CALIBRATION
    return reranker.rerank("where is x?", DOCUMENTS)


def test_probabilities_are_those_of_the_calibration(ranking: Ranking) -> None:
    for document in ranking:
        most = max(sentence.text.count("x") for sentence in document.sentences)
        assert document.probability == pytest.approx(1 / (1 + np.exp(2 - most)))
        for sentence in document.sentences:
            expected = 1 / (1 + np.exp(5 - 4 * sentence.text.count("x")))
            assert sentence.answer_probability == pytest.approx(expected)
    assert ranking.expected_relevant == pytest.approx(sum(document.probability or 0 for document in ranking))
    assert Ranking.from_dict(ranking.to_dict()) == ranking


def test_single_sentences_have_them_and_own_models_have_none() -> None:
    reranker = Reranker("default", device="cpu")
    ranking = reranker.rerank("fever", ["Aspirin lowers fever.", "Coffee."])
    assert all(document.probability is not None for document in ranking)
    assert Reranker(perspectives=[Count()]).rerank("x", DOCUMENTS)[0].probability is None
    with pytest.raises(InputError, match="no calibration"):
        Reranker(perspectives=[Count()]).rerank("x", DOCUMENTS).above(0.5)


def test_a_title_is_evidence_only_where_the_body_has_none(ranking: Ranking) -> None:
    best = {document.id: document.best_sentence for document in ranking}
    assert best["7"] is not None and best["7"].text == "We saw an x | here."
    assert ranking["7"].sentences[0].section == "title"  # which has a higher score
    assert best["8"] is not None and best["8"].section == "title"


def test_the_expected_number_down_to_the_last_probable_document() -> None:
    expected = expectation([0.9, 0.01, 0.5, 0.04, 0.01])
    assert expected is not None
    assert expected.rank == 3
    assert expected.number == pytest.approx(0.9 + 0.01 + 0.5)
    assert (expected.low, expected.high) == (0, 2)
    assert expectation([0.04, 0.01]) is None
    assert expectation([]) is None


def test_the_interval_of_a_hundred_even_chances_holds_the_shift_of_the_query() -> None:
    """Independent documents alone would give 40 to 60."""
    expected = expectation([0.5] * 100)
    assert expected is not None
    assert expected.low < 30
    assert expected.high > 70


def test_notes_below_a_ranking(ranking: Ranking) -> None:
    numbers, order = reading_notes(ranking)
    assert numbers.startswith("Down to rank 3, the last document with a probability of at least 5%, the probabilities")
    assert numbers.endswith("add up to 2 relevant documents (95 % interval: 0 to 3).")
    assert order == ORDER_NOTE
    assert reading_notes(ranking.top(1)) == []
    assert len(ranking.above(0.5)) == 2
    with pytest.raises(InputError, match="probability is 2"):
        ranking.above(2)


@pytest.mark.parametrize(("form", "name"), [("to_ris", "a.ris"), ("to_nbib", "a.nbib")])
def test_exported_references_are_read_back(ranking: Ranking, tmp_path: Path, form: str, name: str) -> None:
    text = getattr(ranking, form)()
    (tmp_path / name).write_text(text, encoding="utf-8")
    read = list(read_references(tmp_path / name))
    assert [document.title for document in read] == [without_markup(document.title) for document in ranking]
    assert [document.abstract for document in read] == [document.text for document in ranking]
    exported = next(document for document in read if document.title.startswith("On x"))
    assert exported.id == "7"
    assert {key: exported.metadata.get(key) for key in ("doi", "year", "journal", "types", "authors")} == {
        key: KNOWN[key] for key in ("doi", "year", "journal", "types", "authors")
    }
    keyword = "KW  - " if form == "to_ris" else "OT  - "
    assert re.findall(f"{keyword}mpir rank (.*)", text) == ["0001", "0002", "0003"]
    assert re.findall(f"{keyword}mpir probability (.*)", text) == [f"{d.probability:.3f}" for d in ranking]
    note = "N1  - " if form == "to_ris" else "GN  - "
    assert len(re.findall(f"{note}mpir: rank . of 3, probability .*, for: where is x", text)) == 3


TEXTS = ("to_ris", "to_nbib", "to_csv", "to_html", "to_markdown", "table", "explain")


@pytest.mark.parametrize(
    ("date", "ris", "nbib"),
    [
        ("2020-01-05 00:00:00", "2020/01/05", "2020 Jan 5"),
        ("2020-01-05T10:00:00Z", "2020/01/05", "2020 Jan 5"),
        (datetime(2020, 1, 5, 10), "2020/01/05", "2020 Jan 5"),
        (datetime(2020, 1, 5, 10).date(), "2020/01/05", "2020 Jan 5"),
        (pandas.Timestamp("2020-01-05"), "2020/01/05", "2020 Jan 5"),
        ("2020 Jan-Feb", "2020/01", "2020 Jan"),
        ("5 January 2020", "2020/01/05", "2020 Jan 5"),
        (20200105, "2020/01/05", "2020 Jan 5"),
        ("2020-01", "2020/01", "2020 Jan"),
        ("2020-13-45", "", "2020"),
        (2020, "", "2020"),
        (pandas.NaT, "", ""),
    ],
)
def test_a_date_of_the_caller_is_exported_in_any_form(date: object, ris: str, nbib: str) -> None:
    document = {"id": "7", "text": "We saw an x.", "date": date}
    ranking = Reranker(perspectives=[Count()]).rerank("where is x?", [document])
    for form in TEXTS:
        assert getattr(ranking, form)()
    assert re.findall("DA  - (.*)", ranking.to_ris()) == [text for text in [ris] if text]
    assert re.findall("PY  - (.*)", ranking.to_ris()) == [text[:4] for text in [nbib] if text]
    assert re.findall("DP  - (.*)", ranking.to_nbib()) == [text for text in [nbib] if text]


def test_missing_values_in_the_fields_of_a_caller_are_no_texts() -> None:
    table = pandas.DataFrame(
        {
            "text": ["We saw an x.", "Nor here."],
            "year": [2020, np.nan],
            "journal": ["Lancet", np.nan],
            "authors": ["Doe, J", np.nan],
            "types": [["Review", np.nan], pandas.NA],
            "volume": pandas.Series([4, pandas.NA], dtype="Int64"),
        }
    )
    rows = table.drop(columns="text").to_dict("records")
    reranker = Reranker(perspectives=[Count()])
    for ranking in (
        reranker.rerank("where is x?", table.to_dict("records")),
        reranker.rerank("where is x?", table["text"], metadata=rows),
    ):
        for form in TEXTS:
            text = getattr(ranking, form)()
            assert not re.search(r"\bnan\b|<NA>|&lt;NA|2020\.0|None", text), form
        assert re.findall("AU  - (.*)", ranking.to_ris()) == ["Doe, J"]
        assert re.findall("VL  - (.*)", ranking.to_ris()) == ["4"]
        assert re.findall(r"0 +2020 +Lancet", ranking.table())


def test_html_is_a_fragment_without_scripts_in_which_texts_are_texts(ranking: Ranking) -> None:
    text = ranking._repr_html_()
    assert "<script" not in text and "On x &lt;b&gt;xx&lt;/b&gt;" in text
    assert "<mark>We saw an x | here.</mark>" in text
    assert '<a href="https://pubmed.ncbi.nlm.nih.gov/7/">' in text and '<a href="https://doi.org/10.1000/9">' in text
    assert "Lancet, 1998" in text
    for tag in set(re.findall(r"<(\w+)", text)):
        assert len(re.findall(rf"<{tag}[ >]", text)) == text.count(f"</{tag}>"), tag


def test_markdown_has_nothing_of_the_texts_as_markup(ranking: Ranking) -> None:
    rows = [line for line in ranking.to_markdown().splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {5}
    assert r"We saw an x \| here." in rows[2] + rows[3] + rows[4]


def test_the_table_has_what_a_reader_looks_for(ranking: Ranking) -> None:
    heads = ranking.table().splitlines()[2].split()
    assert heads == ["rank", "probability", "document", "year", "journal", "title", ">", "best", "sentence"]
    line = next(line for line in ranking.table().splitlines() if "Lancet" in line)
    assert line.split()[2:5] == ["7", "1998", "Lancet"]


def test_data_frames_have_the_best_sentence_and_the_probability(ranking: Ranking) -> None:
    frames: list[Any] = [ranking.to_pandas(), ranking.to_polars()]
    for frame in frames:
        assert list(frame["best_sentence"]) == [d.best_sentence.text if d.best_sentence else "" for d in ranking]
        assert list(frame["probability"]) == [document.probability for document in ranking]
        assert list(frame["x"]) == [d.best_sentence.scores["x"] if d.best_sentence else 0 for d in ranking]
    assert list(ranking.to_polars("sentences")["text"]) == [sentence.text for sentence in ranking.sentences]


def test_a_ranking_shows_itself_in_few_characters(ranking: Ranking) -> None:
    long = Reranker(perspectives=[Count()]).rerank("x" * 3000, [Document("d" * 999, "t" * 999, "x. " * 99)] * 1)
    for value in (ranking, long, long[0], long[0].sentences[0]):
        assert len(repr(value)) < 300
    assert "3 of 3" in repr(ranking)


def test_a_rank_beyond_the_end_says_how_many_there_are(ranking: Ranking) -> None:
    with pytest.raises(IndexError, match=r"^there .*\b99; .*\b3, .*\b0\.$"):
        ranking[99]


@pytest.mark.parametrize("query", ["", " \n"])
def test_a_blank_query_is_refused(query: str) -> None:
    with pytest.raises(InputError, match="query 0 is blank"):
        Reranker(perspectives=[Count()]).rerank(query, DOCUMENTS)

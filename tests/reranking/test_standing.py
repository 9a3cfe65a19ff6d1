"""The standing beside an answer: in values, tables, references and pages, and never in scores or order."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mpir import Document, Perspective, Reranker
from mpir.app.explain.page import page_data
from mpir.reranking.ranking import Ranking
from mpir.reranking.standing import Standing, standing_of

QUERY = "Does aspirin prevent preeclampsia?"
DOCUMENTS = [
    Document(
        "1",
        "Aspirin in pregnancy",
        "Aspirin was not effective in preventing preeclampsia.",
        score=4.0,
        metadata={"year": 2019, "types": ["Journal Article", "Randomized Controlled Trial"], "journal": "Annals"},
    ),
    Document(
        "2",
        "Aspirin: a cohort study",
        "Whether aspirin prevents preeclampsia is unclear.",
        score=3.0,
        metadata={"types": ["Retracted Publication"]},
    ),
    Document("3", "RETRACTED: Aspirin", "Aspirin prevented preeclampsia.", score=2.0),
    Document("4", "", "", score=1.0),
]


class Equal(Perspective):
    """The same for every sentence."""

    name = "equal"

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        return np.array([0.0 if "spirin in" in text or ":" in text else 1.0 for _, text in pairs])


@pytest.fixture(scope="module")
def ranking() -> Ranking:
    ranking = Reranker(perspectives=[Equal()]).rerank(QUERY, DOCUMENTS)
    return replace(ranking, documents=tuple(sorted(ranking.documents, key=lambda document: document.index)))


def test_a_document_has_year_type_of_study_retraction_and_what_its_sentence_says(ranking: Ranking) -> None:
    empty = Standing(year=None, study_type="", is_retracted=False, claim="")
    assert [standing_of(document, QUERY) for document in ranking] == [
        Standing(year=2019, study_type="randomized controlled trial", is_retracted=False, claim="denies"),
        replace(empty, study_type="cohort study", is_retracted=True, claim="unknown"),
        replace(empty, is_retracted=True),
        empty,
    ]


def test_json_has_the_standing_and_is_read_back_without_it(ranking: Ranking) -> None:
    values = json.loads(ranking.to_json())
    assert values["documents"][0]["standing"] == {
        "year": 2019, "study_type": "randomized controlled trial", "is_retracted": False, "claim": "denies",
    }  # fmt: skip
    assert [document["standing"]["claim"] for document in values["documents"]] == ["denies", "unknown", "", ""]
    assert Ranking.from_dict(values).to_json() == ranking.to_json()


def test_tables_say_it_in_words(ranking: Ranking) -> None:
    rows = list(csv.DictReader(io.StringIO(ranking.to_csv()[1:])))
    names = ("year", "type of study", "retracted", "best sentence says")
    assert [[row[name] for name in names] for row in rows] == [
        ["2019", "randomized controlled trial", "", "denies"],
        ["", "cohort study", "yes", "says not known"],
        ["", "", "yes", ""],
        ["", "", "", ""],
    ]
    sentences = list(csv.DictReader(io.StringIO(ranking.to_csv(sentences=9)[1:])))
    assert {row["sentence says"] for row in sentences if "not effective" in row["sentence"]} == {"denies"}
    assert {row["sentence says"] for row in sentences if "prevented" in row["sentence"]} == {""}


def test_terminal_pages_and_references_say_it_beside_the_sentence(ranking: Ranking) -> None:
    assert "Aspirin in pregnancy [randomized controlled trial]" in ranking.table()
    assert "> (denies) Aspirin was not effective" in ranking.table()
    assert "(Annals, 2019, randomized controlled trial) | (denies) Aspirin was not" in ranking.to_markdown()
    assert "(denies) <mark>Aspirin was not effective" in ranking.to_html()
    for text in (ranking.to_ris(), ranking.to_nbib()):
        assert "Best sentence (denies): Aspirin was not effective" in text
        assert "Best sentence (says not known): Whether" in text
        assert "Best sentence: Aspirin prevented" in text


def test_the_page_has_it_for_each_sentence_since_weights_choose_the_best(ranking: Ranking) -> None:
    documents = page_data(ranking, DOCUMENTS)["documents"]
    assert [[sentence["says"] for sentence in document["sentences"]] for document in documents] == [
        ["", "denies"], ["", "says not known"], ["", ""], [],
    ]  # fmt: skip
    types = [document["record"]["study_type"] for document in documents]
    assert types == ["randomized controlled trial", "cohort study", "", ""]
    assert [document["record"]["retracted"] for document in documents] == [False, True, True, False]

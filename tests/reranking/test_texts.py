"""Texts as they come: half characters, very long ones, printed pages, searches in field syntax."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mpir
from mpir import Reranker, RunOptions
from mpir.core.text.query import report_field_search
from tests.reranking.letters import Count


def test_half_a_character_takes_no_part_and_shifts_nothing(tiny_bundle: Path) -> None:
    reranker = Reranker(tiny_bundle, device="cpu", precision="fp32")
    (document,) = reranker.rerank("does \ud83d aspirin", ["aspirin \ud83d. A gene."]).documents
    assert sorted((s.begin, s.end, s.text) for s in document.sentences) == [
        (0, 10, "aspirin \ud83d."),
        (11, 18, "A gene."),
    ]


def test_long_inputs_work_and_sentences_read_in_passages_are_reported(
    tiny_bundle: Path, caplog: pytest.LogCaptureFixture
) -> None:
    reranker = Reranker(tiny_bundle, device="cpu", precision="fp32", run=RunOptions(cascade="all"))
    sentence = "aspirin " * 2500
    big = "The heart is in a trial. " * 42_000
    ranking = reranker.rerank("does aspirin " * 300, [sentence, big, "", "aspirin"], top_k=None)
    assert len(ranking) == 4
    by_index = {document.index: document for document in ranking.documents}
    assert by_index[0].sentences[0].in_passages
    assert by_index[1].sentences[0].text == "The heart is in a trial."
    assert len(by_index[1].sentences) == 42_000
    assert "are longer than a model reads" in caplog.text
    assert ranking.in_passages > 0


class Asked(Count):
    """One that remembers what it was asked."""

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        self.question = pairs[0][0]
        return super().score_pairs(pairs)


@pytest.mark.parametrize(("word", "read"), [("what ", 3_999), ("肝" * 5, 4_000)])
def test_of_a_question_far_too_long_the_beginning_is_read_and_the_ranking_says_so(
    word: str, read: int, caplog: pytest.LogCaptureFixture
) -> None:
    item, complete = Asked("x"), Asked("y")
    complete.level = "document"
    reranker = Reranker(perspectives=[item, complete])
    question = word * 6_000
    ranking = reranker.rerank(question, ["a x. It is y."])
    assert item.question == complete.question == question[:read]
    assert ranking.query == question
    assert ranking.unread == ranking.to_dict()["unread"] == 30_000 - read
    assert f"30000 characters, and only the first {read}" in caplog.text
    assert f"The query is too long: its last {30_000 - read} characters were not read." in ranking.explain()
    caplog.clear()
    shorter = reranker.rerank("what " * 800, ["a x."])
    assert (shorter.unread, item.question, caplog.text) == (0, "what " * 800, "")
    assert "not read" not in shorter.explain()


def test_words_of_a_printed_page_are_read_whole_and_shown_as_they_are(tiny_bundle: Path) -> None:
    clean, page = "It is rare. A significant effect.", "It is rare. A signiﬁ-\ncant eﬀect."
    of_clean, of_page = (mpir.rerank("effects", [text], bundle=tiny_bundle).documents[0] for text in (clean, page))
    assert of_page.scores == of_clean.scores
    assert sorted(sentence.score for sentence in of_page.sentences) == sorted(
        sentence.score for sentence in of_clean.sentences
    )
    assert {page[sentence.begin : sentence.end] for sentence in of_page.sentences} == {
        "It is rare.",
        "A signiﬁ-\ncant eﬀect.",
    }


def test_a_search_in_field_syntax_is_read_as_words_and_kept_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    report_field_search.cache_clear()
    item = Asked("x")
    reranker, search = Reranker(perspectives=[item]), '("heart failure"[mh] OR hfref[tiab]) AND sglt2*'
    ranking = reranker.rerank(search, ["Of mh and tiab.", "Heart failure and SGLT2."])
    assert (item.question, ranking.query, ranking.unread) == ("heart failure hfref sglt2", search, 0)
    assert {document.text: document.scores["bm25"] > 0 for document in ranking.documents} == {
        "Of mh and tiab.": False,
        "Heart failure and SGLT2.": True,
    }
    reranker.rerank(search, ["Of mh."])
    assert caplog.text.count("a database's field syntax") == 1

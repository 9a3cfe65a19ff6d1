"""Searches in field syntax are read as words; questions come back as they are."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.core.text.query import plain_query
from mpir.search.memory import MemoryIndex
from tests.core.text.searches import QUESTIONS, SEARCHES


@pytest.mark.parametrize(("search", "words"), SEARCHES.items())
def test_a_search_is_read_as_its_words(search: str, words: str) -> None:
    assert plain_query(search) == words


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_comes_back_as_it_is(question: str) -> None:
    assert plain_query(question) == question


def test_bm25_reads_the_words() -> None:
    texts = ["Heart failure of hfref.", "The mh and tiab of genes.", "Asthma."]
    search, words = (MemoryIndex(texts).scores(query) for query in next(iter(SEARCHES.items())))
    assert search.tolist() == words.tolist()
    assert search[0] > search[1] == 0


PIECES = [
    '"',
    "(",
    ")",
    " AND ",
    " NOT ",
    "[mh]",
    "[la]",
    "heart",
    "exp ",
    "/",
    ".ti,ab.",
    " adj3 ",
    "*",
    "\n",
    " ",
    "1",
]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_anything_is_read(query: str) -> None:
    assert plain_query(query) or not query


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ['"', "(", "[mh]", "exp ", "exp a ", " ", ") ", "a/", "*", "NOT (", ".ti", "=", "[mh "]
)
def test_time_is_linear(piece: str) -> None:
    begin = time.process_time()
    plain_query(piece * (200_000 // len(piece)) + "x[mh]")
    assert time.process_time() - begin < 5

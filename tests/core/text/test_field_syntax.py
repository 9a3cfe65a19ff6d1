"""Searches in field syntax are read as words; questions come back as they are."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.core.text.field_syntax import plain_query
from mpir.search.memory import MemoryIndex

SEARCHES = {
    '("heart failure"[mh] OR hfref[tiab]) AND sglt2*': "heart failure hfref sglt2",
    '"Heart Failure"[Mesh:NoExp] OR "heart failure"[Title/Abstract:~3]': "Heart Failure",
    "(asthma[ti] NOT (child*[tiab] OR infant[mh])) AND steroid*[tiab]": "asthma steroid",
    "asthma[ti] NOT child[ti] AND steroid[ti]": "asthma steroid",
    "Heart Failure/drug therapy[Majr] AND english[la] AND 2015:2020[dp]": "Heart Failure drug therapy",
    '("2015/01/01"[PDAT] : "3000"[PDAT]) AND Smith J[au] AND covid-19[nm]': "covid-19",
    "HLA-B*57:01[tiab] AND abacavir[nm]": "HLA-B*57:01 abacavir",
    "exp Heart Failure/ and (hfref adj3 acute).ti,ab.": "Heart Failure hfref acute",
    "exp *Heart Failure/dt, th and sglt2$.mp. not animals/": "Heart Failure sglt2",
    "1. exp Stroke/\n2. (stroke or cva).ti,ab.\n3. 1 or 2\n4. limit 3 to english language": "Stroke cva",
    "(colo?r adj vision).tw.": "color adj vision",
    "'heart failure'/exp OR hfref:ti,ab": "heart failure hfref",
    '[mh "heart failure"] AND (sglt2 NEAR/3 inhibitor*)': "heart failure sglt2 inhibitor",
    'TITLE-ABS-KEY("heart failure" AND sglt2)': "heart failure sglt2",
    'TS=("heart failure" OR hfref)': "heart failure hfref",
    '(diabetes OR "high glucose") AND stroke': "diabetes high glucose stroke",
}
QUESTIONS = [
    "Which gene is mutated in cystic fibrosis?",
    "What is the OR (odds ratio) of smoking in lung cancer?",
    "Is TNF-alpha and/or IL-6 raised in sepsis (and NOT in SIRS)?",
    "Does [3H]thymidine label S-phase cells, as in [1]?",
    "Effect of 5 mg/kg vs. 10 mg/ kg on weight (p < 0.05*).",
    "Role of HLA-B*57:01 in abacavir hypersensitivity",
    "BRCA1 AND BRCA2 mutations in breast cancer",
    "the exp function of e.g. ab. initio models",
    "sglt2* inhibitors",
    "N2 and W3 waves; [Ca2+] and [ATP] of cells",
]


@pytest.mark.parametrize(("search", "words"), SEARCHES.items())
def test_a_search_is_read_as_its_words(search: str, words: str) -> None:
    assert plain_query(search) == words


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_comes_back_as_it_is(question: str) -> None:
    assert plain_query(question) is question


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


@pytest.mark.parametrize(
    "piece", ['"', "(", "[mh]", "exp ", "exp a ", " ", ") ", "a/", "*", "NOT (", ".ti", "=", "[mh "]
)
def test_time_is_linear(piece: str) -> None:
    begin = time.perf_counter()
    plain_query(piece * (200_000 // len(piece)) + "x[mh]")
    assert time.perf_counter() - begin < 5

"""The plan: which words are searched for, and from strict to loose."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.search.pubmed.plan import Step, content_words, for_europepmc, for_pubmed, has_syntax, make_plan


def test_words_that_ask_are_not_searched_for() -> None:
    words = content_words("Which drugs slow idiopathic pulmonary fibrosis?")
    assert words == ["drugs", "slow", "idiopathic", "pulmonary", "fibrosis"]


def test_compounds_and_phrases_stay_whole() -> None:
    assert content_words('Does IL-6 cause "heart failure" in Alzheimer’s disease?') == [
        "IL-6", "cause", '"heart failure"', "Alzheimer's", "disease",
    ]  # fmt: skip


def test_joined_stop_words_are_stop_words() -> None:
    assert content_words("Is it aspirin and/or ibuprofen?") == ["aspirin", "ibuprofen"]


def test_a_query_of_stop_words_alone_keeps_them() -> None:
    assert content_words("What is it?") == ["What", "is", "it"]


def test_the_commonest_words_are_dropped_first_and_any_word_comes_last() -> None:
    queries = [for_pubmed(step) for step in make_plan("Which drugs slow idiopathic pulmonary fibrosis?")]
    assert queries[0] == "drugs slow idiopathic pulmonary fibrosis"
    assert [len(query.split()) for query in queries[:3]] == [5, 3, 2]
    assert "drugs" not in queries[1]
    assert queries[-2].startswith("fibrosis AND (") or " AND (" in queries[-2]
    assert queries[-1].count(" OR ") == 4


def test_rare_words_are_searched_for_alone_before_any_word() -> None:
    queries = [for_pubmed(step) for step in make_plan("What is the function of GFRAL?")]
    assert queries == ["function GFRAL", "GFRAL", "GFRAL OR function"]
    alone = [step.required for step in make_plan("Does GDF15 bind GFRAL in the brainstem of mice?") if step.required]
    assert ("GFRAL",) in alone
    assert ("mice",) not in alone


def test_europe_pmc_searches_titles_and_abstracts() -> None:
    queries = [for_europepmc(step) for step in make_plan("CFTR mutations")]
    assert queries == ["TITLE_ABS:(CFTR AND mutations)", "TITLE_ABS:((CFTR OR mutations))"]


def test_a_query_without_a_word_has_no_plan() -> None:
    assert make_plan("?!") == []


TAGGED = ["asthma[mh]", "asthma[MeSH Terms:noexp]", "asthma[Title/Abstract]", "2020[dp]"]
SYNTAX = [*TAGGED, "asthma AND child", "asthma NOT (child)", 'TITLE:"asthma"']
RATIOS = [
    "Is TG:HDL a marker?",
    "DNA:RNA hybrids",
    "the OR for stroke",
    "Does OR time matter",
    "[Si] dust",
    "OR nurses",
]
WORDS = [
    *RATIOS,
    "Is asthma or COPD worse?",
    "ratio 1:2",
    "What is [3H]-thymidine?",
    "NOTCH1 and AND1",
    "[Ca2+]i in muscle",
]


@pytest.mark.parametrize("query", SYNTAX)
def test_syntax_is_recognised(query: str) -> None:
    assert has_syntax(query)


@pytest.mark.parametrize("query", WORDS)
def test_words_are_no_syntax(query: str) -> None:
    assert not has_syntax(query)


CAPITALS = ["ALL", "WAS", "AS", "NO", "IT", "WHO", "HAS", "CAN", "US", "AN", "BE", "MAY"]


@given(st.sampled_from(CAPITALS), st.sampled_from(["What is the cause of {}?", "Does {} hurt in gout?", "{} and pain"]))
def test_capitals_that_equal_a_stop_word_are_names(name: str, form: str) -> None:
    steps = make_plan(form.format(name))
    assert name in for_pubmed(steps[0]).split()
    assert all(name in (*step.required, *step.alternatives) for step in steps if len(step.required) != 1)
    assert Step((name,)) not in steps[1:]  # a search for "all" alone is of no use
    assert name not in content_words(form.format(name.lower()))


@given(st.sampled_from(["vitamin", "hepatitis", "group", "Type", "factor", "Influenza"]), st.sampled_from("ABDI"))
def test_a_letter_stays_with_the_thing_that_it_names(noun: str, letter: str) -> None:
    step = make_plan(f"Is the {noun} {letter} level in measles high?")[0]
    assert f"{noun} {letter}" in for_pubmed(step)
    assert f'"{noun} {letter}"' in for_europepmc(step)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("WHAT IS THE TREATMENT OF GOUT?", ["TREATMENT", "GOUT"]),  # all in capitals: no names can be told
        ("Should I take bisphenol A?", ["take", "bisphenol A"]),
        ("The Effect of A Drug", ["Effect", "Drug"]),
        ("role of IL-6 AND TNF and/or AND/OR CRP in what?", ["role", "IL-6", "TNF", "CRP"]),
        ("When is a vitamin a drug?", ["vitamin", "drug"]),
    ],
)
def test_other_capitals(query: str, words: list[str]) -> None:
    assert content_words(query) == words

"""Gold sentences, and which texts repeat one."""

import pytest

from mpir.core.text import Question, Snippet
from mpir.core.text.characters import normalise
from mpir.lab.gold_sentences import gold_sentences, is_gold, may_be_gold


def snippet(text: str) -> Snippet:
    return Snippet(document="1", begin_section="abstract", end_section="abstract", begin=0, end=len(text), text=text)


def test_gold_sentences_are_those_of_the_snippets_once_without_short_ones() -> None:
    thin, red = "Aspirin makes the blood thin.", "The blood of adults is red."
    question = Question("q", "?", snippets=(snippet(f"{thin} {red}"), snippet(f"OBJECTIVE. {thin}"), snippet("B.")))
    assert gold_sentences(question) == [thin, red]
    assert gold_sentences(Question("q", "?")) == []


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Tau binds microtubules.", True),
        ("tau binds", True),
        ("It is known that TAU binds microtubules, and more.", True),
        ("B", False),  # a letter of the snippet, and no word of it
        ("tau bind", False),
        ("...", False),
    ],
)
def test_gold_is_what_contains_a_snippet_or_is_contained_in_whole_words(sentence: str, expected: bool) -> None:
    assert is_gold(sentence, ["tau binds microtubules"]) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Aspirin thins the blood.", True),  # contained
        ("As known, ASPIRIN thins the blood of adults, but seldom.", True),  # contains
        ("Aspirin also thins blood of the adults", True),  # the same words, nearly
        ("Aspirin was given to adults with a headache", False),
    ],
)
def test_near_repetitions_may_be_gold(text: str, expected: bool) -> None:
    assert may_be_gold(text, [normalise("Aspirin thins the blood of adults")]) is expected

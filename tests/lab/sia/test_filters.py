"""What generated text has to pass; the shares by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.errors import InputError
from mpir.lab.sia.filters import Filters, copied_share, repeated_share

SOURCE = "insulin lowers the sugar in the blood of patients"


@pytest.mark.parametrize(
    ("text", "loss", "fault"),
    [
        ("what does insulin lower in patients", 1.0, ""),
        ("what", 1.0, "length"),
        ("word " * 41, 1.0, "length"),
        ("is it so is it so is it so", 1.0, "repetition"),
        ("insulin lowers the sugar in the blood", 1.0, "copying"),
        ("what does insulin lower in patients", 4.5, "language-model loss"),
    ],
)
def test_the_first_fault_is_named(text: str, loss: float, fault: str) -> None:
    assert Filters().fault(text, SOURCE, loss) == fault


@pytest.mark.parametrize(
    ("text", "source", "relevance", "fault"),
    [
        ("what does insulin lower in patients", SOURCE, 0.6, ""),
        ("insulin lowers what in patients ?", SOURCE, 0.9, ""),
        ("insulin lowers sugar in some patients.", SOURCE, 0.9, "no question"),
        ("what does insulin lower in patients", SOURCE, 0.59, "relevance of its sentence"),
        ("what does insulin lower in patients", "T.", 0.9, "its sentence's length"),
        ("insulin lowers the sugar in the blood", SOURCE, 0.9, "copying"),
    ],
)
def test_a_query_has_to_ask_for_what_its_sentence_says(text: str, source: str, relevance: float, fault: str) -> None:
    assert Filters().query_fault(text, source, 1.0, relevance) == fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("insulin acts on blood sugar", ""),  # insulin, blood and sugar, but not act: 3 of 4
        ("insulin acts on the liver and heart", "invention"),
        ("insulin", "length"),
    ],
)
def test_a_partial_fact_is_about_what_its_sentence_says(text: str, fault: str) -> None:
    assert Filters().fact_fault(text, SOURCE, 1.0) == fault


@pytest.mark.parametrize(
    ("bound", "value", "fault"),
    [
        ("least_relevance", float("nan"), r"sia\.least_relevance is nan"),
        ("most_copied", 80, r"sia\.most_copied is 80"),
    ],
)
def test_a_bound_that_is_none(bound: str, value: float, fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        Filters(**{bound: value})  # type: ignore[arg-type]


def test_shares_by_hand() -> None:
    assert repeated_share(["a", "b", "c", "a", "b", "c"]) == pytest.approx(1 / 4)  # abc bca cab abc
    assert copied_share(["x", "a", "b", "c", "y"], ["a", "b", "c", "d", "a", "b"]) == 3 / 5
    assert copied_share([], ["a"]) == repeated_share(["a"]) == 0


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_the_copied_share_is_that_of_the_longest_common_run(words: list[str], source: list[str]) -> None:
    runs = ["".join(words[i:j]) for i in range(len(words)) for j in range(i + 1, len(words) + 1)]
    longest = max((len(run) for run in runs if run in "".join(source)), default=0)
    assert copied_share(words, source) == longest / len(words)

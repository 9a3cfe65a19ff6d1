"""Numbers and choices of a user's: taken in any plain form, refused in one sentence that says what was expected."""

from typing import Any

import numpy as np
import pytest

from mpir.errors import InputError, format_names, format_paths
from mpir.validation import check_choice, is_missing, optional_whole_number, real_number, whole_number


@pytest.mark.parametrize("value", [2, np.int64(2), np.uint8(2)])
def test_any_whole_number_is_one(value: Any) -> None:
    assert whole_number("k", value) == optional_whole_number("k", value) == 2
    assert type(whole_number("k", value)) is int
    assert optional_whole_number("k", None) is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "missing"),
        (True, "True"),
        (0, "0"),
        (2.0, "2.0"),
        ("5", "'5'"),
        ("5" * 999, f"'{'5' * 78}…"),
        (-(10**9000), "int of very many digits"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_is_no_whole_number_is_one_sentence(value: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        whole_number("k", value)
    assert str(caught.value) == f"k is {said}; expected a whole number of at least 1."


@pytest.mark.parametrize("value", [0, 1, 0.5, np.float32(0.5)])
def test_a_number_that_fits_is_given_back_as_it_is(value: Any) -> None:
    assert real_number("share", value, "a number from 0 to 1", lambda one: 0 <= one <= 1) is value


@pytest.mark.parametrize("value", [None, True, "0.5", float("nan"), float("inf"), 10**400, 1.5, [0.5]])
def test_what_is_no_such_number_is_one_sentence(value: Any) -> None:
    with pytest.raises(InputError, match=r"^share is .{1,80}; .*0 to 1\.$"):
        real_number("share", value, "a number from 0 to 1", lambda one: 0 <= one <= 1)


@pytest.mark.parametrize("value", [None, "c", 1, ["a"], {"a": 1}])
def test_what_is_no_choice_is_one_sentence(value: Any) -> None:
    check_choice("mode", "a", ("a", "b"))
    with pytest.raises(InputError, match=r"^mode is .*; .*a, b\.$"):
        check_choice("mode", value, ("a", "b"))


def test_long_choices_are_cut() -> None:
    with pytest.raises(InputError, match=r"^context is 'a'; .*z{79}…, b\.$"):
        check_choice("context", "a", ("z" * 5_000, "b"))


def test_of_many_names_ten_are_shown_and_all_are_counted() -> None:
    assert format_names("abc") == "a, b, c"
    many = format_names(["x" * 1000 for _ in range(100_000)])
    assert many.endswith("…, … (100,000 in all)")
    assert len(many) < 10 * 82 + 25


def test_what_stands_for_none() -> None:
    assert all(map(is_missing, (None, float("nan"), np.float32("nan"))))
    assert not any(map(is_missing, (0, "", False, 10**400)))


def test_a_long_path_keeps_its_end() -> None:
    path = "/folder" * 40 + "/corpus.jsonl"
    assert format_paths([path, "b.xml"]) == f"…{path[-199:]}, b.xml"
    assert format_paths(["x"] * 12).endswith("x, … (12 in all)")

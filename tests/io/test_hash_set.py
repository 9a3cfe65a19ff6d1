"""What was there before: the same answers as a set gives, in any order and with any names."""

from hypothesis import given
from hypothesis import strategies as st

from mpir.io.hash_set import HashSet

NAMES = st.lists(st.text(max_size=3), max_size=6)


@given(st.lists(NAMES, max_size=6), st.lists(NAMES, max_size=6), NAMES)
def test_it_answers_as_a_set(first: list[list[str]], second: list[list[str]], asked: list[str]) -> None:
    seen, other = HashSet(), HashSet()
    for one, batches in ((seen, first), (other, second)):
        for names in batches:
            one.add(names)
    seen.take(other)
    assert seen.among(asked) == set(asked) & {name for names in (*first, *second) for name in names}

"""What was there before: the same answers as a set gives, in any order and with any names."""

from hypothesis import given
from hypothesis import strategies as st

from mpir.files.hash_set import HashSet

NAMES = st.lists(st.text(max_size=3), max_size=6)


@given(st.lists(NAMES, max_size=6), st.lists(NAMES, max_size=6), NAMES)
def test_it_answers_as_a_set(first: list[list[str]], second: list[list[str]], asked: list[str]) -> None:
    recorded, alternative = HashSet(), HashSet()
    for item, batches in ((recorded, first), (alternative, second)):
        for names in batches:
            item.add(names)
    recorded.take(alternative)
    assert recorded.among(asked) == set(asked) & {name for names in (*first, *second) for name in names}

"""What stands in the place of a text that is not there, and what only begins so."""

import pytest

from mpir.corpora.placeholders import says_nothing


@pytest.mark.parametrize("text", ["", " \n", "[Not Available].", "[not available]", " [No abstract available] "])
def test_no_text(text: str) -> None:
    assert says_nothing(text)


@pytest.mark.parametrize("text", ["Not available.", "[Not available] to whom?", "[Salt in sweat]."])
def test_a_text(text: str) -> None:
    assert not says_nothing(text)

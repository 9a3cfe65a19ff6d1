"""The words that BM25 counts, and Harman's rules for plurals."""

import pytest

from mpir.core.text.terms import terms


def test_terms_are_singular_words_without_stop_words() -> None:
    assert terms("The analyses of studies, proteins, virus; ABSS and vitamin D!") == [
        *("analyse", "study", "protein", "virus", "abss", "vitamin", "d")
    ]


@pytest.mark.parametrize(
    ("word", "singular"),
    [
        ("biopsies", "biopsy"),
        ("aies", "aies"),
        ("genes", "gene"),
        ("knees", "knees"),
        ("toes", "toes"),
        ("algaes", "algaes"),
        ("ribs", "rib"),
        ("mass", "mass"),
        ("ductus", "ductus"),
        ("MS", "ms"),
    ],
)
def test_the_first_rule_whose_ending_fits_decides(word: str, singular: str) -> None:
    assert terms(word) == [singular]

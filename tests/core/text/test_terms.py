"""The words that BM25 counts, and Harman's rules for plurals."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.core.text.characters import greek_forms, without_accents
from mpir.core.text.terms import pubmed_background, terms


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


@pytest.mark.parametrize(
    "text", ["α-synuclein", "Alpha-Synuclein", r"$\alpha$-synuclein", r"{\textalpha}-synuclein", "Α-synuclein"]
)
def test_a_greek_letter_its_name_and_tex_are_one_term(text: str) -> None:
    assert terms(text) == ["alpha", "synuclein"]


def test_mu_is_a_word_but_for_units() -> None:
    assert terms("5 µg of a μ-opioid, TNFα") == ["5", "μg", "mu", "opioid", "tnfalpha"]
    assert [greek_forms(word) for word in ("tnfα", "tnfalpha", "μ", "menu", "kappa")] == [
        *(("tnfalpha",), ("tnfα",), ("mu",), (), ("κ",))
    ]


NAMES = [
    "Behçet",
    "Sjögren",
    "Ménière",
    "Guillain-Barré",
    "Löffler",
    "Chédiak",
    "Łukasz",
    "Đorđević",
    "Ångström",
    "Bjørn",
]


@given(st.sampled_from(NAMES), st.sampled_from(["NFC", "NFD"]), st.booleans())
def test_accents_make_no_other_term(name: str, form: str, upper: bool) -> None:
    written = unicodedata.normalize(form, name.upper() if upper else name)
    assert terms(written) == terms(without_accents(name))
    assert "".join(terms(written)).isascii()


def test_letters_that_stand_for_something_else_stay() -> None:
    assert terms("1.5 Å of 5 μg/ml, χ² and Straße") == ["1", "5", "å", "5", "μg", "ml", "chi²", "strasse"]
    assert without_accents("がйάअ") == "がйάअ"


def test_frequencies_count_words_with_accents() -> None:
    frequencies = pubmed_background().frequencies
    assert frequencies["sjogren"] >= frequencies["sjögren"] > 1

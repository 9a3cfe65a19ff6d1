import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mpir.core.text.characters import composed
from mpir.core.text.legible import legible
from mpir.search.memory import MemoryIndex


@pytest.mark.parametrize(
    ("printed", "read"),
    [
        ("signiﬁcant eﬀects, eﬃcient ﬂow", "significant effects, efficient flow"),
        ("effec-\ntive, inﬂam- \r\n  matory", "effective, inflammatory"),
        ("Paraceta-\nmol, dis-\neases", "Paracetamol, diseases"),
        ("ef\u00ad\nfect, ef\u00adfect, Guillain-\u200bBarré", "effect, effect, Guillain-Barré"),
        ("<p>H<sub>2</sub>O &lt; 5&nbsp;mg</p>", " H2O < 5\xa0mg "),
        ("<h4>Aim</h4>To ask <a href='x'>why</a>.<br/>It is &#945;&#x2013;.", " Aim To ask why. It is α–."),
        ("p<0.05, a<b and c>d, AT&T; &unknown; <unknown>", "p<0.05, a<b and c>d, AT&T; &unknown; <unknown>"),
        ("half \ud800 a pair", "half \ufffd a pair"),
        ("Sjo\u0308gren, Guillain-Barre\u0301, 5 \u212b", "Sjögren, Guillain-Barré, 5 Å"),
        ("Me\u0301ni-\ne\u0300re", "Ménière"),
    ],
)
def test_words_are_whole_and_without_markup(printed: str, read: str) -> None:
    assert legible(printed) == read


@pytest.mark.parametrize(
    "text",
    [
        "dose-\ndependent",
        "T-\ncell",
        "p-\nnitrophenol",
        "well-\nknown",
        "anti-\ninflammatory",
        "CD4-\npositive",
        "of 2-\n3 mg",
        "zorbaxin-\ninduced",
        "Hallervorden-\nSpatz",
    ],
)
def test_compounds_keep_their_hyphen(text: str) -> None:
    assert legible(text) == text


@given(
    st.text(
        st.characters(exclude_characters="<&ﬀﬁﬂﬃﬄﬅﬆ⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻\n\u00ad\u200b\u2060\ufeff", exclude_categories=["Cs"])
    )
)
@example("\uf900")
@example("5 \u212b")
@example("\u0958")
def test_other_texts_are_only_composed(text: str) -> None:
    assert legible(text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize(
    ("text", "expected"), [("10⁶ cells", "10^6 cells"), ("10⁻³ M", "10^-3 M"), ("CO₂ and m²", "CO₂ and m²")]
)
def test_an_exponent_of_a_number_is_no_digit_of_it(text: str, expected: str) -> None:
    assert legible(text) == expected


@given(st.text("ab-‐\nﬁ\u00ad \u200b"))
def test_no_letter_is_lost(text: str) -> None:
    letters = [item for item in text.replace("ﬁ", "fi") if item.isalpha()]
    assert [item for item in legible(text) if item.isalpha()] == letters


@pytest.mark.parametrize(
    "text",
    [
        "a" * 2**20,
        "a-" * 2**19,
        "ab-\n" * 2**18,
        "ab-" + " " * 2**20,
        "<b" * 2**19,
        "<b a='" * 2**18,
        "&a" * 2**19,
        "\u00ad \n" * 2**18,
    ],
    ids=lambda text: text[:6],
)
def test_time_is_linear(text: str) -> None:
    assert len(legible(text)) <= len(text)  # quadratic time would be hours


@given(st.text(st.sampled_from("a\u00e9e\u0301\u0323\u0308\u1e69\uac00\u1100\u1161 \u212b"), max_size=60))
def test_equal_characters_have_one_form(text: str) -> None:
    assert composed(text) == unicodedata.normalize("NFC", text)


def test_a_heap_of_accents_takes_no_time() -> None:
    text = "a" + "\u0301\u0323" * 100_000
    begin = time.process_time()
    assert len(legible(text)) <= len(text)
    assert time.process_time() - begin < 5  # sorted at once, they take minutes


@pytest.mark.parametrize("query", ["Sj\u00f6gren", "Sjo\u0308gren"])
def test_bm25_finds_either_form(query: str) -> None:
    texts = ["Sjo\u0308gren syndrome in ten adults.", "Sj\u00f6gren syndrome in ten adults.", "Asthma in ten adults."]
    decomposed, composed_score, other = MemoryIndex(texts).scores(query)
    assert decomposed == composed_score > other == 0

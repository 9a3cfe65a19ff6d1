"""Full stops that end no sentence: initials, abbreviations by what follows them, and decimals with a space."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.core.text.initials import LETTERED
from mpir.core.text.split import split

SURNAMES = st.sampled_from(["Doe", "O'Neil", "McDoe", "Doe-Roe", "Müller", "DiRoe", "Ångström"])
INITIALS = st.sampled_from(["J.", "K. L.", "J.-P.", "K.L.", "B. C. D."])
FRAMES = [
    "The scale of {0} was used.",
    "As described by {0}, cells were fixed.",
    "Two authors ({0} and {1}) read the titles.",
    "{0}, M.D., and {1}, Jr., led the study.",
    "We thank {0} for help.",
    "Reviewers were {0} and {1}.",
    "It is old ({0}, {1}, and {0}, Heart 1, 5).",
    "It was seen by Dr. {0} and Prof. {1}.",
]


def pieces(text: str) -> list[str]:
    return [text[begin:end] for begin, end in split(text)]


@given(st.sampled_from(FRAMES), INITIALS, INITIALS, SURNAMES, SURNAMES)
def test_initials_end_no_sentence(frame: str, first: str, second: str, surname: str, other: str) -> None:
    text = frame.format(f"{first} {surname}", f"{second} {other}")
    assert pieces(text) == [text]


@given(
    st.sampled_from(sorted(LETTERED - {"deg", "vit", "fig"})),
    st.sampled_from("ABCDEIKXY"),
    st.sampled_from(["Rickets followed.", "Labetalol was quicker.", "Cells died.", "The drug was safe."]),
)
def test_a_letter_that_names_a_thing_ends_a_sentence(noun: str, letter: str, following: str) -> None:
    for first in (f"It was {noun} {letter}.", f"Of two {noun}s, {letter} and B.", f"{noun.capitalize()} {letter}."):
        assert pieces(f"{first} {following}") == [first, following]


def test_letters_that_stand_alone_elsewhere_are_no_initials() -> None:
    assert len(pieces("Survival fell in Dukes A and Dukes B more than in Dukes C. Roe saw it.")) == 2
    assert len(pieces("It fell in X by 12%, and by 10% of X. Catalase rose.")) == 2
    assert len(pieces("The effect of X. Roe was large.")) == 1


@pytest.mark.parametrize("serovar", ["Typhimurium", "Enteritidis", "Typhi", "Newport", "Heidelberg", "Dublin"])
def test_serovars_belong_to_their_genus(serovar: str) -> None:
    text = f"Stools had S. {serovar} and not S. enterica."
    assert pieces(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Samples were kept at -80 deg. C. for a week.",
        "Trans. N.Y. Acad. Sci. printed it, and so did Br. J. Surg. 1990 and J. Clin. Invest. 5, 2.",
        "Data were read with a program, v. 21.0 (Doe Corp., Armonk, N.Y., USA).",
        "The Ph. Eur. monograph and the Am. Heart Assoc. guideline agree.",
        "Rats had i.g. 20 mg, i.t. 5 mg or p.v. [control] doses.",
        "As in Doe et. al. (2019) and Roe et al. Heart 5, it rose.",
        "Of all drugs, incl. Placebo, excl. 3 old ones, a.k.a. Doe's.",
        "Cultures had Synechocystis sp. PCC 6803 and got i.v. LPS.",
        "Doe, J., and Roe, A. (1990) wrote it.",
        "Trial registration: no. NCT00000000.",
    ],
)
def test_abbreviations_within_a_sentence(text: str) -> None:
    assert pieces(text) == [text]


@given(
    st.sampled_from(["i.v.", "p.o.", "s.c.", "i.p.", "i.m.", "spp.", "sp.", "resp.", "no."]),
    st.sampled_from(["Mice", "Anaesthesia", "Somewhat", "In", "Secondary"]),
)
def test_some_abbreviations_end_a_sentence_before_a_capitalised_word(abbreviation: str, word: str) -> None:
    first, second = f"They were given 5 mg {abbreviation}", f"{word} rats were killed."
    assert pieces(f"{first} {second}") == [first, second]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The interval was below 500 ms.", "It was safe."),
        ("They studied patients in a VS.", "All five woke."),
        ("Calcium is Ca.", "Both were low."),
        ("It began in Nov.", "Then it ended."),
    ],
)
def test_words_that_look_like_abbreviations_end_sentences(first: str, second: str) -> None:
    assert pieces(f"{first} {second}") == [first, second]


@given(st.sampled_from("<>=≤≥±"), st.integers(0, 999), st.from_regex(r"\A\d{1,4}\Z"), st.sampled_from(["", " "]))
def test_a_space_inside_a_decimal_ends_no_sentence(sign: str, whole: int, fraction: str, space: str) -> None:
    text = f"It fell (P {sign}{space}{whole}. {fraction}) by 12. 5 mg."
    assert pieces(text) == [text]


def test_a_number_may_begin_a_sentence() -> None:
    assert len(pieces("We compared arms 1 and 2. 20 patients died.")) == 2
    assert len(pieces("It fell (P = 0. 01) on 22. 22q11 is a region.")) == 2


@given(st.text("*†‡§¶‖", min_size=1, max_size=3), st.sampled_from(["The rest lived.", "Two of 9 lived."]))
def test_a_footnotes_mark_stays_with_its_sentence(mark: str, following: str) -> None:
    assert pieces(f"Two died.{mark} {following}") == [f"Two died.{mark}", following]

r"""LaTeX whose letters change the meaning: "\textgreek{m}g" is μg, and 10 to the minus 6 is not 106."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.core.text.latex import plain_latex

LATIN, GREEK = "abgdezhjiklmnxoprstufqywGDJLXPSFQYW", "αβγδεζηθικλμνξοπρστυφχψωΓΔΘΛΞΠΣΦΧΨΩ"
LETTERS = dict(zip(LATIN, GREEK, strict=True))
FORMS = [
    *(r"\textgreek{%s}", r"{\textgreek{%s}}", r"\textit{\textgreek{%s}}", r"\foreignlanguage{greek}{%s}"),
    r"{\greektext %s}",
]
MINUS = ["-", "--", "−", "–", r"$-$", r"\textminus ", r"\textminus{}", r"\ensuremath{-}"]


@given(st.sampled_from(FORMS), st.sampled_from(sorted(LETTERS)), st.sampled_from(["g", "-cell", " agonists"]))
def test_letters_of_greek_fonts_are_greek(form: str, letter: str, following: str) -> None:
    assert plain_latex(f"5 {form % letter}{following}") == f"5 {LETTERS[letter]}{following}"


@given(st.sampled_from(MINUS), st.integers(1, 99))
def test_a_raised_minus_is_part_of_the_exponent(minus: str, exponent: int) -> None:
    raised = str(exponent).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    assert plain_latex(rf"10\textsuperscript{{{minus}{exponent}}} M") == f"10⁻{raised} M"


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\textgreek{\textmu}g and \textgreek{μ}g", "μg and μg"),
        (r"$\textgreek{m}$g", "μg"),
        (r"\foreignlanguage{french}{Vie}", "Vie"),
        (r"\SI{5}{\ug}, \SI{5}{\micro\gram\per\litre}", "5 μg, 5 μg/l"),
        (r"\ang{90}", "90°"),
        (r"$10^{\mathrm{-6}}$, 10$^{\textrm{-}6}$, $10^{\,-6}$", "10⁻⁶, 10⁻⁶, 10⁻⁶"),
        (r"It costs $5 and $6.", "It costs $5 and $6."),
    ],
)
def test_other_commands(latex: str, text: str) -> None:
    assert plain_latex(latex) == text

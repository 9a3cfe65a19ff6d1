"""Characters in one form: composed letters, ligatures, exponents, and Greek letters by name.

With these, "α-synuclein", "alpha-synuclein" and "$\\alpha$-synuclein" have the same words, and 10⁶ does not become 106.
"""

from __future__ import annotations

import re
import unicodedata

LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
"""Typographic ligatures, which texts from PDF files often contain as one character."""
_SURROGATE = re.compile("[\ud800-\udfff]")
# A letter and its accents, in pieces: Unicode sorts accents in quadratic time.
_ACCENTED = re.compile("[\x00-\x7f]?+[^\x00-\x7f]{1,100}+")


def composed(text: str) -> str:
    """Convert to Unicode's form NFC, in which equal characters compare equal; a two-code-point "ö" becomes one code
    point. Time is linear.
    """
    return text if text.isascii() else _ACCENTED.sub(lambda match: unicodedata.normalize("NFC", match[0]), text)


_MARKS = range(0x300, 0x370)
_LATIN = (*range(0xC0, 0x250), *range(0x1E00, 0x1F00))


def _base(character: str) -> str:
    """Return a letter without its accents: itself, unless it is composed of an ASCII letter and marks."""
    parts = unicodedata.normalize("NFD", character)
    return parts[0] if parts[0].isascii() and all(ord(mark) in _MARKS for mark in parts[1:]) else character


_WITHOUT_ACCENTS = {
    **{code: _base(chr(code)) for code in _LATIN},
    **dict.fromkeys(_MARKS, ""),
    **str.maketrans({"ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l"}),
    **str.maketrans({"Ł": "L", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "TH", "ı": "i"}),
}
_ANY_ACCENT = re.compile("[\u00c0-\u024f\u0300-\u036f\u1e00-\u1eff]")
_SYMBOL = re.compile(r"(?<!\w)([\u00c0-\u024f\u1e00-\u1eff])(?!\w)")
"""A letter of its own, such as the unit Å, which is no "a"."""


def without_accents(text: str) -> str:
    """Return a text with plain letters in place of accented Latin ones in words: "Behçet" becomes "Behcet".

    Databases differ in them: Embase writes "Sjogren" and PubMed "Sjögren". Other scripts stay as they are.
    """
    if text.isascii() or not _ANY_ACCENT.search(text):
        return text
    pieces = _SYMBOL.split(composed(text))
    return "".join(piece if number % 2 else piece.translate(_WITHOUT_ACCENTS) for number, piece in enumerate(pieces))


def normalise(text: str) -> str:
    """Keep lower-case words and digits only, so that punctuation, case and spacing don't hide a repeated question."""
    return " ".join(re.findall(r"\w+", composed(text).casefold()))


def without_surrogates(text: str) -> str:
    """Replace unpaired surrogates, which cannot be written in UTF-8, by U+FFFD; offsets stay valid."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


_RAISED = str.maketrans("0123456789+-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")
_LOWERED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_EXPONENT = re.compile(r"(?<=\d)[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")


def raised(exponent: str) -> str:
    """Return a number as superscript characters, so that 10⁶ does not become 106, and offsets stay the same."""
    return "".join(exponent.split()).translate(_RAISED)


def with_carets(text: str) -> str:
    """Return a text with "10^6" for "10⁶", which models and BM25 read as two numbers."""
    return text if text.isascii() else _EXPONENT.sub(lambda match: f"^{match[0].translate(_LOWERED)}", text)


_NAMES = """
alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi psi
omega
"""
NAMES = tuple(_NAMES.split())
LETTERS = "αβγδεζηθικλμνξοπρστυφχψω"
_NAME_OF = dict(zip(LETTERS, NAMES, strict=True))
_FORMS = {"ς": "sigma", "ϑ": "theta", "ϕ": "phi", "ϰ": "kappa", "ϱ": "rho", "ϵ": "epsilon", "ϖ": "pi"}
_TABLE = str.maketrans({letter: name for letter, name in (_NAME_OF | _FORMS).items() if name != "mu"} | {"µ": "μ"})
_MU = re.compile("μ(?![a-zα-ω])")
"""Mu as a letter of its own: "μ-opioid", unlike the prefix of a unit ("5 μg")."""
_LETTER = re.compile("[α-ωϑϕϰϱϵϖµ]")
_COMMAND = re.compile(rf"\\(?:text|up|var)(?={'|'.join(NAMES)})")
_SHORTEST = 4
"""Minimum length of a name that is also found at the end of a word: "tnfalpha", but not "menu"."""
_LONG = "|".join(name for name in NAMES if len(name) >= _SHORTEST)
_ANY_NAME = re.compile(rf"(?:\b(?:{'|'.join(NAMES)})|(?:{_LONG}))\b", re.IGNORECASE)
_NAMED = re.compile(rf"(.*?)({'|'.join(NAMES)})")


def greek_names(text: str) -> str:
    r"""Return a lower-case text with names in place of Greek letters and of TeX's "\textalpha" and "\varepsilon"."""
    if "\\" in text:
        text = _COMMAND.sub(r"\\", text)
    if text.isascii() or not _LETTER.search(text):
        return text
    return _MU.sub("mu", text.translate(_TABLE))


def greek_forms(word: str) -> tuple[str, ...]:
    """Return the other spelling of a lower-case word: "tnfα" of "tnfalpha", and the reverse; () without Greek."""
    if (named := greek_names(word)) != word:
        return (named,)
    match = _NAMED.fullmatch(word)
    if match and (not match[1] or len(match[2]) >= _SHORTEST):
        return (match[1] + LETTERS[NAMES.index(match[2])],)
    return ()


def has_greek(text: str) -> bool:
    """Whether a text has a Greek letter, or a word that is or ends with its name."""
    return _ANY_NAME.search(text) is not None or (not text.isascii() and _LETTER.search(text.lower()) is not None)

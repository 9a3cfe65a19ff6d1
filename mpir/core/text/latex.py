"""LaTeX in texts of BibTeX, JATS and publishers: commands and formulas as plain text.

pylatexenc knows accents, Greek letters of formulas and most symbols; this module adds the commands for text that
reference managers write, such as ``{\\textless}`` and ``{\\textbeta}``. latexcodec keeps these commands, and unicodeit
changes hyphens and quotation marks outside formulas.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from mpir.core.text.markup import raised
from mpir.errors import InputError

if TYPE_CHECKING:
    from pylatexenc.latex2text import LatexNodes2Text

_LONGEST = 100_000
"""Maximum characters of a text with LaTeX commands: decoding takes a thousand bytes of memory for each."""
_SIGN = re.compile(r"[\\$]|``|''|---?|~")
_UNESCAPED = re.compile(r"(?<!\\)((?:\\\\)*)([%&])")
"""Characters that LaTeX reads as a comment or a column separator; many programs do not escape them."""
_DOLLAR = re.compile(r"(?<!\\)\$")
_MATH = re.compile(
    r"(?:(?<![\w\\$])|(?<=\w)(?=\$[_^\\]))\$(?=\S)([^$\n]{1,300}?(?<![\s\\]))\$(?!\d)|\\\((.{1,300}?)\\\)|(?<!\\)\$\$([^$]{1,600})\$\$"
)
_LIKE_MATH = re.compile(r"[\\^_<>=~±≤≥]|^[-+]?\d+(?:\.\d+)?$|^\w$")
_DOCUMENT = re.compile(
    r"\\documentclass.*?\\begin\s*\{document\}|\\usepackage(?:\[[^\]]*\])?\{[^}]*\}|\\end\s*\{document\}", re.DOTALL
)
_EXPONENT = re.compile(r"(?<=\d)\s*\^\s*(?:\{\s*([-−–+]?\s*\d+)\s*\}|(\d))")
_INDEX = re.compile(r"_\s*(?:\{\s*(\d+)\s*\}|(\d))")
_TRANSPARENT = frozenset(("textsubscript", "ce", "text", "mbox", "textnormal", "noindent", "newline", "linebreak"))
"""Commands that leave their argument."""
_COMMAND = re.compile(r"\\([A-Za-z]+)\*?((?:\s*\{[^{}]*\})*)")
_GREEK = (
    *(
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "zeta",
        "eta",
        "theta",
        "iota",
        "kappa",
        "lambda",
        "mu",
        "nu",
        "xi",
    ),
    *("omicron", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"),
)
_LETTERS = "αβγδεζηθικλμνξοπρστυφχψω"
_SYMBOLS = {
    **{f"text{name}": letter for name, letter in zip(_GREEK, _LETTERS, strict=True)},
    **{f"text{name.capitalize()}": letter.upper() for name, letter in zip(_GREEK, _LETTERS, strict=True)},
    **{"textless": "<", "textgreater": ">", "lt": "<", "gt": ">", "textbar": "|", "textbackslash": "\\"},
    **{"textasciitilde": "~", "texttildelow": "~", "textasciicircum": "^", "textasciimacron": "¯", "textminus": "−"},
    **{"texttimes": "×", "textdiv": "÷", "textpm": "±", "textleq": "≤", "textgeq": "≥", "textdegree": "°"},
    **{"textonehalf": "½", "textonequarter": "¼", "textthreequarters": "¾", "textperthousand": "‰"},
    **{"textonesuperior": "¹", "texttwosuperior": "²", "textthreesuperior": "³", "textmugreek": "μ", "micro": "μ"},
    **{"textrightarrow": "→", "textleftarrow": "←", "textuparrow": "↑", "textdownarrow": "↓", "textinfty": "∞"},
    **{"textquotesingle": "'", "textquotedbl": '"', "textprime": "′", "textdoubleprime": "″", "texteuro": "€"},
    **{"omicron": "ο", "degree": "°", "celsius": "°C", "textcelsius": "°C", "permil": "‰", "upmu": "μ", "muup": "μ"},
    **{f"up{name}": letter for name, letter in zip(_GREEK, _LETTERS, strict=True) if name != "mu"},
}
"""Commands that pylatexenc does not know, with their characters."""


def plain_latex(text: str, unknown: set[str] | None = None) -> str:
    """Return a text with characters in place of LaTeX commands, in one line; texts without LaTeX are unchanged.

    Formulas between dollar signs are read as text: "$10^{6}$" becomes "10⁶". Sums of money are not formulas. Commands
    that nobody knows stay as they are written, and are added to `unknown`.

    Raises:
        InputError: the text is too long, or its commands are nested too deeply.
    """
    if not _SIGN.search(text):
        return text
    text = _MATH.sub(_formula, text)
    commands = dict[str, str]()
    text = _COMMAND.sub(lambda match: _held(match, commands, unknown), text)
    text = _UNESCAPED.sub(r"\1\\\2", _DOLLAR.sub(r"\\$", text))
    text = _decoded(text)
    for mark, command in commands.items():
        text = text.replace(mark, command)
    return text


def _decoded(latex: str) -> str:
    if len(latex) > _LONGEST:
        raise InputError(
            f"a field with LaTeX commands has {len(latex):,} characters (expected up to {_LONGEST:,}); shorten it, or "
            "remove its commands."
        )
    try:
        text: str = _converter().latex_to_text(latex)
        return text
    except RecursionError as error:
        raise InputError("a field's LaTeX is nested too deeply; remove its commands.") from error


def plain_formula(text: str) -> str:
    """Return a formula in TeX, such as that of a JATS ``<tex-math>`` with its document, as text."""
    content = _DOCUMENT.sub("", text).strip()
    return " ".join(plain_latex(_inside(content.strip("$").strip())).split())


def _formula(match: re.Match[str]) -> str:
    content = match[1] or match[2] or match[3]
    is_formula = match[2] or match[3] or _LIKE_MATH.search(content)
    return f"{{{_inside(content)}}}" if is_formula else match[0]


def _inside(content: str) -> str:
    """Return a formula's content as LaTeX outside formulas."""
    content = _EXPONENT.sub(lambda match: raised(match[1] or match[2]), content)
    content = _INDEX.sub(lambda match: match[1] or match[2], content)
    return content.replace(r"\{", "{").replace(r"\}", "}") if "\\" in content else content


def _held(match: re.Match[str], commands: dict[str, str], unknown: set[str] | None) -> str:
    """Return a command's mark if nobody knows the command, else the command; text superscripts are raised."""
    name = match[1]
    if name == "textsuperscript" and (digits := re.fullmatch(r"\s*\{\s*([-−–+]?\d+)\s*\}", match[2])):
        before = match.string[max(0, match.start() - 1) : match.start()]
        return raised(digits[1]) if before.isdigit() else digits[1]
    if name in _TRANSPARENT:
        return match[2] or " "
    if _is_known(name):
        return match[0]
    if unknown is not None:
        unknown.add(f"\\{name}")
    mark = f"\ue000{len(commands)}\ue001"
    commands[mark] = match[0]
    return mark


@cache
def _converter() -> LatexNodes2Text:
    from pylatexenc.latex2text import LatexNodes2Text, MacroTextSpec, get_default_latex_context_db

    context: Any = get_default_latex_context_db()
    context.add_context_category(
        "mpir", prepend=True, macros=[MacroTextSpec(name, symbol) for name, symbol in _SYMBOLS.items()]
    )
    return LatexNodes2Text(math_mode="text", strict_latex_spaces=False, latex_context=context)


@cache
def _is_known(name: str) -> bool:
    from pylatexenc.latex2text import get_default_latex_context_db

    return name in _SYMBOLS or bool(getattr(get_default_latex_context_db().get_macro_spec(name), "macroname", ""))

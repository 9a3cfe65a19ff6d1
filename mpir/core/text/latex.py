r"""LaTeX in texts of BibTeX, JATS and publishers: commands and formulas as plain text.

pylatexenc knows accents, Greek letters of formulas and most symbols; this module adds the commands for text that
reference managers write, such as ``{\textless}`` and ``{\textbeta}``, units, and commands that only style or group.
latexcodec keeps these commands, and unicodeit changes hyphens and quotation marks outside formulas.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from mpir.core.text.characters import LETTERS, NAMES, raised
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
    r"(?<!\\)\$\$([^$]{1,600})\$\$|(?<!\\)\$([^$\n]{1,300}?)(?<!\\)\$|\\\((.{1,300}?)\\\)|\\\[([^\[\]]{1,600}?)\\\]"
)
_LIKE_MATH = re.compile(r"[\\^_<>=~±≤≥]|\w?[-+/*|]?")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_DOCUMENT = re.compile(
    r"\\documentclass.*?\\begin\s*\{document\}|\\usepackage(?:\[[^\]]*\])?\{[^}]*\}|\\end\s*\{document\}", re.DOTALL
)
_DEGREE = re.compile(r"\^\s*(?:\{\s*\\circ\s*\}|\\circ(?![A-Za-z]))")
_EXPONENT = re.compile(
    r"(?<=\d)\s*\^\s*(?:\{(?:\s|\\[,;:!])*(?:\{([-−–+])\}|([-−–+]?))\s*(\d+)\s*\}|\{\s*\{([-−–+]?)\s*(\d+)\}\s*\}|(\d))"
)
_RAISED = re.compile(r"(?<!\d)\s*\^\s*(?=[{\\\w*])")
_LOWERED = re.compile(r"_\s*(?:\{\s*\{?([\w.,+/-]{1,20})\}?\s*\}|(\w)(?!\w))")
_BEFORE_SPACE = re.compile(r"(\\[A-Za-z]+)\s+(?=[\d=<>+\\-])")
_LINE_END = re.compile(r"\\\\(?:\[[^\]]*\]|\*)?")
_DOUBLED = re.compile(r"\\\\(?=([A-Za-z]{2,}))")
_ARGUMENT, _OPTION = r"\s*\{((?:[^{}]|\{[^{}]*\})*)\}", r"(?:\s*\[[^\]]*\])?"
_PLACE = r"(?![A-Za-z])\*?"
_REWRITTEN = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (rf"\\href{_OPTION}{_ARGUMENT}{_ARGUMENT}", r"{\2}"),
        (rf"\\(?:url|path|nolinkurl){_PLACE}{_ARGUMENT}", r"{\1}"),
        (rf"\\[dtc]?frac{_PLACE}{_ARGUMENT}{_ARGUMENT}", r"{\1/\2}"),
        (r"\\[dtc]?frac\s*(\d)\s*(\d)", r"{\1/\2}"),
        (rf"\\foreignlanguage{_OPTION}{_ARGUMENT}(?=\s*\{{)", ""),
        (rf"\\ang{_OPTION}{_ARGUMENT}", r"{\1°}"),
        (rf"\\(?:SI|qty){_OPTION}{_ARGUMENT}{_OPTION}{_ARGUMENT}", r"{\1\,\2}"),
        (rf"\\(?:textcolor|colorbox){_OPTION}{_ARGUMENT}{_ARGUMENT}", r"{\2}"),
        (rf"\\(?:begin|end){_ARGUMENT}(?:\{{[lcr|]*\}})?", " "),
        (r"\\item(?![A-Za-z])", " • "),
    )
)
"""Commands with arguments that become other LaTeX."""
_GREEK = re.compile(
    rf"\\(?:textgreek|greek){_PLACE}{_ARGUMENT}|\\foreignlanguage\s*\{{(?:poly)?greek\}}{_ARGUMENT}"
    r"|\{\s*\\greektext(?![A-Za-z])\s*([^{}\\]*)\}"
)
"""Texts in the encoding of Greek fonts (LGR), where "m" is μ."""
_LGR = str.maketrans(
    "abgdezhjiklmnxoprstufqywcABGDEZHJIKLMNXOPRSTUFQYW", "αβγδεζηθικλμνξοπρστυφχψωςΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ"
)
_STYLES = """
textsubscript textsuperscript ce text mbox hbox textnormal noindent newline linebreak par num si unit ensuremath mathrm
mathit mathbf mathsf mathtt mathnormal boldsymbol operatorname textup textmd it bf em rm sf tt
sc sl itshape bfseries upshape normalfont tiny scriptsize footnotesize small normalsize large Large displaystyle limits
left right big Big bigl bigr protect relax xspace hspace vspace
"""
_TRANSPARENT = frozenset(_STYLES.split())
"""Commands that style, group or space: only their arguments are read."""
_FONTS = frozenset({"textrm", "textit", "textbf", "textsf", "texttt"})
_DOCUMENTS = "title author date maketitle includegraphics cite citep citet ref label frac dfrac tfrac url href"
_REFUSED = frozenset(_DOCUMENTS.split())
"""Commands that pylatexenc would drop, replace by a remark, or fail on, because an argument is missing."""
_FORMULA = re.compile(rf"\\ensuremath{_ARGUMENT}")
_SUPERSCRIPT = re.compile(
    r"\\textsuperscript\s*\{\s*\$?\s*\{?((?:--?|[−–+]|\\text(?:minus|endash)|\\ensuremath\{-\})?)"
    r"[\s{}]*\$?\s*(\d{1,4})\s*\}?\s*\$?\s*\}"
)
_NAME = re.compile(r"\\([A-Za-z]+)\*?")
_ARGUMENTS = re.compile(r"(?:\s*\{[^{}]*\})*")
_UNITS = {
    **{"milli": "m", "micro": "μ", "nano": "n", "kilo": "k", "centi": "c", "pico": "p", "deci": "d", "mega": "M"},
    **{"gram": "g", "litre": "l", "liter": "l", "metre": "m", "meter": "m", "mole": "mol", "molar": "M", "second": "s"},
    **{"minute": "min", "hour": "h", "day": "d", "hertz": "Hz", "volt": "V", "gray": "Gy", "becquerel": "Bq"},
    **{"dalton": "Da", "watt": "W", "joule": "J", "newton": "N", "kelvin": "K", "pascal": "Pa", "percent": "%"},
    **{f"u{unit}": f"μ{unit}" for unit in ("g", "m", "s", "l", "L", "mol", "M", "A", "V", "W", "J", "Hz")},
    **{name: name for name in ("ng", "pg", "fg", "kg", "nm", "cm", "mm", "km", "ms", "ns", "ml", "mL", "nmol", "mmol")},
    **{name: name for name in ("pmol", "mol", "kHz", "MHz", "Hz", "mV", "kV", "kPa", "Pa", "kJ", "eV", "keV", "kDa")},
    **{"per": "/", "square": "²", "cubic": "³", "textmicro": "μ", "umu": "μ", "textmiddot": "·"},
    **{"degreeCelsius": "°C", "mg": "mg", "kg": "kg", "ml": "ml", "squared": "²", "cubed": "³"},
}
_SYMBOLS = {
    **{f"text{name}": letter for name, letter in zip(NAMES, LETTERS, strict=True)},
    **{f"text{name.capitalize()}": letter.upper() for name, letter in zip(NAMES, LETTERS, strict=True)},
    **{f"up{name}": letter for name, letter in zip(NAMES, LETTERS, strict=True) if name != "mu"},
    **{f"Up{name}": letter.upper() for name, letter in zip(NAMES, LETTERS, strict=True)},
    **{"textless": "<", "textgreater": ">", "lt": "<", "gt": ">", "textbar": "|", "textbackslash": "\\"},
    **{"textasciitilde": "~", "texttildelow": "~", "textasciicircum": "^", "textasciimacron": "¯", "textminus": "−"},
    **{"texttimes": "×", "textdiv": "÷", "textpm": "±", "textleq": "≤", "textgeq": "≥", "textdegree": "°"},
    **{"textonehalf": "½", "textonequarter": "¼", "textthreequarters": "¾", "textperthousand": "‰"},
    **{"textonesuperior": "¹", "texttwosuperior": "²", "textthreesuperior": "³", "textmugreek": "μ"},
    **{"textrightarrow": "→", "textleftarrow": "←", "textuparrow": "↑", "textdownarrow": "↓", "textinfty": "∞"},
    **{"textquotesingle": "'", "textquotedbl": '"', "textprime": "′", "textdoubleprime": "″", "texteuro": "€"},
    **{"omicron": "ο", "degree": "°", "celsius": "°C", "textcelsius": "°C", "permil": "‰", "upmu": "μ", "muup": "μ"},
    **{"angstrom": "Å", "textohm": "Ω", "ohm": "Ω", "copyright": "©", "pounds": "£", "S": "§", "P": "¶"},
    **_UNITS,
}
"""Commands that pylatexenc does not know, with their characters."""


def plain_latex(text: str, unknown: set[str] | None = None) -> str:
    """Return a text with characters in place of LaTeX commands, in one line; texts without LaTeX are unchanged.

    Formulas between dollar signs are read as text: "$10^{6}$" becomes "10⁶", "CO$_2$" becomes "CO2". Sums of money are
    not formulas. Commands that nobody knows stay as they are written, and are added to `unknown`.

    Raises:
        InputError: the text is too long, or its commands are nested too deeply.
    """
    if not _SIGN.search(text):
        return text
    if "\\" in text:
        text = _LINE_END.sub(" ", _DOUBLED.sub(lambda match: "\\" if _is_known(match[1]) else match[0], text))
        text = _GREEK.sub(_greek, _FORMULA.sub(r"$\1$", _SUPERSCRIPT.sub(_superscript, text)))
    text = _without_formulas(text)
    commands = dict[str, str]()
    if "\\" in text:
        for pattern, replacement in _REWRITTEN:
            text = pattern.sub(replacement, text)
        text = _held(text, commands, unknown)
    text = _UNESCAPED.sub(r"\1\\\2", _DOLLAR.sub(r"\\$", text))
    text = _decoded(text)
    for mark, command in commands.items():
        text = text.replace(mark, command)
    return text


def plain_formula(text: str) -> str:
    """Return a formula in TeX, such as that of a JATS ``<tex-math>`` with its document, as text."""
    content = _DOCUMENT.sub("", text).strip()
    return " ".join(plain_latex(_inside(content.strip("$").strip())).split())


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
    except (AttributeError, IndexError, TypeError, ValueError):  # a known command without its arguments
        return latex


def _without_formulas(text: str) -> str:
    """Return a text with its formulas as LaTeX outside formulas; a dollar sign of a sum of money begins none."""
    pieces, begin, after = list[str](), 0, 0
    while match := _MATH.search(text, after):
        if not _is_formula(match):
            after = match.start() + 1
            continue
        pieces.append(text[begin : match.start()])
        pieces.append(f"{{{_inside(match[match.lastindex or 0], text[max(0, match.start() - 1) : match.start()])}}}")
        begin = after = match.end()
    return "".join((*pieces, text[begin:]))


def _is_formula(match: re.Match[str]) -> bool:
    """Whether the text between two dollar signs is a formula, rather than what stands between two sums of money."""
    content = match[2]
    if content is None:
        return True
    content = content.strip("{}") or content
    behind = match.string[match.end() : match.end() + 1]
    if content[0] in "\\^_<>=":
        return True
    if content[-1].isspace() or content[0].isspace() or match.string[: match.start()][-1:].isalnum():
        return bool(_LIKE_MATH.match(content)) and "\\" in content
    if _NUMBER.fullmatch(content) or content[0].isdigit():
        return not behind.isdigit() and (_NUMBER.fullmatch(content) or _LIKE_MATH.search(content)) is not None
    return _LIKE_MATH.fullmatch(content) is not None or re.search(r"[\\^_<>=~±≤≥]", content) is not None


def _inside(content: str, before: str = "") -> str:
    """Return a formula's content as LaTeX outside formulas, with the exponent of a number before it raised."""
    if "\\" in content:
        content = _NAME.sub(lambda match: "" if match[1] in _TRANSPARENT | _FONTS else match[0], content)
        content = _BEFORE_SPACE.sub(r"\1{} ", _DEGREE.sub("°", content))
        content = content.replace(r"\{", "{").replace(r"\}", "}")
    before = before if before.isdigit() else ""
    content = _EXPONENT.sub(lambda match: raised("".join(filter(None, match.groups()))), before + content)[
        len(before) :
    ]
    return _LOWERED.sub(lambda match: match[1] or match[2], _RAISED.sub("", content))


def _superscript(match: re.Match[str]) -> str:
    exponent = (match[1] if len(match[1]) < 2 else "−") + match[2]
    return raised(exponent) if match.string[: match.start()][-1:].isdigit() else exponent


def _greek(match: re.Match[str]) -> str:
    """Return the letters of a Greek font as Greek letters, unless they are commands or Greek letters already."""
    letters = match[match.lastindex or 1]
    return f"{{{letters}}}" if "\\" in letters else f"{{{letters.translate(_LGR)}}}"


def _held(text: str, commands: dict[str, str], unknown: set[str] | None) -> str:
    """Return a text with marks in place of unknown commands, which are collected, and without transparent ones."""
    pieces, begin = list[str](), 0
    for match in _NAME.finditer(text):
        name = match[1]
        if match.start() < begin or _is_known(name):
            continue
        pieces.append(text[begin : match.start()])
        begin = match.end()
        if name in _TRANSPARENT:
            pieces.append("" if text[begin : begin + 1] == "{" else " ")
            begin += text[begin : begin + 1].isspace()
            continue
        begin = _ARGUMENTS.match(text, begin).end()  # type: ignore[union-attr]
        if unknown is not None:
            unknown.add(f"\\{name}")
        pieces.append(f"\ue000{len(commands)}\ue001")
        commands[pieces[-1]] = text[match.start() : begin]
    return "".join((*pieces, text[begin:]))


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

    if name in _REFUSED or name in _TRANSPARENT:
        return False
    return name in _SYMBOLS or bool(getattr(get_default_latex_context_db().get_macro_spec(name), "macroname", ""))

"""Keep a spreadsheet program from computing texts as formulas, so that reading the table gives the texts again."""

from __future__ import annotations

import re

_FORMULA = r"""(?='*[\s"]*(?:[=@＝＠＋－]|[+-](?!\d++\.?+\d*+\s*+(?:;|$))))"""
"""The start of a cell that a spreadsheet would compute as a formula, unless it is a number. "-Omics" would be shown as
#NAME?, and a formula in a title could run commands. An apostrophe in front, as OWASP recommends, keeps the cell a text.
In locales with a decimal comma a semicolon separates cells, even inside a text; some programs also read full-width
signs as operators."""
_UNGUARDED = re.compile(rf"(^|;){_FORMULA}")
_GUARDED = re.compile(rf"(^|;)'{_FORMULA}")


def guarded(text: str) -> str:
    """Return a text with an apostrophe before everything that a spreadsheet would compute."""
    return _UNGUARDED.sub(r"\1'", text)


def without_guards(text: str) -> str:
    """Return the text that was guarded."""
    return _GUARDED.sub(r"\1", text) if "'" in text else text

"""Recognise placeholders that databases, R and pandas write for a missing title or abstract, and remarks in texts."""

from __future__ import annotations

import re
from functools import lru_cache

from mpir.core.text.legible import without_markup

MAX_PLACEHOLDER = 120
"""Maximum length of a placeholder in characters, with its brackets and tags."""
_TEXT = r"(?:abstract|summary|title|description|text|content|author|keyword)s?"
_AVAILABLE = r"(?:available|provided|given|found|supplied|specified|listed|present|prepared|entered|applicable)"
_OF = r"(?: (?:for|in|with|of|at|by|from) (?:this|the) \w+| here| yet| online)?"
_IS = r"(?: (?:is|was|are|were|has been|have been|currently))*"
_PLACEHOLDER = re.compile(
    "|".join(
        (
            "nan?|n a|null|none|nil|missing|unknown|unavailable|undefined|untitled|tba|tbd",
            rf"(?:sorry )?(?:there (?:is|was) |(?:this|the) \w+ (?:has|had) )?no {_TEXT}{_IS}(?: {_AVAILABLE})?{_OF}",
            rf"(?:an? |the )?{_TEXT}{_IS} not (?:been )?(?:yet )?{_AVAILABLE}{_OF}",
            rf"(?:data )?not (?:yet )?(?:available|provided|applicable|supplied|specified){_OF}",
            rf"(?:an? |the )?{_TEXT}{_IS} (?:unavailable|missing|pending|omitted|absent|none|null|n a|nan?){_OF}",
            rf"(?:without|missing|empty|has no) {_TEXT}",
            "(?:publisher )?(?:abstract|full text|summary) (?:is )?available (?:only )?(?:from|at|on|via|in) the "
            "(?:publisher|journal|author|print|original|full text)s?(?: version| article| web ?site| site| s site)?",
            "in process(?: citation)?|abstract truncated(?: at words)?|(?:abstract )?forthcoming",
            f"(?:an? )?{_TEXT} is not available for this content so a preview has been provided|not reported",
            "keine? (?:abstract|zusammenfassung|titel|angaben?)(?: (?:verfügbar|vorhanden))?",
            "(?:pas de résumé|résumé non)(?: disponible)?|(?:sin resumen|resumen no|no hay resumen)(?: disponible)?",
            "sem resumo(?: disponível)?|nessun abstract(?: disponibile)?|geen samenvatting(?: beschikbaar)?",
            "нет аннотации|аннотация отсутствует|[暂暫]?[无無]摘要|摘要[无無]|抄録なし|초록 없음",
        )
    )
)
_TRUNCATED = re.compile(
    r"[(\[]\s*abstract truncated(?: at \d{2,4} words| by [\w ]{1,30})?\.?\s*[)\]]\.?\s*", re.IGNORECASE
)
"""The commonest remark, in one of fifteen abstracts of the 1990s."""
_REMARK = re.compile(
    r"(?:\s*[(\[](?:APA )?PsycINFO Database Record[^\])]*(?:\(c\)[^\])]*)?[)\]]\.?"
    r"|\s*[(\[]?\b(?:abstract from (?:author|publisher)|(?:author|publisher)(?:'s)? abstract)(?:s|\(s\))?\b[)\]]?\.?"
    r"|(?<=[.!?)\]])\s*Copyright of [^\n]{1,200} is the property of [^\n]*"
    r"|\s*This article is protected by copyright\.(?: All rights reserved)?\.?"
    r"|(?<=[.!?)\]])\s*(?:All rights reserved|Published by [A-Z][^.]{2,60}(?:(?:Inc|Ltd|Co|B\.V|S\.A)\.?)?)\.?"
    r"|(?<=[.!?)\]])\s*(?:©|℗)[^.]{3,100}\.?"
    r"|(?<=[.!?)\]])\s*(?:S\. )?Karger AG, Basel\.?|(?<=[.!?)\]])\s*Georg Thieme Verlag KG,? [^.]{3,40}\.?)\s*$",
    re.IGNORECASE,
)
"""Remarks of databases and publishers at an abstract's end."""
_REMARKS_HAVE = ("abstract", "psycinfo", "copyright", "rights reserved", "published by", "karger", "thieme", "(c)")
"""Pieces of which every remark or notice in ASCII has one; several times faster to find than by a pattern."""
_SIGN = r"(?:(?:crown )?copyright\b\s*(?:©|\(c\))?|©|\(c\)|℗)"
_NOTICE = rf"{_SIGN}[\s:,]*(?:(?:the )?(?:author|editor|publisher)|(?:by )?(?:19|20)\d\d)"
_LAST_NOTICE = re.compile(rf"(?:^|(?<=[.!?)\]])\s*|(?<=\s)){_NOTICE}(?:[^.]|\.(?!\s*$)){{0,250}}\.?\s*$", re.IGNORECASE)
_FIRST_NOTICE = re.compile(
    rf"\W*{_NOTICE}(?:[^.]|\.(?-i:(?=[^\sA-Z]|[A-Z]\.))){{0,150}}\.(?:\s*all rights reserved\.)?"
    rf"(?:[^.]{{0,80}}\bpublished by [^.]{{2,80}}\.)?(?:\s+|$|(?-i:(?=[A-Z][a-z]+ )))",
    re.IGNORECASE,
)
_NEAR_END = 320
_REMARKS = 3
"""Maximum number of remarks at the end of an abstract."""
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[^\W_]+")


def says_nothing(text: str) -> bool:
    """Whether a text is blank, has no letter or digit, or states that there is no text, in any brackets or tags.

    Examples: NLM's "[Not Available]." and "[In Process Citation].", Scopus's "[No abstract available]", "No abstract is
    available for this article", R's "NA", pandas' "nan", "N/A", "None", "-" and "&nbsp;".
    """
    return text.isspace() if len(text) > MAX_PLACEHOLDER else _short_says_nothing(text)


@lru_cache(maxsize=2**12)  # journals, publication types and placeholders repeat
def _short_says_nothing(text: str) -> bool:
    if _DIGIT.search(text) and "&" not in text and "<" not in text:  # most ids and DOIs
        return False
    words = " ".join(_WORD.findall((without_markup(text) if "&" in text or "<" in text else text).lower()))
    return not words or _PLACEHOLDER.fullmatch(words) is not None


def without_remarks(text: str) -> str:
    """Return an abstract without "(ABSTRACT TRUNCATED AT 250 WORDS)" and copyright notices at its ends."""
    end = text[-_NEAR_END:]
    if _has_remark(end):
        text = _without_last_remarks(text, end.lower())
    begin = text[:1]
    if not begin.isalnum() or begin in "cC":  # of "copyright" and "crown"
        match = _FIRST_NOTICE.match(text)
        text = text[match.end() :] or text if match else text
    return text


def _without_last_remarks(text: str, end: str) -> str:
    has_notice = "©" in end or "copyright" in end or "(c)" in end
    for _ in range(_REMARKS):
        bracket = max(text.rfind("("), text.rfind("["), 0)
        match = _TRUNCATED.fullmatch(text, bracket) or _REMARK.search(text, max(0, len(text) - _NEAR_END))
        if not match:
            break
        text = text[: match.start()].rstrip()
        if not has_notice and not _has_remark(text[-_NEAR_END:]):
            break
    if has_notice and (match := _LAST_NOTICE.search(text, max(0, len(text) - _NEAR_END))):
        text = text[: match.start()].rstrip() or text
    return text


def _has_remark(end: str) -> bool:
    if not end.isascii() and ("©" in end or "℗" in end):
        return True
    end = end.lower()
    for piece in _REMARKS_HAVE:  # noqa: SIM110 - a generator would take twice as long
        if piece in end:
            return True
    return False

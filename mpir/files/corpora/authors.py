"""Split lists of authors into names, and write a name the same way whatever database it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import unescape

from mpir.files.corpora.list_cells import listed

_INITIALS = re.compile(r"(?:[^\W\d_]\.?[ -]?){1,4}")
_SUFFIX = r"(?:(?:Jr|Sr|jr|sr)\.?|II|III|IV|2nd|3rd|4th)"
_IS_SUFFIX = re.compile(_SUFFIX)
_IS_DEGREE = re.compile(r"(?:M\.?D|Ph\.?\s?D|M\.?Sc|M\.?P\.?H|R\.?N|MBBS|FRCP|DrPH|PharmD|DDS|DVM)\.?")
_NAME_AND_INITIALS = re.compile(rf"\S.* (?:[^\W\d_a-z]\.?-?){{1,4}}\.?(?: {_SUFFIX})?")
_INITIALS_AND_NAME = re.compile(r"(?:[^\W\d_a-z]\.[ -]?){1,4} ?\S.*")
_SEPARATORS = (re.compile("[;；]"), re.compile(r"[|、\n]"))
"""Separators of names, by preference."""
_AND = re.compile(r",?\s+(?:and|und|et|og|och|[yei])\s+|,?\s*&\s*", re.IGNORECASE)
_COMMA = re.compile(r"\s*[,，]\s*")
_OTHERS = re.compile(
    r"(?:^|[\s,;&]+)(?:and\s+)?[\[(]?(?:et\.?\s?al(?:ii|iae)?\b\.?|(?:and|&) (?:others|colleagues)|u\.\s?a\.|и др\.?"
    r"|y (?:cols?|otros)\b\.?|e cols?\b\.?)[\])]?\.?\s*$|[\s,，、]*(?:等|…|\.\.\.)\s*$|^(?:and )?others$",
    re.IGNORECASE,
)
"""What stands for authors who are not named."""
_LONGEST_END = 24
_HINT = re.compile(r"et\.?\s?al|others|colleagues|col[s.]?\b|otros|u\.\s?a\.|др|等|…|\.\.\.")
"""A piece of everything that stands for others, in lower case; several times faster to find."""
_WORD, _WORDS = r"[^][(),;&/\n ]++", r"[^][(),;&/\n]++"
_PLAIN = re.compile(rf"(?:(?:{_WORD},{_WORDS}|{_WORDS}(?:, ?{_WORD})?+)?(?:\n|\Z))*+")
"""Names, one a line, that are one person each and in their final form, as `_of_one` and `_plain` say in more time."""
_PERSONS_ID = re.compile(
    r"\s*[(\[]\s*(?:orcid\s*:?\s*)?(?:https?://(?:www\.)?orcid\.org/)?(?:\d{5,}|(?:\d{4}-){3}\d{3}[\dX]"
    r"|[A-Z]{1,3}-\d{4}-\d{4})\s*[)\]]|/[A-Z]{1,3}-\d{4}-\d{4}\b",
    re.IGNORECASE,
)
"""The number of a person at Scopus, ORCID or ResearcherID."""
_SUFFIX_LAST = re.compile(rf"([^,]+), ([^,]+), ({_SUFFIX})")
_SUFFIX_SECOND = re.compile(rf"([^,]+), ({_SUFFIX}), ([^,]+)")
_GROUP = re.compile(
    r"\b(?:group|committee|society|association|institut\w*|network|consorti\w*|collaborat\w*|investigators|organi[sz]ation"
    r"|ministry|department|universit\w*|cent(?:er|re)s?|council|federation|foundation|agency|team|trialists|college|academy"
    r"|board|office|commission|initiative|program(?:me)?|project|registry|force|panel|union|service|administration"
    r"|hospital|alliance|taskforce|writers|working|grupo|groupe|gruppe|sociedad|société|gesellschaft)\b",
    re.IGNORECASE,
)
"""Words in the names of groups, which have no separators inside."""
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af·]{2,8}")
"""Names in scripts without spaces."""
_FORMS = (_UNSPACED, _NAME_AND_INITIALS, _INITIALS_AND_NAME)
"""Forms in which a name has no comma."""


def split_authors(text: str) -> list[str]:
    """Split a list of authors in one text: "Doe, J.; Roe, R.", "Jane Doe and R. Roe", "Doe J, Roe R" and so on.

    A group's name stays whole: "Heart and Lung Study Group". "et al." is no author.
    """
    if (names := listed(text)) is not None:
        return names
    text = _without_others(_unescaped(text))
    separator = next((separator for separator in _SEPARATORS if separator.search(text)), None)
    return split_listed(map(str.strip, separator.split(text))) if separator else _by_conjunction(text)


def split_listed(names: Iterable[str]) -> list[str]:
    """Return the authors of a list, of which some programs write all in one: "Doe, J.; Roe, R.", "Doe J, Roe R"."""
    return [name for text in names for name in _of_one(text)]


def authors_of(authors: str | Sequence[str]) -> Sequence[str]:
    """Return the authors in a text or a list, each as `plain_author` writes them."""
    names = list(map(str.strip, authors.split(";"))) if isinstance(authors, str) else authors
    if names is authors or len(names) > 1:
        lines = "\n".join(names)  # one search for all takes less time
        if _PLAIN.fullmatch(lines) and not _may_name_others(lines):
            return names
    return list(map(plain_author, split_authors(authors) if isinstance(authors, str) else split_listed(authors)))


def plain_author(name: str) -> str:
    """Return a name without the person's numbers, in the form "Doe, Jane Jr"; "" for "et al."."""
    name = _without_others(_PERSONS_ID.sub("", name)).strip(" ,;&")
    if match := _SUFFIX_LAST.fullmatch(name):
        return f"{match[1]}, {match[2]} {match[3]}"
    if match := _SUFFIX_SECOND.fullmatch(name):
        return f"{match[1]}, {match[3]} {match[2]}"
    return name


def _of_one(text: str) -> list[str]:
    text = _unescaped(text) if "&" in text else text
    if ";" in text:
        return [name.strip() for name in text.split(";")]
    first, _, second = text.partition(",")
    if "," not in second and (" " not in first or " " not in second.strip()):  # one person
        return [text]
    persons = _AND.split(text)
    if len(persons) > 1 and all("," in person for person in persons):
        return [name for person in persons for name in _of_one(person)]
    pieces = _with_suffixes(_COMMA.split(text.strip(" ,")))
    return pieces if all(map(_NAME_AND_INITIALS.fullmatch, pieces)) else _in_pairs(pieces) or [text]


def _without_others(text: str) -> str:
    end = max(0, len(text) - _LONGEST_END)
    match = _OTHERS.search(text, end) if _may_name_others(text[end:]) else None
    return text[: match.start()] if match else text


def _may_name_others(text: str) -> bool:
    text = text.lower()
    if text.isascii() and not ("al" in text or "col" in text or "ot" in text or "u." in text or "..." in text):
        return False  # most texts, in a third of the time
    return _HINT.search(text) is not None


def _unescaped(text: str) -> str:
    return unescape(text) if "&" in text and ";" in text else text


def _by_conjunction(text: str) -> list[str]:
    """Split at "and" and "&" where persons stand on both sides, and at commas."""
    pieces = [piece for piece in _AND.split(text) if piece.strip(" ,")]
    if len(pieces) > 1 and not _are_persons(pieces):
        return [text.strip(" ,")]
    is_natural = len(pieces) > 1 and not any("," in piece for piece in pieces[1:])  # "Jane Doe, R. Roe and Mary Major"
    return [name for piece in pieces for name in _by_commas(piece.strip(" ,"), 2 if is_natural else 3)]


def _are_persons(pieces: Sequence[str]) -> bool:
    """Whether the pieces around "and" are names of their own, rather than pieces of a group's name."""
    if all("," in piece or _NAME_AND_INITIALS.fullmatch(piece) or _INITIALS_AND_NAME.match(piece) for piece in pieces):
        return True
    groups = [_GROUP.search(piece) is not None for piece in pieces]
    have_one_word = [len(piece.split()) == 1 for piece in pieces]
    return (all(have_one_word) or not any(have_one_word)) and (not groups[0] or all(groups))


def _by_commas(text: str, least: int) -> list[str]:
    """Split at commas; at least so many names in their natural order need no initials to be recognised."""
    pieces = _with_suffixes([piece for piece in _COMMA.split(text) if piece])
    if len(pieces) < 2 or any(all(map(form.fullmatch, pieces)) for form in _FORMS):
        return pieces
    if pairs := _in_pairs(pieces):
        return pairs
    has_words = [" " in piece for piece in pieces]
    if len(pieces) >= least and all(has_words):
        return pieces
    if len(pieces) > 2 and not has_words[0] and all(has_words[2:]):  # "Doe, Jane, Richard Roe, Mary Major"
        return [", ".join(pieces[:2]), *pieces[2:]]
    return _of_unclear_order(pieces, has_words)


def _of_unclear_order(pieces: list[str], has_words: Sequence[bool]) -> list[str]:
    if len(pieces) % 2 == 0 and len(pieces) > 2 and not any(has_words[::2]):  # "Doe, Jane, Roe, Richard"
        return _paired(pieces)
    return [", ".join(pieces)] if len(pieces) < 4 else pieces


def _in_pairs(pieces: Sequence[str]) -> list[str]:
    """Return the names in "Doe, J., Roe, R.", or an empty list for other pieces."""
    is_paired = len(pieces) > 2 and len(pieces) % 2 == 0
    return _paired(pieces) if is_paired and all(map(_are_initials, pieces[1::2])) else []


def _are_initials(piece: str) -> bool:
    words = piece.split()
    return _INITIALS.fullmatch(" ".join(words[:-1] if _IS_SUFFIX.fullmatch(words[-1]) else words)) is not None


def _paired(pieces: Sequence[str]) -> list[str]:
    return [", ".join(pieces[start : start + 2]) for start in range(0, len(pieces), 2)]


def _with_suffixes(pieces: Iterable[str]) -> list[str]:
    """Append "Jr." and "MD" to the name before them."""
    names = list[str]()
    for piece in pieces:
        if names and _IS_SUFFIX.fullmatch(piece):
            names[-1] += f" {piece}"
        elif names and _IS_DEGREE.fullmatch(piece):
            names[-1] += f", {piece}"
        else:
            names.append(piece)
    return names

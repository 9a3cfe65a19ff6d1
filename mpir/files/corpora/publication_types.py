"""NLM's publication types and their tree (https://www.nlm.nih.gov/mesh/pubtypes.html)."""

from __future__ import annotations

import re
from collections.abc import Iterable

_TREE = """
Address
Autobiography
Bibliography
Biography
Case Reports
Classical Article
Clinical Conference
Clinical Study
  Clinical Trial
    Adaptive Clinical Trial
    Clinical Trial, Phase I
    Clinical Trial, Phase II
    Clinical Trial, Phase III
    Clinical Trial, Phase IV
    Controlled Clinical Trial
      Randomized Controlled Trial
        Equivalence Trial
        Pragmatic Clinical Trial
  Clinical Trial, Veterinary
    Randomized Controlled Trial, Veterinary
  Observational Study
  Observational Study, Veterinary
Clinical Trial Protocol
Collected Work
Comment
Comparative Study
Congress
Consensus Development Conference
  Consensus Development Conference, NIH
Corrected and Republished Article
Dataset
Dictionary
Directory
Duplicate Publication
Editorial
Electronic Supplementary Materials
English Abstract
Evaluation Study
Expression of Concern
Festschrift
Government Publication
Guideline
  Practice Guideline
Historical Article
Interactive Tutorial
Interview
Introductory Journal Article
Journal Article
Lecture
Legal Case
Legislation
Letter
Meta-Analysis
  Network Meta-Analysis
Multicenter Study
News
Newspaper Article
Patient Education Handout
Periodical Index
Personal Narrative
Portrait
Preprint
Published Erratum
Research Support, American Recovery and Reinvestment Act
Research Support, N.I.H., Extramural
Research Support, N.I.H., Intramural
Research Support, Non-U.S. Gov't
Research Support, U.S. Gov't, Non-P.H.S.
Research Support, U.S. Gov't, P.H.S.
Retracted Publication
Retraction of Publication
Review
  Scoping Review
  Systematic Review
Scientific Integrity Review
Technical Report
Twin Study
Validation Study
Video-Audio Media
Webcast
"""
"""Narrower types are indented below the broader one."""
PUBLICATION_TYPES = tuple(line.strip() for line in _TREE.strip().splitlines())


_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|[\W_]+")
_SAME = {
    "researcharticle": "journalarticle",
    "article": "journalarticle",
    "reviewarticle": "review",
    "rct": "randomizedcontrolledtrial",
}
"""Other databases' names of NLM's types."""


def type_key(name: str) -> str:
    """Return a type as it is compared: "Meta-Analysis" equals "MetaAnalysis", and "case-report" "Case Reports"."""
    key = _WORDS.sub("", name).casefold().replace("randomised", "randomized").removesuffix("s")
    return _SAME.get(key, key)


def is_publication_type(name: str) -> bool:
    """Whether a heading is one of NLM's publication types, in any spelling ("Systematic Review", "Case report")."""
    return type_key(name) in _KEYS


def with_narrower(name: str) -> tuple[str, ...]:
    """A type, in NLM's spelling if it is NLM's, and all types below it: a randomised trial is a clinical trial."""
    lines = _TREE.strip().splitlines()
    number = next((number for number, line in enumerate(lines) if type_key(line) == type_key(name)), None)
    if number is None:
        return (name,)
    depth, types = _depth(lines[number]), [lines[number].strip()]
    for line in lines[number + 1 :]:
        if _depth(line) <= depth:
            break
        types.append(line.strip())
    return tuple(types)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


_NOTICES = {
    **dict.fromkeys(("publishederratum", "erratum", "correction", "corrigendum", "errata", "addendum"), "erratum"),
    **dict.fromkeys(("retractionofpublication", "retraction", "retractionnotice", "retractionnote"), "retraction"),
    **dict.fromkeys(("comment", "commentary", "reply", "authorreply", "articlecommentary"), "comment"),
    **dict.fromkeys(("meetingabstract", "conferenceabstract", "congressabstract", "abstract", "poster"), "congress"),
    **dict.fromkeys(("conferenceposter", "abstractofconference", "conferencemeetingabstract"), "congress"),
    "letter": "letter",
}
"""Kinds of texts that are not the paper itself, by `type_key`."""


def notices_of(types: Iterable[str]) -> frozenset[str]:
    """Return the kinds of notices among publication types: erratum, retraction, comment, congress, letter."""
    return frozenset(kind for name in types if (kind := _NOTICES.get(type_key(name))))


_KEYS = frozenset(map(type_key, PUBLICATION_TYPES))

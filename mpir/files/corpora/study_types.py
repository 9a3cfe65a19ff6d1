"""The type of study that a record reports: by NLM's publication types or, without a telling one, words of its title."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mpir.files.corpora.publication_types import type_key, with_narrower

_STUDIES = (
    ("guideline", ("Guideline", "Consensus Development Conference"), r"guidelines?|(consensus|position) statement"),
    (
        "study protocol",
        ("Clinical Trial Protocol",),
        r"(study|trial|review) protocol|protocol (for|of)|rationale and design",
    ),
    ("meta-analysis", ("Meta-Analysis",), r"meta-?analys[ei]s|meta-?analytic"),
    ("systematic review", ("Systematic Review",), r"systematic(ally)? (\w+ )?review(ed)?|umbrella review"),
    ("scoping review", ("Scoping Review",), r"scoping (review|study)"),
    (
        "randomized controlled trial",
        ("Randomized Controlled Trial", "Randomized Controlled Trial, Veterinary"),
        r"(?<!non-)(?<!non)(?<!non )(?<!not )randomi[sz]ed|double-blind(ed)?|placebo-controlled",
    ),
    (
        "clinical trial",
        ("Clinical Trial", "Clinical Trial, Veterinary"),
        r"(clinical|controlled|cross-?over|open-label|non-?randomi[sz]ed|phase [i1-4v/ab]+) (trial|study)",
    ),
    ("case-control study", (), r"case-control"),
    ("cohort study", (), r"cohorts?"),
    ("cross-sectional study", (), r"cross-sectional|survey"),
    ("diagnostic study", (), r"diagnostic (accuracy|performance|study|value)|sensitivity and specificity"),
    (
        "observational study",
        ("Observational Study", "Observational Study, Veterinary", "Twin Study"),
        r"observational|registry|retrospective|longitudinal study|prospective study|mendelian randomi[sz]ation",
    ),
    ("case report", ("Case Reports",), r"case (reports?|series)|(a|first|rare) case of|report of (a|\w+) cases?"),
    ("review", ("Review",), r"review|overview|state of the art"),
    ("animal study", (), r"(in|of) (mice|rats?|rabbits|dogs|pigs|zebrafish|monkeys)|(mouse|rat|murine|animal) models?"),
    ("laboratory study", (), r"in vitro|cell lines?|(cells|cultures) in culture"),
    ("editorial", ("Editorial",), r"editorial"),
    ("letter", ("Letter",), r"letter to the editor"),
    ("comment", ("Comment",), r"comment(ary)? on|author'?s? reply"),
    ("preprint", ("Preprint",), r"preprint"),
    ("erratum", ("Published Erratum",), r"(erratum|corrigendum|correction)( to)?:?"),
)
"""A type, NLM's types (narrower ones included) and a pattern of words; the first that fits counts."""
_BY_TYPE = tuple(
    (name, frozenset(type_key(narrower) for each in types for narrower in with_narrower(each)))
    for name, types, _ in _STUDIES
)
_BY_WORDS = tuple((name, re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)) for name, _, words in _STUDIES)


def study_type_of(types: Sequence[str], title: str) -> str:
    """Return the type of study, such as "randomized controlled trial"; "" where neither types nor title tell."""
    known = set(map(type_key, types))
    by_type = (name for name, names in _BY_TYPE if not names.isdisjoint(known))
    by_words = (name for name, words in _BY_WORDS if words.search(title))
    return next(by_type, "") or next(by_words, "")

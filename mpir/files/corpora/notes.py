"""Read a record's own ids in its notes, which also name other papers: comments, errata, sources, trials."""

from __future__ import annotations

import re

from mpir.files.corpora.identifiers import doi_of, registry_ids

_IN = r"(?:in|on|to|of|from|for|by|at|as|with)\b"
_PAPERS = r"(?:reports?|articles?|papers?|publications?|versions?|results?|stud(?:y|ies)|trials?|analys[ei]s)"
_ANOTHER_PAPER = re.compile(
    "|".join(
        (
            rf"\b(?:comment(?:s|ary|aries)?|summary for patients|discussion|follow[- ]?up|supplement) {_IN}",
            rf"\b(?:errat(?:um|a)|corrigend(?:um|a)|corrections?|addend(?:um|a)|retractions?|updates?|protocol)"
            rf"\s*(?:{_IN}|:|notice|published)",
            rf"\b(?:corrected|republished|retracted|updated|reprinted|reported|translat(?:ed|ion)|reviewed|described|based"
            rf"|adapted|derived|originally|superseded|replaced|preceded|followed|duplicated?|preprint|reply|response|answer"
            rf"|part)(?: and \w+)? (?:published )?{_IN}",
            r"\bcited (?:in|by)\b(?!\s*(?:\(since|:?\s*\d))|\bcit(?:es|ing)\b|\breferences?\s*:(?!\s*\d+\b)",
            r"\bsee\b|\bcf\b|\bcompare\b|\b(?:related|linked|companion|supersedes|replaces|appendix|sibling)\b",
            rf"\b(?:main|primary|parent|index|original|earlier|previous|prior|later|secondary|another) {_PAPERS}\b",
            r"\bsame (?:trial|study|cohort|data|patients|population|authors?)\b|\balso (?:published|reported|in|as)\b",
            r"\bexpression of concern\b|\bduplicate\b|\boriginal (?:report|article|paper) in\b",
            r"\bsiehe\b|\bvgl\b|\bkommentar zu\b|\bberichtigung\b|\bvoir\b|\bcommentaires? (?:sur|de|à)\b",
            r"\bv[ée]ase\b|\bver (?:también|também|tb)\b|\bcoment[áa]rios? (?:sobre|a|en|de|em)\b|\bfe de erratas\b",
            r"\brectificatif",
            r"\bvedi\b|\bcommento (?:a|su)\b|\bсм\.|\bкомментарий\b|参[见見照]|[評评][论論]|勘[误誤]|更正|コメント",
        )
    ),
    re.IGNORECASE,
)
"""Words behind which a note's ids are those of another paper."""
_NUMBER = r"(?:accession|record|unique|database)?\s*(?:id(?:entifier)?|n(?:umber|[or]\.?)|accession)\s*[:#]\s*"
"""What some programs write before a label: "Accession: PMID 8906788"."""
_BARE_LABEL = r"(?:(?:pubmed(?: central)?[ -]?)?pmc?id|pubmed(?:[ -]?id)?|medline|pmc|doi|digital object identifier)"
_ID = re.compile(
    rf"(?<![\w/-])(?:{_NUMBER})?(?P<label>{_BARE_LABEL}\s*[:#=]*\s*)?"
    r"(?P<id>(?:https?://(?:dx\.|www\.)?doi\.org/)?10\.\d{4,9}(?:\.\d+)*/[^\s\"“”]+|PMC\d{1,9}"
    r"|(?:NLM|MEDLINE|PubMed)?\d{1,9}(?![\w/-]|\.\d)"
    r"|(?:WOS|ISI):[A-Z0-9]{13,16}|2-s2\.0-\d{8,12}|CN-\d{6,9})",
    re.IGNORECASE,
)
_OF_TRIAL = re.compile(r"\bNCT\d{8}\b", re.IGNORECASE)
_HAS_ID = re.compile(r"10\.\d{4}|pmc?id|pmc\d|pubmed|medline|wos:|2-s2\.0|cn-\d|nct\d")
"""A piece of every id, in lower case."""
_BETWEEN = re.compile(r"[\s,;|/.&+)\]]*(?:\band\s+)?")
_ENDS = ("\n", ".", ";", "|")
"""Characters behind which a line or sentence begins."""
_LONGEST_PMID = 8
_OWN = "mpir:"
"""The beginning of the notes that mpir writes to its exports; they quote sentences."""


def ids_in_note(text: str) -> dict[str, str]:
    """Return the record's own ids in a note by registry: "PMID: 8906788 PMCID: PMC1", "Language: English. PMID: 7".

    An id counts at the beginning, directly behind one that counts, or with a bare label at the beginning of a line or
    sentence. Ids of another paper ("Comment on: … PMID: 7", "Erratum in … doi: …", "See also PMC1") do not.
    """
    if not _HAS_ID.search(text.lower()) or text.startswith(_OWN):
        return {}
    text, ids, end = _about_the_record(text), dict[str, str](), -1
    for match in _ID.finditer(text):
        before = text[: match.start()].rstrip(" \t([")
        begins = not before or before[-1] == "\n" or (bool(match["label"]) and before[-1] in _ENDS)
        follows = end >= 0 and _BETWEEN.fullmatch(text, end, match.start()) is not None
        if (begins or follows) and (named := _named(match["label"] or "", match["id"])):
            registry, value = named
            ids[registry] = value if ids.get(registry, value) == value else ""  # of two, neither is surely its own
            end = match.end()
    return {registry: value for registry, value in ids.items() if value}


def trials_in_note(text: str) -> list[str]:
    """Return the numbers of trials at ClinicalTrials.gov that a note names, except for those of another paper."""
    if "nct" not in text.lower() or text.startswith(_OWN):
        return []
    return [match[0].upper() for match in _OF_TRIAL.finditer(_about_the_record(text))]


def _about_the_record(text: str) -> str:
    match = _ANOTHER_PAPER.search(text)
    return text[: match.start()] if match else text


def _named(label: str, text: str) -> tuple[str, str] | None:
    """Return the registry and the value of an id with its label, or None for a number without a label."""
    if "10." in text and (doi := doi_of(text)):
        return "doi", doi
    if registries := registry_ids("", text):
        return next(iter(registries.items()))
    number = re.sub(r"\D", "", text).lstrip("0")
    if not number or not label or label[0] in "dD" or len(number) > _LONGEST_PMID:
        return None
    return ("pmcid", f"PMC{number}") if label[:3].lower() == "pmc" else ("pmid", number)

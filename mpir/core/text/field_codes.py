"""Field codes, limits and proximity operators of databases: a table of patterns and of what replaces them.

Replacements mark where a field begins or ends, so that `mpir.core.text.boolean_search` needs to know no database.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

FIELD, LIMIT, LIMIT_NEXT, BEGIN, LINE = "\ue000", "\ue001", "\ue002", "\ue003", "\ue007"
"""Marks: the term before has a field, or is a limit; the term after is a limit, or has a field; a number ends."""

_PUBMED = """tiab ti ab tw mh majr mesh mj sh ot nm rn ps pa si tt all title abstract title/abstract text+words?
all+fields mesh+terms mesh+major+topic mesh+subheading other+term substance+name supplementary+concept
pharmacological+action"""
_PUBMED_LIMITS = """la lang language dp pdat edat ed crdt mhda lr dcom 1?au fau auth author lastau auid ir cn ad
affiliation ta jt jid journal jour so sb subset filter filter:[a-z]+ text pmid uid doi aid lid is isbn ip vi pg pl pt
ptyp publication+type owner st cois gr ia pubn date+-+[a-z]{2,20} author+-+[a-z]+ first+author+name last+author+name
article+identifier"""
_OVID = "ti ab tw mp kw kf sh hw ot nm ps rs ux sy af fx fs rn tn dm mv id tc tm xm"
_OVID_LIMITS = "pt lg la au fa jn jw jx so yr dp dt ed is vo pg up ez da rd sb cp in pu lm"
_EMBASE = "ti ab kw de tt tn dn lnk"
_EMBASE_LIMITS = "la py au it jt dt dtype ad ca cy"
_WOS = "TS TI AB AK KP ALL"
_WOS_LIMITS = "PY LA DT AU SO WC SU OG CU CI AD FO GP DO IS DOP PMID"
_CALLS = (
    "TITLE-ABS-KEY-AUTH TITLE-ABS-KEY TITLE-ABS AUTHKEY INDEXTERMS noft ft tiab diskw mainsubject mjmesh mesh emb mjemb"
)
_SHORT_CALLS = "TITLE ABSTRACT ABS KEY ALL CHEMNAME TI AB SU IF SUBJECT"
_LONG_CALL_LIMITS = """LIMIT-TO EXCLUDE LANGUAGE DOCTYPE SUBJAREA SUBJTERMS (?:EXACT)?SRCTITLE SRCTYPE AUTHOR-NAME
AUTH(?:LAST|FIRST) FIRSTAUTH AFFIL[A-Z]* AU-ID AF-ID ORCID SOURCE-ID CONF[A-Z]{3,} PUBSTAGE ACCESSTYPE OPENACCESS
FUND-[A-Z]+ REF(?:AUTH|TITLE|SRCTITLE|PUBYEAR)[A-Z]* EXACTKEYWORD PUBDATETXT"""
_CALL_LIMITS = f"{_LONG_CALL_LIMITS} AUTH REF EDITOR ISSN DOI EID PMID LA YR PD PUB AU [DRS]TYPE AT PEER"
_COLONS = "TITLE_ABS TITLE ABSTRACT KW KEYWORD MESH METHODS RESULTS DISEASE GENE_PROTEIN CHEM ORGANISM"
_SMALL_COLONS = "title abstract keyword ti abs? tw mh mj all field_of_study full_text mesh_term[a-z_.]* (?:all)?intitle"
_COLON_LIMITS = """AUTH AUTHOR PUB_YEAR FIRST_PDATE [PE]_PDATE_D SRC PUB_TYPE OPEN_ACCESS HAS_[A-Z_]+ IN_EPMC IN_PMC
LANG JOURNAL EXT_ID GRANT_AGENCY LICENSE"""
_OTHER_COLON_LIMITS = """PMCID ISSN DOI AFF sort_date year_published date_published publication_type (?:has|is)_[a-z_]+
source[a-z_.]* author[a-z_.]* la languages? db year_cluster type_of_study collection au ta year instance fulltext limit
type clinical_aspect cp country pais_[a-z_]+ services_platform network cat jr co rn id submittedDate lastUpdatedDate"""
_IEEE = "Document+Title Abstract All+Metadata Index+Terms Author+Keywords Mesh_Terms IEEE+Terms Full+Text+[&A-Za-z+]+"
_IEEE_LIMITS = "Publication+Year Publication+Title Authors Author+Affiliations? Publisher ISSN DOI"
_EBSCO = "TI AB MH MM MJ SU DE TX KW XB MW"
_EBSCO_LIMITS = "PT LA DT PY JN SO AU EM ZT ZY ZU ZC RV AF FT"
_OVID_FILES = (
    r"(?:p[mpr]\w?ez\w*|prmz\w*|medall|medline|mes[xz]\w*|em[ce]\w{1,3}|oemez\w*|cctr\w*|coch|cl\w{3,4}"
    r"|psy\w{1,2}|cagh|amed)"
)


def codes(*names: str) -> str:
    """Return a pattern of any of these names, the longest first; "+" is a space."""
    longest_first = sorted(" ".join(names).split(), key=len, reverse=True)
    return "(?:" + "|".join(re.sub(r"(?<![\])*])\+|(?<=[a-z])\+(?=\[)", " ", name) for name in longest_first) + ")"


class Row(NamedTuple):
    """A pattern and its replacement."""

    pattern: re.Pattern[str]
    replacement: str | Callable[[re.Match[str]], str]


def _row(pattern: str, replacement: str | Callable[[re.Match[str]], str] = " ", *, any_case: bool = True) -> Row:
    return Row(re.compile(pattern, re.IGNORECASE if any_case else 0), replacement)


def _exact(pattern: str, replacement: str | Callable[[re.Match[str]], str] = " ") -> Row:
    return _row(pattern, replacement, any_case=False)


_EDGE = r"(?:(?:^|(?<=[(\n\ue007])|(?<=\bAND )|(?<=\bOR )|(?<=\bNOT ))[^\S\n]*+)"
_GROUP = r"(?:\.(?:EXACT|EXPLODE|X))*+(?=\((?!(?:[IVX]{1,4}|[\d, -]{1,20})\)))"  # not "Ti(IV)", "Ab(1-42)"
_PUBMED_END = r"(?::(?:noexp|~\d{1,3}))?\]"
_LIMIT_GROUP = r"(?=\((?![IVX]{1,4}\)))"
_CODE_LIST = r"{0}(?:,{0}){{0,20}}+"
_OVID_END = r"\.(?!\w)(?! (?!(?:and|or|not|use|near|adj\d*)\b)[a-z])"
_OVID_FIELDS = rf"(?<=[\w)*$\"?])\.{_CODE_LIST.format(codes(_OVID, _OVID_LIMITS))}{_OVID_END}"
_OVID_LIMIT = rf"(?<=[\w)*$\"?])\.(?:{_CODE_LIST.format(codes(_OVID_LIMITS))}|\(sa_year\)){_OVID_END}"
_EMBASE_FIELDS = (
    rf"(?<=[\"'*)]):{_CODE_LIST.format(codes(_EMBASE))}(?!\w)|(?<=\w):{codes(_EMBASE)}(?:,{codes(_EMBASE)})++(?!\w)"
)
_EMBASE_TREE = r"(?<=[\"'\w*])(?:/(?:exp|de|mj|syn|br|d[dmvt]_[a-z]{2}(?:, ?d[dmvt]_[a-z]{2}){0,20}+))++(?!\w)"
_HEADING = r"(?<!\w)exp [\w\", -]{1,100}+/(?=[\s)]|$)"
_LIMITED = r"(?<!\w)limit #?(\d{1,3}) to [^\n]*|(?<!\w)remove duplicates from #?(\d{1,3})[^\n]*"
_MESH_LINE = (
    r"MeSH descriptor:? ?\[([^\[\]\n]{1,200})\]|\[mh \^*+\"?([^\"\[\]\n/^]{1,200}+)\"?(?:/[A-Z, ]{2,40})?(?:\[mj\])?\]"
)
_PLAIN_LIMIT = r"\[[^\[\]\n]{1,80}\]/(?:lim|py|sd)(?!\w)"
_SCOPUS_YEAR = r"(?<!\w)(?:PUBYEAR|(?:ORIG-)?LOAD-DATE) ?(?:[<>=]{1,2}|AFT|BEF|IS) ?\d{4,8}"
_NEAR = r"(?<!\w)(?:adj\d{1,3}|(?:O?NEAR|NEXT|PRE|[WNP])/\d{1,3})(?!\w)"
_WOS_TOPIC = r"(?<!\w)(?:TOPIC|TITLE|Topic|Title|ALL FIELDS): ?(?=\()"
_WOS_REFINED = r"(?<!\w)(?:LANGUAGES?|DOCUMENT TYPES?|AUTHORS?|PUBLICATION NAME|YEAR PUBLISHED): ?(?=\()"
_EBSCO_LINE = r"(?:Limiters|Expanders|Search modes|Narrow by \w+) ?[-–:] [^\n]*"
_SHOWN_LIMITS = (
    r"(?<=[\w)\]\"*] )(?:Filters(?: applied| activated)?|Limits(?: Activated)?|Sort by): "
    r"(?=[A-Z\d]|in the|from \d)[^\n]*"
)
_SCOPUS_PHRASE = r"\{[^{}\n]{2,200}+\}"
_EXPLANATION = r"\[[a-z]{2}=[^\[\]\n]*\]"
_DIMENSIONS = r"search publications(?: in \w+)? for \"((?:[^\"\\]|\\.){1,4000}+)\""

TAG = re.compile(rf"\[{codes(_PUBMED, _PUBMED_LIMITS)}{_PUBMED_END}", re.IGNORECASE)
"""PubMed's tags (https://pubmed.ncbi.nlm.nih.gov/help/#search-tags), so that "[Ca2+]" is not taken for one."""
EUROPE_PMC = re.compile(rf"(?<![\w.]){codes(_COLONS, _COLON_LIMITS)}:(?=[\"(\[\w])")
"""Europe PMC's fields (https://europepmc.org/searchsyntax), so that "TG:HDL" is none."""
SHOWN_LIMITS = re.compile(_SHOWN_LIMITS)
"""Filters behind a search, as PubMed shows them in its history."""
STRONG_MARKS = (
    *map(re.compile, (_OVID_FIELDS, _OVID_LIMIT, _EMBASE_FIELDS, _EMBASE_TREE, _NEAR, _HEADING, _LIMITED)),
    *map(re.compile, (_WOS_TOPIC, _PLAIN_LIMIT, _EXPLANATION, _MESH_LINE, _SCOPUS_YEAR, _EBSCO_LINE, _DIMENSIONS)),
    re.compile(rf"(?<![\w\"]){codes(_WOS)} ?= ?(?=[(\"A-Za-z*])"),
    re.compile(
        rf"(?<![\w.])(?:{codes(_CALLS, _LONG_CALL_LIMITS)}|(?i:{codes(_CALLS)}(?:\.(?:EXACT|EXPLODE|X))+)) ?(?=\()"
    ),
    re.compile(rf"(?<![\w.])(?:{codes(_SMALL_COLONS)}:(?=[(\"])|(?i:{codes('ti ab su')}\.EXACT)\()"),
    re.compile(rf"\"{codes(_IEEE, _IEEE_LIMITS)}\":"),
    re.compile(rf"(?<!\w)(?:(?:MH|MM|MJ|DE|SU) \"[^\"\n]{{1,100}}+\"|use {_OVID_FILES}(?!\w))"),
)
"""Marks that no question has, of services that also accept operators in lower case."""
WEAK_MARKS = (
    re.compile(_SCOPUS_PHRASE),
    re.compile(r"(?<![\w.])cat:(?=[a-z]{2,8}(?:-[a-z]{2,4})?(?:\.[A-Za-z-]{2,5})?(?!\w))"),
    re.compile(rf"(?<![\w.])(?:{codes(_SHORT_CALLS)}|{codes(_SHORT_CALLS.lower())}) ?(?=\()"),
    re.compile(rf"{_EDGE}{codes(_EBSCO)} ++(?=[\"(])|{_EDGE}(?:TI|AB) ++(?=[\w])(?!(?:AND|OR|NOT)\b)"),
    re.compile(rf"(?<=\w):{codes(_EMBASE)}(?!\w)|(?<![\w.]){codes(_SMALL_COLONS)}:(?=\w)"),
)
"""Marks that a question may have once, so that an operator or a second mark must confirm them."""

ROWS = (
    _exact(r"(?<!\w)Search: |" + _SHOWN_LIMITS),
    _row(r"(?m:^)([^\S\n]*+[#S]?\d{1,3}[.)]?)[^\S\n]++(?=\D|\d{1,3} ++(?:and|or|not) )", rf"\1{LINE}"),
    _row(rf"({LINE}[^\n]*?)(?:\s*\([\d,]{{1,12}}\)|\t+[\d,]{{1,12}})[^\S\n]*+(?=\n|$)", r"\1"),  # numbers of hits
    _row(r"(?<![\w'])'([^'\n\"]{2,200}+)'(?!\w)", r'"\1"'),
    _row(_DIMENSIONS, lambda match: match[1].replace('\\"', '"')),
    _exact(r"(?<!\w)where (?:year|type|category)[^\n]*|(?<!\w)return (?:publications|\w+\[)[^\n]*"),
    _row(r"\[mp=[^\[\]\n]*\]|" + _EXPLANATION),
    _row(_PLAIN_LIMIT),
    _row(_MESH_LINE, lambda match: f' "{match[1] or match[2]}"{FIELD}'),
    _row(r"explode all trees|this term only|\(word variations have been searched\)|with qualifiers?[^\n]*"),
    _row(r"(?:with|in) (?:Publication Year|Cochrane Library publication date|Trials\b|Cochrane Reviews\b)[^\n]*"),
    _row(rf"\[{codes(_PUBMED_LIMITS)}\]", LIMIT),
    _row(rf"\[{codes(_PUBMED)}{_PUBMED_END}", FIELD),
    _row(r"(?<!\w)(?:hasabstract|hasstructuredabstract|(?:loattr)?(?:free )?full text(?=\ue001))(?!\w)"),
    _row(r"(?<=[\"\w])/it(?!\w)", LIMIT),
    _row(_EMBASE_TREE, FIELD),
    _row(rf"(?<=[\"*)\w]):{_CODE_LIST.format(codes(_EMBASE))}(?!\w)", FIELD),
    _row(rf"(?<=[\"*)\w]):{codes(_EMBASE_LIMITS)}(?!\w)", LIMIT),
    _exact(r"(?<=/)((?:[a-z]{2}, ?){0,20}[a-z]{2}) \[[A-Z][^\[\]\n]*\]", r"\1"),
    _row(_OVID_LIMIT, LIMIT),
    _row(_OVID_FIELDS + r"(?: ?/freq=\d+)?", FIELD),
    _exact(r"(?<!\w)(?:exp|\*)\s*+(?=\"?[A-Z][^\n/()]{1,100}+/(?!\w{3}))|(?<!\w)exp\s++(?=\*?[\w\"])", BEGIN),
    _row(_LIMITED, lambda match: f" #{match[1] or match[2]} "),
    _exact(rf"(?<!\w)use {_OVID_FILES}(?!\w)"),
    _exact(r"(?<=[\w\"])/(?!or(?!\w))(?:[a-z]{2}(?:, ?[a-z]{2}){0,20}+)?(?=[\s)]|$)", FIELD),
    _row(_SCOPUS_YEAR),
    _row(rf"(?<![\w.]){codes(_CALL_LIMITS)}{_LIMIT_GROUP}", LIMIT_NEXT),
    _exact(rf"(?<![\w.]){codes(_CALL_LIMITS)} (?=\()", LIMIT_NEXT),
    _row(rf"(?<![\w.]){_CODE_LIST.format(codes(_CALLS, _SHORT_CALLS))}{_GROUP}", BEGIN),
    _exact(rf"(?<![\w.]){codes(_CALLS, _SHORT_CALLS)} (?=\()", BEGIN),
    _exact(r"\bAND ?NOT\b", "NOT"),
    _exact(rf"(?<![\w\"]){codes(_WOS)} ?= ?(?=[(\"\w*])", BEGIN),
    _exact(rf"(?<![\w\"]){codes(_WOS_LIMITS)} ?= ?(?=[(\"\w*])", LIMIT_NEXT),
    _exact(_WOS_TOPIC, BEGIN),
    _exact(_WOS_REFINED, LIMIT_NEXT),
    _row(r"(?:Indexes|Timespan|Databases?) ?[=:] ?[^\n]*|Refined by:[^\n]*|" + _EBSCO_LINE),
    _exact(rf"{_EDGE}{codes(_EBSCO_LIMITS)} ++(?=[\"(\w])(?!(?:AND|OR|NOT)\b)", LIMIT_NEXT),
    _exact(rf"{_EDGE}{codes(_EBSCO)} ++(?=[\"(\w*])(?!(?:AND|OR|NOT)\b)", BEGIN),
    _exact(r"(?<=\w)\+(?=\")"),
    _row(rf"\"{codes(_IEEE_LIMITS)}\":", LIMIT_NEXT),
    _row(rf"\"{codes(_IEEE)}\":", BEGIN),
    _exact(rf"(?<![\w.]){codes(_COLON_LIMITS, _OTHER_COLON_LIMITS)}:(?=[\"(\[\w])(?:\[[^\[\]\n]*\])?", LIMIT_NEXT),
    _exact(rf"(?<![\w.]){codes(_COLONS, _SMALL_COLONS)}:(?=[\"(\w*])", BEGIN),
    _row(rf"(?<={FIELD}) \[[^\[\]\n]*\]"),
    _row(_NEAR, " AND "),
    _exact(r"(?<=[\w)*\"$] )(?<!AND )(?<!OR )(?<!NOT )[NW]\d{1,2}(?= (?!AND |OR |NOT )[\w(\"])", "AND"),
    _exact(r"(?<!\w)(?:adj|ADJ|NEXT|NEAR|SAME)(?!\w)|(?<=\")~\d{1,3}"),
)
"""Replacements, in this order."""

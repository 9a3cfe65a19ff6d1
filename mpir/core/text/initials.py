"""Tell initials of names, whose full stop ends no sentence, from letters that name a thing: "J. Doe", "vitamin D."."""

from __future__ import annotations

import re

_LETTERED = """
allele appendix arm base category class cluster cohort complex compound cyclin cytochrome factor fig figure grade group
haemophilia haplogroup hemophilia hepatitis immunoglobulin influenza kinase lamin level luminal model panel part patient
phase phenotype prostaglandin protein regimen section serogroup serotype site stage strain subgroup substance subtype
subunit table topoisomerase troponin type vit vitamin
"""
LETTERED = frozenset(_LETTERED.split())
"""Nouns that a letter may follow as a name, in the singular: "vitamin D", "group B"."""
_BEFORE_NAMES = """
after against and author authors by called colleague colleagues doctor editor for former from investigator investigators
like of per professor reviewer reviewers thank thanks that while with &
"""
_CALLING = frozenset(_BEFORE_NAMES.split())
_LETTER = "[A-ZÀ-ÖØ-Þ]"
INITIALS = re.compile(rf"(?:{_LETTER}\.-?)*+{_LETTER}")
_NO_NAME = frozenset({"A.M", "P.M", "A.D", "B.C", "D.C", "N.S", "I.Q", "U.S.A", "U.S", "U.K", "M.D", "N.Y"})
_SURNAME = re.compile(r"(?:Mac|Mc|[A-Z]['’]|De|Di|La|Le)?[^\W\d_][^\W\d_A-Z][\w'’-]*+")
_MORE_INITIALS = re.compile(rf"{_LETTER}\.(?:[ -]?{_LETTER}\.)*+\s++{_LETTER}")
_AMONG_OTHERS = re.compile(rf"[\w'’-]++(?:['’]s\b|,? et al\b|(?:,|,? and|,? &) {_LETTER}\. ?{_LETTER})")
_JOURNAL = re.compile(r"[A-Z][a-z]{1,12}\.? ")
_SEROVARS = """
Abortus\\w* Agona Anatum Bareilly Braenderup Bovismorbificans Cholera\\w+ Derby Dublin Enteritidis Gallinarum Hadar
Heidelberg Indiana Infantis Javiana Kentucky London Mbandaka Minnesota Montevideo Muenchen Newport Oranienburg Panama
Paratyphi Pullorum Saintpaul Schwarzengrund Senftenberg Stanley Tennessee Thompson Typhi(?:murium)? Virchow Weltevreden
"""
_SEROVAR = re.compile(rf"(?:{'|'.join(_SEROVARS.split())})\b")
"""Serovars of Salmonella, which are written like surnames: "S. Typhimurium"."""
_WORD_BEFORE = re.compile(r"(\S*+)(\s*+[(\[]?)\Z")
_BEHIND_LETTERS = re.compile(r"(?:\b[A-Z]|\d|\b[IVX]+),? (?:and|or|to|&) \Z")
_BEHIND_NAMES = re.compile(rf"{_LETTER}\.[ -]?{_LETTER}[\w'’-]++, (?:and |& )?\Z")
_STANDING = re.compile(r"([^\W\d_]*+),? ([A-Z])(?![\w.'’-])")
_NEAR = 30
_WORDS = """
The This These Those There Therefore They Thus He She It We His Her Our Both All One Two Three In At After Before During
Between Among However Although Moreover Furthermore When While Because Since No Each Most Many Some Several Such Other
Here Taken Then If As For From With To On Upon Using By Also Only Patients Subjects Results? Methods? Conclusions?
Background Similar Compared Overall Additional Further Treatment [A-Z][a-z]{2,}ly RESULTS METHODS CONCLUSIONS?
"""
BEGINNING = re.compile(rf"(?:{'|'.join(_WORDS.split())})\b[^.]|An? |[A-Z][A-Z/&, -]{{3,40}}+:")
"""Words that begin many sentences and are hardly names, and headings in capitals."""


def is_initial(text: str, begin: int, end: int, after: int, standing: frozenset[str]) -> bool:
    """Whether ``text[begin:end]``, which matches INITIALS, belongs to the capitalised word at `after`.

    `standing` is `standing_letters` of the text, which name groups or things rather than persons.
    """
    token, before = text[begin:end], text[max(0, begin - _NEAR) : begin]
    match = _WORD_BEFORE.search(before)
    word, bracket = (match[1], match[2].strip()) if match else ("", "")
    if token in _NO_NAME or is_lettered(word):
        return False
    if _MORE_INITIALS.match(text, after) or (token == "S" and _SEROVAR.match(text, after)):
        return True
    if not _SURNAME.match(text, after) or BEGINNING.match(text, after):
        return False
    if _AMONG_OTHERS.match(text, after) or (token == "J" and _JOURNAL.match(text, after)):
        return True
    return bool(bracket) or _introduces(word, before, token, standing)


def _introduces(word: str, before: str, token: str, standing: frozenset[str]) -> bool:
    """Whether the word, or nothing, before an initial is followed by a name rather than by the name of a thing."""
    if not word or word[-1] in ".?!:;":
        return True
    if word.endswith(","):
        return _BEHIND_NAMES.search(before) is not None
    if token in standing or _BEHIND_LETTERS.search(before):
        return False
    if word.lower() in _CALLING:
        return True
    return word[0].isupper() and word not in standing and _SURNAME.fullmatch(word) is not None


def is_lettered(word: str) -> bool:
    """Whether a letter may follow a word as the name of a thing: "vitamin", "groups", "deg."."""
    noun = word.lower().strip("()[].,")
    return noun in LETTERED or noun.removesuffix("s") in LETTERED or word.lower() in ("deg.", "degrees", "degree")


def standing_letters(text: str) -> frozenset[str]:
    """Return the capitals that stand alone within sentences, and the words before them: "in Dukes B"."""
    return frozenset(item for pair in _STANDING.findall(text) for item in pair if item)

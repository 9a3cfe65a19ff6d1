"""Decide whether a full stop belongs to an abbreviation, an initial or a number, and so ends no sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property

from mpir.core.text.initials import BEGINNING, INITIALS, is_initial, standing_letters

_ALWAYS = """
e.g i.e vs eg ie c.f a.k.a w.r.t n.b approx viz fig figs ref refs eq eqs prof mrs drs suppl natl sect serovar biovar
pathovar incl excl cf nos dr st ed eds vit deg et ssp subsp var str cv pv ph ser FIG FIGS ca Mr Ms Mt Gen Capt Lt Sgt Ft
"""
"""No sentence ends behind these. Forms in lower case may begin with a capital; in capitals they are names (CF, EDS)."""
_NAMES = """
u.s u.k m.d ph.d n.y Acad Agric Am Ann Annu Antimicrob Appl Arch Assoc Bacteriol Biochem Biol Biophys Biotechnol Br
Bull Cardiol Chem Chemother Chim Circ Clin Comp Curr Dept Dermatol Dev Diabet Dis Endocrinol Engl Environ Epidemiol Eur
Exp Gastroenterol Genet Geol Gynecol Hematol Hosp Hum Hyg Immunol Infect Inst Int Intern Invest Lett Med Microbiol Mol
Nat Neurol Neurosci Nutr Obstet Oncol Ophthalmol Opin Pathol Pediatr Pharm Pharmacol Phys Physiol Proc Psychiatr
Psychol Radiol Res Rev Rheum Scand Sci Soc Struct Surg Symp Ther Toxicol Trans Trop Univ Vet Virol Zool
"""
"""Behind these a sentence ends only before a word that begins many: "approved in the U.S. The drug"."""
_CODES = "i.v i.m i.p i.n i.g i.t i.d i.c s.c p.o b.w i.c.v i.pl resp sp spp no VS"
"""Behind these a sentence ends before any capitalised word, but not before "PCA" or "PCC 7601"."""
_BRACKETS = "Inc Ltd Corp Co nov"
"""Behind these, and others with full stops inside, none ends before a bracket or number: "20 mg b.d. (n = 90)"."""
_NUMBERS = """
p pp vol vols tab tabs max min avg exp expt expts sec secs chap eqn eqns art para v ver vers conc temp equiv nr
jan feb mar apr jun jul aug sep sept oct nov dec J
"""
_GROUPS = {"numbers": _NUMBERS, "brackets": _BRACKETS, "codes": _CODES, "names": _NAMES, "always": _ALWAYS}
_GROUP_OF = {form: name for name, forms in _GROUPS.items() for form in forms.split()}
_NO_ABBREVIATION = {"Ca", "Ser"}
_BRACKET = re.compile(r"[\[\d+)]|\((?!\d{1,2}\)\s)")
_CAPITALISED = re.compile(r"[A-Z][a-z]++(?![\w.])")
_CONTINUES: Mapping[str, Callable[[str, int], bool]] = {
    "always": lambda text, after: True,
    "names": lambda text, after: not BEGINNING.match(text, after),
    "codes": lambda text, after: not (_CAPITALISED.match(text, after) or BEGINNING.match(text, after)),
    "brackets": lambda text, after: _BRACKET.match(text, after) is not None,
    "numbers": lambda text, after: text[after].isdigit(),
}
"""Whether the sentence goes on behind an abbreviation of each group."""
_LONGEST = 14
_TOKEN = re.compile(r"[^\s(\[,;/%]*+\Z")
_DOTTED = re.compile(r"(?:[A-Za-z]{1,2}\.)+[A-Za-z]{1,3}")
_ET_AL = re.compile(r"(?i:\bet\.? (?:al|coll))\Z")
_COMPANY_FORM, _COMPANY = re.compile(r"(?:Ltd|Inc|KG|LLC|[Nn]o\.)"), {"Co", "Cat", "cat", "Lot", "lot"}
_YEAR = re.compile(r"\((?:19|20)\d\d")
_SPACED = re.compile(r"(?:[=<>≤≥±]|\+/-) ?\d{1,3}\. \d")
_COMPARED = re.compile(r"(?:[=<>≤≥±]|\+/-) ?\d{1,3}\Z")
_WHOLE, _FRACTION = re.compile(r"(?<![\d.,])\d{1,3}\Z"), re.compile(r"\d++(?![^\W\d_])")


class FullStops:
    """The full stops of a text, some of which end no sentence, judged by the words around them and elsewhere in it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def is_inside(self, end: int, after: int) -> bool:
        """Whether the full stop before the offset `end` ends no sentence, where the text goes on at `after`."""
        match = _TOKEN.search(self._text, max(0, end - _LONGEST), end - 1)
        token = match[0] if match else ""
        if token[-1:].isdigit():
            return self._text[after].isdigit() and self._is_decimal(end - 1, after)
        if INITIALS.fullmatch(token) and self._is_initial(end - 1 - len(token), end - 1, after):
            return True
        return self._is_abbreviation(token, end, after)

    def _is_initial(self, begin: int, end: int, after: int) -> bool:
        if not self._text[after].isupper():
            return _YEAR.match(self._text, after) is not None and self._text[begin - 2 : begin] == ", "
        return is_initial(self._text, begin, end, after, self._standing)

    def _is_abbreviation(self, token: str, end: int, after: int) -> bool:
        folded = token.lower() if token[1:].islower() or "." in token else token
        if token in _NO_ABBREVIATION:
            return False
        group = _GROUP_OF.get(token) or _GROUP_OF.get(folded) or ("brackets" if _DOTTED.fullmatch(token) else "")
        if token in ("al", "coll") and _ET_AL.search(self._text, max(0, end - _LONGEST), end - 1):
            group = "names"
        if token in _COMPANY and _COMPANY_FORM.match(self._text, after):
            return True
        return bool(group) and _CONTINUES[group](self._text, after)

    def _is_decimal(self, end: int, after: int) -> bool:
        """Whether digits on both sides of a full stop and a space are one number: "P < 0. 05"."""
        before = self._text[max(0, end - 8) : end]
        if not _FRACTION.match(self._text, after):
            return False
        return bool(_COMPARED.search(before) or (_WHOLE.search(before) and self._has_spaced_decimals))

    @cached_property
    def _standing(self) -> frozenset[str]:
        return standing_letters(self._text)

    @cached_property
    def _has_spaced_decimals(self) -> bool:
        return _SPACED.search(self._text) is not None

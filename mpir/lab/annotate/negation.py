"""NegEx: does a sentence affirm a mention, negate it, call it possible, or report it as history?

After Chapman et al., "A Simple Algorithm for Identifying Negated Findings and Diseases in Discharge Summaries" (2001)
and its later form with many triggers. The nearest trigger before and the nearest after a mention decide. A trigger
that overlaps the mention or lies in an address does not count, and one that a hyphen joins to a word ("HIV-negative")
applies to that word only. A semicolon ends a scope; an answer ("fever: none") and a sign ("fever (-)") negate what
stands before them. A file of triggers has the format of NegEx's published lists, one ``phrase<TAB>[KIND]`` per line.
The shipped lists are mpir's own: negation.txt, hedges.txt ("possible", "history of") and, for chest X-rays,
radiology.txt.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from mpir.core.checksum import fingerprint
from mpir.core.text.claims import NEGATION
from mpir.core.text.phrases import ANY_ENDING, GAP, Span, canonical, compiled, fold, occurrences
from mpir.errors import InputError, format_value
from mpir.files.read import place_of, read_lines
from mpir.lab.annotate.note_marks import clause_ends, is_answer, signs

Status = Literal["affirmed", "negated", "possible", "historical"]
TriggerType = Literal["PREN", "POST", "PREP", "POSP", "PREH", "POSH", "PSEU", "CONJ"]
AFFIRMED: Status = "affirmed"
SHIPPED = {"negation": NEGATION} | {name: Path(__file__).with_name(f"{name}.txt") for name in ("hedges", "radiology")}
DEFAULT = ("negation", "hedges")
BEFORE: Mapping[str, Status] = {"PREN": "negated", "PREP": "possible", "PREH": "historical"}
AFTER: Mapping[str, Status] = {"POST": "negated", "POSP": "possible", "POSH": "historical"}
PAST: Set[TriggerType] = {"PREH", "POSH"}
NEGATING: Set[TriggerType] = {"PREN", "POST"}
ANSWER: Set[TriggerType] = {"POST"}
CLAUSE_END: Set[TriggerType] = {"CONJ"}
STRENGTH: Sequence[Status] = ("negated", "possible", "historical", AFFIRMED)
ADJACENT_ONLY = {"free", "non"}
"""Triggers that apply only to the adjacent word: "pain free", but not "pain, free T4"."""
_JOINED = re.compile(r"(?<=\w-)\w+|\w+(?=-\w)")
_TYPE = re.compile(r"\s*+\[?+(\w++)\]?+\s*+")


class Verdict(NamedTuple):
    """The status of a mention, and the deciding trigger as spelled in the text ("" without one)."""

    status: Status
    trigger: str = ""


class _Triggers(NamedTuple):
    """The triggers and marks of a sentence with their kinds, and which are present, historical and of one word only."""

    sentence: str
    folded: str
    types: Mapping[Span, Set[TriggerType]]
    present: list[Span]
    past: list[Span]
    bound: list[Span]


class NegEx:
    """Triggers by phrase, and the rule by which they decide.

    A trigger before the mention counts as PREN (negated), PREP (possible) or PREH (historical), one after it as POST,
    POSP or POSH. Any other nearest trigger, such as CONJ ("but") or PSEU ("no change in"), only ends the scope. Where
    both sides decide, negated takes precedence over possible, and possible over historical.
    """

    def __init__(self, triggers: Iterable[tuple[str, TriggerType]]) -> None:
        """Take (phrase, kind) pairs; a phrase may have several kinds, such as ``resolved`` with PREN and POST.

        Three full stops in a phrase stand for up to six words: ``no ... difference`` also means "no clear difference".

        Raises:
            InputError: no trigger, or one of unknown kind.
        """
        self.triggers: dict[str, set[TriggerType]] = {}
        for phrase, trigger_type in triggers:
            self.triggers.setdefault(canonical(phrase).replace("...", GAP), set()).add(
                _check(phrase, trigger_type, "triggers")
            )
        if not self.triggers:
            raise InputError("NegEx: there are no triggers; give at least one, with its kind.")

    @classmethod
    def load(cls, *sources: str | Path) -> NegEx:
        """Read files of triggers, or shipped lists by name (``negation``, ``hedges``, ``radiology``).

        By default the first two. Raises:
            InputError: an unreadable file, a line without a trigger, or an unknown kind (file and line are named).
        """
        paths = [SHIPPED.get(str(source), Path(source)) for source in sources or DEFAULT]
        return cls(pair for path in paths for pair in _read(path))

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that identify the triggers."""
        return fingerprint({"triggers": sorted((k, sorted(v)) for k, v in self.triggers.items()), "reach": None})

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return compiled(self.triggers)

    def judge(self, sentence: str, mentions: Sequence[Span]) -> list[Verdict]:
        """The verdict on each mention of a sentence, given as (begin, end) in it."""
        if not mentions:
            return []
        text = fold(sentence)
        spans, marks = occurrences(self._pattern, sentence, text), dict.fromkeys(signs(text), ANSWER)
        if not spans and not marks:  # most sentences
            return [Verdict(AFFIRMED)] * len(mentions)
        triggers = self._triggers_of(sentence, text, spans, marks)
        return [self._verdict(triggers, mention) for mention in mentions]

    def _triggers_of(
        self, sentence: str, text: str, spans: Sequence[Span], marks: Mapping[Span, Set[TriggerType]]
    ) -> _Triggers:
        types = {span: self._trigger_types(sentence, span) for span in spans}
        bound = [*(span for span in types if _is_bound(text, span)), *marks]
        answers = [span for span, names in types.items() if names is ANSWER]
        types |= {**dict.fromkeys(clause_ends(text, answers), CLAUSE_END), **marks}
        loose = sorted(types.keys() - bound) if bound else sorted(types)
        return _Triggers(
            sentence=sentence,
            folded=text,
            types=types,
            present=[span for span in loose if not types[span] <= PAST],
            past=[span for span in loose if types[span] <= PAST],
            bound=sorted(bound),
        )

    def _trigger_types(self, sentence: str, trigger: Span) -> Set[TriggerType]:
        """The kinds of a trigger at its position in a sentence, where it may be an answer."""
        words = sentence[slice(*trigger)]
        types = self.triggers.get(canonical(words)) or self._gapped_types(words)
        return ANSWER if types & NEGATING and is_answer(sentence, trigger) else types

    def _gapped_types(self, words: str) -> Set[TriggerType]:
        folded = fold(words)
        return next((types for pattern, types in self._gapped if pattern.fullmatch(folded)), set())

    @cached_property
    def _gapped(self) -> list[tuple[re.Pattern[str], Set[TriggerType]]]:
        return [(compiled([phrase]), types) for phrase, types in self.triggers.items() if GAP in phrase]

    def _verdict(self, triggers: _Triggers, mention: Span) -> Verdict:
        """The strongest verdict of the nearest triggers. Only present triggers end a scope: "no history of" negates."""
        verdicts = []
        for side, status_of in ((self._before, BEFORE), (self._after, AFTER)):
            near, ago, bound = (
                side(triggers.folded, spans, mention) for spans in (triggers.present, triggers.past, triggers.bound)
            )
            if near and ago and abs(near[0] - mention[0]) < abs(ago[0] - mention[0]):
                ago = None
            adjacent = bound if bound and _gap(bound, mention) <= 1 else None
            for trigger in filter(None, (near, ago, adjacent)):
                types = triggers.types.get(trigger) or self._trigger_types(triggers.sentence, trigger)
                words = triggers.sentence[slice(*trigger)]
                verdicts += [Verdict(status_of[name], words) for name in types & status_of.keys()]
        return min(verdicts, key=lambda verdict: STRENGTH.index(verdict.status), default=Verdict(AFFIRMED))

    def _before(self, text: str, triggers: list[Span], mention: Span) -> Span | None:
        """The nearest trigger before a mention; where one overlaps it ("no acute"), a shorter trigger that fits."""
        number = bisect_left(triggers, mention[0], key=itemgetter(0)) - 1
        if number >= 0 and triggers[number][1] > mention[0]:
            shorter = self._pattern.match(text, triggers[number][0], mention[0])
            if shorter:
                return shorter.span()
            number -= 1
        return triggers[number] if number >= 0 else None

    @staticmethod
    def _after(text: str, triggers: list[Span], mention: Span) -> Span | None:
        number = bisect_left(triggers, mention[1], key=itemgetter(0))
        return triggers[number] if number < len(triggers) else None


def _is_bound(text: str, trigger: Span) -> bool:
    """Whether a trigger applies only to the adjacent word, or is joined to another word by a hyphen."""
    joined = _JOINED.match(text, trigger[0])
    return text[slice(*trigger)] in ADJACENT_ONLY or (joined is not None and joined.end() == trigger[1])


def _gap(trigger: Span, mention: Span) -> int:
    """Characters between two spans that do not overlap."""
    return max(mention[0] - trigger[1], trigger[0] - mention[1])


def _read(path: Path) -> Iterable[tuple[str, TriggerType]]:
    for number, line in read_lines(path):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        location, (phrase, _, last) = place_of(path, number), line.strip().rpartition("\t")
        match = _TYPE.fullmatch(last)
        if match is None or not phrase:
            raise InputError(
                f"{location}: found {format_value(line)}; expected a trigger, a tab and its kind, such as [PREN]."
            )
        yield phrase.strip(), _check(phrase.strip(), match[1], location)


def _check(phrase: str, trigger_type: str, location: str) -> TriggerType:
    known: dict[str, TriggerType] = {name: name for name in get_args(TriggerType)}
    if trigger_type not in known or not canonical(phrase) or phrase.endswith(ANY_ENDING):
        raise InputError(
            f"{location}: the trigger {format_value(phrase)} has the kind {format_value(trigger_type)}; expected "
            f"words, and a kind from {', '.join(known)}."
        )
    return known[trigger_type]

"""Tell from the names of a classifier's labels which of them means relevant."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

RELEVANT = frozenset(
    (
        *("relevant", "related", "yes", "y", "true", "positive", "pos", "match", "matching", "matched", "duplicate"),
        *("entailment", "entailed", "entails", "answer", "answerable", "answered", "correct", "good", "similar"),
        *("paraphrase", "equivalent", "useful", "helpful", "supports", "support", "supported", "high", "accept"),
        *("contains answer", "has answer", "is answer", "is relevant", "is related"),
        *("ja", "relevante", "zutreffend", "wahr", "richtig", "positiv"),
        *("oui", "pertinent", "pertinente", "vrai", "positif"),
        *("sí", "si", "verdadero", "positivo", "sim", "verdadeiro", "sì", "vero", "rilevante"),
        *("waar", "ano", "tak", "igen", "evet", "ilgili", "istinito", "adevărat", "kyllä"),
        *("да", "релевантно", "релевантный", "верно", "истина", "так", "ναι", "σχετικό"),
        *("是", "相关", "相關", "有关", "真", "对", "正", "正面", "はい", "関連", "関連あり", "예", "네", "관련", "참"),
        *("관련 있음", "نعم", "صحيح", "हाँ", "हां", "प्रासंगिक", "có", "ya", "relevan", "ใช่"),
    )
)
IRRELEVANT = frozenset(
    (
        *("irrelevant", "unrelated", "no", "n", "not", "none", "false", "negative", "neg", "mismatch", "different"),
        *("contradiction", "contradicted", "contradicts", "incorrect", "wrong", "bad", "dissimilar", "useless"),
        *("other", "random", "noise", "offtopic", "off topic", "refutes", "refuted", "refute", "low", "reject"),
        *("nein", "falsch", "unzutreffend", "negativ", "faux", "non", "négatif", "falso", "negativo", "não", "nao"),
        *("nee", "onwaar", "ne", "nie", "nej", "nei", "ei", "nem", "hayır", "ilgisiz", "irrelevante", "irrilevante"),
        *("нет", "неверно", "ложь", "ні", "όχι", "άσχετο"),
        *(
            "否",
            "不是",
            "无关",
            "無關",
            "假",
            "错",
            "負",
            "负",
            "负面",
            "いいえ",
            "無関係",
            "아니오",
            "아니요",
            "무관",
            "거짓",
        ),
        *("لا", "خطأ", "नहीं", "अप्रासंगिक", "không", "tidak", "ไม่"),
    )
)
NEGATING_WORDS = frozenset(
    (
        *("not", "non", "no", "without", "never", "not a", "does not", "is not", "has no", "nicht", "kein", "keine"),
        *("ohne", "pas", "sans", "ne pas", "sin", "sem", "senza", "não", "nao", "niet", "geen", "inte", "ikke", "ej"),
        *("ei", "nem", "nie", "ne", "bez", "nu", "не", "нет", "без", "μη", "δεν", "غير", "لا", "नहीं", "không"),
        *("không có", "tidak", "bukan", "ไม่"),
    )
)
NEGATING_PREFIXES = frozenset(
    (
        *("un", "ir", "in", "im", "il", "dis", "mis", "non", "not", "no", "onge", "epä", "ne", "nie", "не"),
        *("不", "非", "无", "無", "未", "不是", "没有", "沒有", "비", "불", "무", "غير", "ไม่"),
    )
)
"""Words, and beginnings of words, that turn a label's meaning round, such as those of "not_relevant", "irrelevant"."""
NEGATIONS_AFTER = frozenset(("なし", "しない", "ない", "ではない", "없음", "없다", "아님", "değil", "नहीं", "not", "no"))
_NUMBERED = re.compile(r"(?:label|class|grade|score|rank)?\s*(\d{1,4})")
_GENERIC = re.compile(r"LABEL_\d+")
_BETWEEN = re.compile(r"(?<=[a-zß-ÿ])(?=[A-Z])|[\W_]+")


def label_names(config: Mapping[str, Any]) -> list[str]:
    """The names of a configuration's labels, by their numbers; [] if it names none."""
    by_number, by_name = (config.get(key) for key in ("id2label", "label2id"))
    names = {int(number): str(name) for number, name in by_number.items()} if isinstance(by_number, Mapping) else {}
    if isinstance(by_name, Mapping) and all(map(_GENERIC.fullmatch, names.values())):
        named = {int(number): str(name) for name, number in by_name.items() if str(number).isdecimal()}
        names = named if len(names) in (0, len(named)) else names
    return [names[number] for number in sorted(names)]


def relevant_label(names: Sequence[str]) -> int | None:
    """Which of two labels means relevant, or None if their names do not say.

    One is the other's negation ("not_relevant", "irrelevant", "nicht relevant", "不相关"), or one is a known word, or
    both are numbers, of which the higher is the more relevant.
    """
    first, second = (_plain(name) for name in names)
    if first == second:
        return None
    numbers = [match and int(match[1]) for match in map(_NUMBERED.fullmatch, (first, second))]
    if None not in numbers:
        return int(numbers[1] > numbers[0])  # type: ignore[operator]
    if _negates(first, second) or _negates(second, first):
        return int(_negates(first, second))
    meanings = [_is_relevant(name) for name in (first, second)]
    if meanings[0] == meanings[1]:
        return None
    return int(meanings[1] is True or meanings[0] is False)


def says_irrelevant(name: str) -> bool:
    """Whether a label's name means not relevant."""
    return _is_relevant(_plain(name)) is False


def _plain(name: str) -> str:
    """A name in lower-case words: "NotRelevant" and "not_relevant" are both "not relevant"."""
    return " ".join(_BETWEEN.sub(" ", unicodedata.normalize("NFKC", name)).casefold().split())


def _negates(name: str, other: str) -> bool:
    """Whether a name is another with a negation before or after it."""
    before, after = name.removesuffix(other), name.removeprefix(other).strip()
    negations = NEGATING_WORDS if before.endswith(" ") else NEGATING_PREFIXES
    return (name.endswith(other) and before.strip() in negations) or (
        name.startswith(other) and after in NEGATIONS_AFTER
    )


def _is_relevant(name: str) -> bool | None:
    """Whether a name means relevant; None if it says neither."""
    if name in RELEVANT or name in IRRELEVANT:
        return name in RELEVANT
    return False if any(_negates(name, word) for word in RELEVANT) else None

"""Read a search as terms with AND, OR and NOT, of one line or of numbered lines that refer to each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mpir.core.text.characters import without_accents
from mpir.core.text.field_codes import BEGIN, FIELD, LIMIT, LIMIT_NEXT, LINE
from mpir.core.text.terms import is_truncated, terms, with_marks, word_pattern

Expression = Sequence["str | int"]
"""A search in postfix order: terms, numbers of lines, and operators."""
_AND, _OR, _NOT, _NONE = "\ue006AND", "\ue006OR", "\ue006NOT", "\ue006NONE"  # NONE: a NOT without a left side
_OPERATORS = {"AND": _AND, "OR": _OR, "NOT": _NOT}
_TOKEN = re.compile(
    rf"\"[^\"\n]*+\"?|[()\n{{}}{FIELD}-{BEGIN}]|(?<!\w)(?i:and|or)/\d[\d,-]*+"
    rf"|(?<!\w)[#S]?\d{{1,3}}(?: ?- ?[#S]?\d{{1,3}})?(?![\w-])|[^\s()\"\n{{}}{FIELD}-{BEGIN}]++"
)
_NUMBER = re.compile(rf"(?m:^)[^\S\n]*+[#S]?(\d{{1,3}})[.)]?{LINE}")
_REFERENCES = re.compile(r"(?:(?:and|or)/)?[#S]?\d{1,3}(?: ?[-,] ?[#S]?\d{1,3})*", re.IGNORECASE)
_CODE = re.compile(r"(?:#?\d{1,3}|or|and|not|[-/,])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Search:
    """The terms of a search outside NOT, in their order, and what NOT excludes."""

    terms: tuple[str, ...]
    excluded: tuple[Expression, ...]
    lines: Mapping[int, Expression] = field(default_factory=dict)

    def excludes(self, text: str) -> bool:
        """Whether NOT excludes a text, whose words are compared without plurals and with truncation."""
        words = f" {' '.join(terms(text, stop_words='none'))} "
        values: dict[int, bool] = {}
        for number, line in sorted(self.lines.items()):
            values[number] = _value(line, words, values)
        return any(_value(expression, words, values) for expression in self.excluded)


@dataclass(slots=True, kw_only=True)
class _Group:
    """An open bracket: where it began, its pending operator, and whether it has a value, is a limit or excluded."""

    begin: int
    first_term: int
    operator: str = ""
    has_value: bool = False
    is_limit: bool = False
    is_excluded: bool = False


@dataclass(slots=True, kw_only=True)
class _Line:
    """One line while it is read."""

    small_operators: bool
    is_numbered: bool
    expression: list[str | int] = field(default_factory=list)
    terms: list[str] = field(default_factory=list)
    excluded: list[Expression] = field(default_factory=list)
    references: list[tuple[int, bool]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    groups: list[_Group] = field(default_factory=lambda: [_Group(begin=0, first_term=0)])
    limit_next: bool = False
    closed: tuple[int, int, bool] | None = None

    def read(self, text: str) -> _Line:
        """Take a line's tokens, close the groups that it leaves open, and return this object."""
        for match in _TOKEN.finditer(text):
            self._take(match[0])
        self._end_term()
        while len(self.groups) > 1:
            self._close()
        return self

    def _take(self, token: str) -> None:
        closed, self.closed = self.closed, None
        operator = _OPERATORS.get(token.upper() if self.small_operators else token)
        if operator:
            self._end_term()
            self.groups[-1].operator, self.limit_next = operator, False
        elif token == LIMIT:
            self._drop(closed)
        elif token in (FIELD, BEGIN, LIMIT_NEXT):
            self._end_term()
            self.limit_next = token == LIMIT_NEXT
        elif token in "({":
            self._open()
        elif token in ")}":
            self._end_term()
            if len(self.groups) > 1:
                self._close()
        elif token == "\n":
            if len(self.groups) == 1 and not self.groups[-1].operator:
                self._end_term()
                self.groups[-1].operator = _OR
        elif self.is_numbered and _REFERENCES.fullmatch(token):
            self._refer(token)
        else:
            self.words += _words(token)

    def _end_term(self) -> None:
        words, self.words = self.words, []
        if not words or (not self.is_numbered and all(_CODE.fullmatch(word) for word in words)):
            return
        group, begin = self.groups[-1], len(self.expression)
        if not (self.limit_next or group.is_limit):
            self.expression.append(" ".join(words))
            if not (group.is_excluded or group.operator == _NOT):
                self.terms.append(" ".join(words))
        self.limit_next = False
        self._end_operand(begin)

    def _refer(self, token: str) -> None:
        self._end_term()
        group, begin = self.groups[-1], len(self.expression)
        joint = _AND if token.lower().startswith("and") else _OR
        for count, number in enumerate(_numbers(token)):
            self.expression += [number, joint] if count else [number]
            self.references.append((number, group.is_excluded or group.operator == _NOT))
        self._end_operand(begin)

    def _end_operand(self, begin: int) -> None:
        """Join the operand that begins there to the group's value."""
        group = self.groups[-1]
        operator, group.operator = group.operator, ""
        if len(self.expression) == begin:
            return
        if operator == _NOT and not group.is_excluded:
            self.excluded.append(tuple(self.expression[begin:]))
        if group.has_value:
            self.expression.append(operator or _AND)
        elif operator == _NOT:
            self.expression.append(_NONE)
        group.has_value = True

    def _open(self) -> None:
        self._end_term()
        outer = self.groups[-1]
        group = _Group(begin=len(self.expression), first_term=len(self.terms))
        group.is_limit = outer.is_limit or self.limit_next
        group.is_excluded = outer.is_excluded or outer.operator == _NOT
        self.groups.append(group)
        self.limit_next = False

    def _close(self) -> None:
        group = self.groups.pop()
        self.closed = (group.begin, group.first_term, self.groups[-1].has_value)
        self._end_operand(group.begin)

    def _drop(self, closed: tuple[int, int, bool] | None) -> None:
        """Leave out a term or group that is a limit."""
        if self.words or closed is None:
            self.words, self.groups[-1].operator = [], ""
        else:
            begin, first_term, self.groups[-1].has_value = closed
            del self.expression[begin:], self.terms[first_term:]


def read_search(text: str, *, small_operators: bool) -> Search:
    """Read a search whose fields are marked (`mpir.core.text.field_codes`); "and", "or" and "not" may be operators."""
    numbers = [int(number) for number in _NUMBER.findall(text)]
    if len(numbers) < 2:
        line = _Line(small_operators=small_operators, is_numbered=False).read(_NUMBER.sub("", text))
        return Search(tuple(line.terms), tuple(line.excluded))
    texts = _NUMBER.split(text)[2::2]
    lines = {
        number: _Line(small_operators=small_operators, is_numbered=True).read(line)
        for number, line in zip(numbers, texts, strict=True)
    }
    included = _included(lines)
    return Search(
        tuple(term for line in included for term in line.terms),
        tuple(expression for line in included for expression in line.excluded),
        {number: tuple(line.expression) for number, line in lines.items()},
    )


def _included(lines: Mapping[int, _Line]) -> list[_Line]:
    """The lines that do not serve only to be excluded by a later one."""
    mentions: dict[int, list[bool]] = {}
    included = []
    for number in sorted(lines, reverse=True):
        is_excluded = all(mentions.get(number, [False]))
        for reference, excluding in lines[number].references:
            if reference < number:
                mentions.setdefault(reference, []).append(excluding or is_excluded)
        if not is_excluded:
            included.append(lines[number])
    return included[::-1]


def _numbers(token: str) -> Iterator[int]:
    """The lines that "#3", "1-3" or "or/1,3-5" refers to."""
    for part in token.rpartition("/")[2].split(","):
        first, *last = (int(number.strip(" #S")) for number in part.split("-") if number.strip(" #S"))
        yield from range(first, (last[0] if last else first) + 1)


def _words(token: str) -> list[str]:
    text = re.sub(r"[/\"\[]", " ", with_marks(token))
    words = (word.strip("'.,;:{}]") for word in text.split())
    return [word for word in words if word]


def _value(expression: Expression, words: str, lines: Mapping[int, bool]) -> bool:
    """The value of an expression for the words of a text; a line that comes later is False."""
    stack: list[bool] = []
    for item in expression:
        if isinstance(item, int):
            stack.append(lines.get(item, False))
        elif item == _NONE:
            stack.append(not stack.pop())
        elif item in (_AND, _OR, _NOT):
            right, left = stack.pop(), stack.pop()
            stack.append({_AND: left and right, _OR: left or right, _NOT: left and not right}[item])
        else:
            stack.append(_occurs(item, words))
    return bool(stack) and stack[-1]


def _occurs(term: str, words: str) -> bool:
    pattern = " ".join(map(word_pattern, _folded(term.split())))
    return re.search(rf" {pattern} ", words) is not None if pattern else False


def _folded(words: Iterable[str]) -> Iterator[str]:
    """Return words as BM25 has them, except those with marks of truncation."""
    for word in words:
        yield from [without_accents(word.lower())] if is_truncated(word) else terms(word, stop_words="none")

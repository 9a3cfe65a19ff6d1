"""Queries of the stand-in: a small grammar of words, phrases, [tags], FIELD:, ranges, AND, OR, NOT and brackets."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mpir.core.text.terms import terms

TOKEN = re.compile(
    r"""\s*(?:(?P<open>\()|(?P<close>\))|(?P<range>[A-Z_]+:\[[^\]]+\])|(?P<field>[A-Z_]+:)|"""
    r"""(?P<phrase>"[^"]*"(?:\[[^\]]*\])?(?:\s*:\s*"[^"]*"\[[^\]]*\])?)|(?P<word>[^\s()"]+))"""
)
Docs = set[int]


class SyntaxProblemError(Exception):
    pass


@dataclass
class Reader:
    """Evaluates a query over postings. `lookup` gives the documents of a word or phrase, `limit` those of a clause."""

    lookup: Callable[[list[str]], Docs]
    limit: Callable[[str], Docs]
    universe: Docs

    def read(self, query: str) -> tuple[Docs, list[str]]:
        """The matching documents, and the words that count for relevance."""
        if query.count('"') % 2:
            raise SyntaxProblemError("Unbalanced quotes in the query")
        self.tokens = list(tokens(query))
        self.words: list[str] = []
        documents = self.disjunction()
        if self.tokens:
            raise SyntaxProblemError("Unbalanced parenthesis in the query")
        return documents, self.words

    def peek(self) -> tuple[str, str]:
        return self.tokens[0] if self.tokens else ("end", "")

    def disjunction(self) -> Docs:
        documents = self.conjunction()
        while self.peek() == ("word", "OR"):
            self.tokens.pop(0)
            documents = documents | self.conjunction()
        return documents

    def conjunction(self) -> Docs:
        documents = self.factor()
        while self.peek()[0] not in ("end", "close") and self.peek() != ("word", "OR"):
            negated = self.peek() == ("word", "NOT")
            if self.peek() in (("word", "AND"), ("word", "NOT")):
                self.tokens.pop(0)
            documents = documents - self.factor() if negated else documents & self.factor()
        return documents

    def factor(self) -> Docs:
        token_type, text = self.tokens.pop(0) if self.tokens else ("end", "")
        if token_type == "open":
            documents = self.disjunction()
            if self.peek()[0] != "close":
                raise SyntaxProblemError("Unbalanced parenthesis in the query")
            self.tokens.pop(0)
            return documents
        if token_type == "range" or (token_type == "phrase" and "Date" in text) or "[Publication Type]" in text:
            return self.limit(text)
        if token_type == "field":
            if text in ("PUB_TYPE:", "SRC:"):
                return self.limit(text + self.tokens.pop(0)[1])
            return self.factor()
        if token_type in ("word", "phrase"):
            content = terms(re.sub(r"\[[^\]]*\]$", "", text), stop_words="english")
            self.words += content
            return self.lookup(content) if content else self.universe
        raise SyntaxProblemError("The query ends where a word is expected")


def tokens(query: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(query.rstrip()):
        match = TOKEN.match(query, position)
        if match is None:
            raise SyntaxProblemError("The query cannot be read")
        position = match.end()
        yield str(match.lastgroup), match[str(match.lastgroup)]

"""The stand-in's records: an index of words in memory, ranked by BM25, with term mapping of a few synonyms."""

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache

from mpir.core.text.terms import terms
from mpir.core.text.types import Document
from tests.search.pubmed.boolean import Docs, Reader

K1, B = 1.2, 0.75


class Library:
    """Documents with metadata "year" and "types", found by Boolean queries.

    They are sorted by relevance, by date (the newest PMID first) or at random.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        synonyms: Mapping[str, Sequence[str]] | None = None,
        sort: str = "relevance",
    ) -> None:
        self.documents = list(documents)
        self.ranks = {
            "relevance": range(len(self.documents)),
            "date": [-int(document.id) if document.id.isdigit() else 0 for document in self.documents],
            "random": random.Random(1).sample(range(len(self.documents)), len(self.documents)),
        }[sort]
        self.sort = sort
        self.number_of = {document.id: number for number, document in enumerate(self.documents)}
        self.synonyms = {word: list(variants) for word, variants in (synonyms or {}).items()}
        self.postings: dict[str, dict[int, int]] = defaultdict(dict)
        self.lengths = []
        for number, document in enumerate(self.documents):
            counts = Counter(terms(document.text))
            self.lengths.append(sum(counts.values()))
            for word, count in counts.items():
                self.postings[word][number] = count
        self.mean = sum(self.lengths) / max(1, len(self.lengths))
        self.universe = set(range(len(self.documents)))
        self.search = lru_cache(maxsize=64)(self._search)

    def _search(self, query: str) -> tuple[str, ...]:
        """The ids that match, the most relevant first. Raises SyntaxProblemError."""
        documents, words = Reader(self.lookup, self.limit, self.universe).read(query)
        scores: dict[int, float] = dict.fromkeys(documents, 0.0)
        for word in dict.fromkeys(words if self.sort == "relevance" else ()):
            for variant in (word, *self.synonyms.get(word, ())):
                self.add_scores(variant, scores)
        order = sorted(documents, key=lambda number: (-scores[number], self.ranks[number]))
        return tuple(self.documents[number].id for number in order)

    def add_scores(self, word: str, scores: dict[int, float]) -> None:
        postings = self.postings.get(word, {})
        idf = math.log1p((len(self.documents) - len(postings) + 0.5) / (len(postings) + 0.5))
        for number in scores.keys() & postings.keys():
            count = postings[number]
            scores[number] += idf * count * (K1 + 1) / (count + K1 * (1 - B + B * self.lengths[number] / self.mean))

    def lookup(self, content: list[str]) -> Docs:
        """Documents with all these words: one after another if there are several, or with a synonym of one."""
        variants = [content] + [terms(text) for text in self.synonyms.get(" ".join(content), ())]
        return set().union(*(self.phrase(words) for words in variants))

    def phrase(self, words: list[str]) -> Docs:
        documents = set.intersection(*(set(self.postings.get(word, ())) for word in words)) if words else set()
        if len(words) < 2:
            return documents
        text = f" {' '.join(words)} "
        return {number for number in documents if text in f" {' '.join(terms(self.documents[number].text))} "}

    def limit(self, clause: str) -> Docs:
        """The documents of a date range, publication type or source, in either service's syntax."""
        if clause.startswith("SRC:"):
            preprints = {n for n in self.universe if not self.documents[n].id.isdigit()}
            return preprints if clause == "SRC:PPR" else self.universe - preprints
        if clause.startswith("FIRST_PDATE") or "Date" in clause:
            first, last = (int(year) for year in re.findall(r"(\d{4})[-/]\d\d[-/]\d\d", clause))
            return {n for n in self.universe if first <= int(self.documents[n].metadata.get("year", 0)) <= last}
        name = re.findall(r'"([^"]+)"', clause)[0].lower()
        return {n for n in self.universe if name in [t.lower() for t in self.documents[n].metadata.get("types", ())]}

    def document(self, document_id: str) -> Document | None:
        number = self.number_of.get(document_id)
        return None if number is None else self.documents[number]

"""Rows of score 3 and 1: sentences whose entities lose some of their information, word by word.

Entities are chosen with a given probability and split into words; each word is replaced by a random one of its five
nearest neighbours (Rawal & Baral 2020).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

from mpir.lab.sia.entities import WORD, EntityFinder, EntitySpan
from mpir.lab.sia.facts import asked_terms
from mpir.lab.sia.rows import SiaRow, random_of, words_of
from mpir.lab.sia.vectors import Neighbours

LOWERED = {4: (3, "combined"), 2: (1, "partial")}


def swap_rows(
    rows: Sequence[tuple[SiaRow, str]], finder: EntityFinder, neighbours: Neighbours, probability: float, seed: int
) -> tuple[list[SiaRow], Counter[str]]:
    """Make rows of score 3 from rows of 4, and rows of 1 from rows of 2.

    `rows` come with the answer's words ("" where unknown). A row of score 3 keeps these and loses one entity that the
    question names: it must still answer almost all of the question, but not all of it (losing a word that was not asked
    for would cost nothing). A sentence without replacements gives no row.
    """
    swapped, counts = [], Counter[str]()
    entities = finder.find([row.sentence for row, _ in rows])
    for (row, answer), spans in zip(rows, entities, strict=True):
        score, name = LOWERED[row.sia_score]
        random = random_of(seed, "swap", str(row.sia_score), *row.source_ids, row.sentence)
        chosen = [span for span in spans if random.random() < probability]
        if score == 3:
            chosen = _one_asked(row, chosen, answer, random)
        if not chosen:
            counts["no entity chosen"] += 1
            continue
        sentence = _swap(row.sentence, chosen, neighbours, random, counts)
        if sentence == row.sentence:
            counts["nothing replaced"] += 1
            continue
        method = row.method.replace(name, f"swap-{name}")
        swapped.append(
            SiaRow(
                query=row.query, sentence=sentence, sia_score=score, method=method, source_ids=row.source_ids, seed=seed
            )
        )
    return swapped, counts


def _one_asked(row: SiaRow, spans: list[EntitySpan], answer: str, random: Random) -> list[EntitySpan]:
    """A random span that shares a term with the question and none with the answer, as a list; empty without one."""
    query_terms, answer_words = asked_terms(row.query), words_of([answer])
    terms = {span: words_of([row.sentence[slice(*span)]]) for span in spans}
    free = [span for span, words in terms.items() if words & query_terms and not words & answer_words]
    return [random.choice(free)] if free else []


def _swap(sentence: str, spans: list[EntitySpan], neighbours: Neighbours, random: Random, counts: Counter[str]) -> str:
    pieces, last = [], 0
    for begin, end in spans:
        for match in WORD.finditer(sentence, begin, end):
            pieces += [sentence[last : match.start()], _replace(match.group(), neighbours, random, counts)]
            last = match.end()
    return "".join([*pieces, sentence[last:]])


def _replace(word: str, neighbours: Neighbours, random: Random, counts: Counter[str]) -> str:
    near = neighbours.of(word)
    counts["words replaced" if near else "words kept: no vector"] += 1
    if not near:
        return word
    new = random.choice(near)
    return new.capitalize() if word[0].isupper() and new.islower() else new

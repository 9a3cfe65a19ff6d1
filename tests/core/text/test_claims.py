"""What sentences say about a question: those of claims.tsv, which were written for this, and the rules one by one."""

from collections import Counter
from pathlib import Path

import pytest

from mpir.core.text.claims import claim_of

ROWS = [
    tuple(line.split("\t"))
    for line in Path(__file__).with_name("claims.tsv").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
"""Label, question and sentence."""


def test_sixty_sentences_deny_or_say_that_nothing_is_known_and_sixty_do_not() -> None:
    assert Counter(label for label, *_ in ROWS) == {"denies": 40, "unknown": 20, "neither": 60}
    wrong = [row for row in ROWS if (claim_of(row[2], row[1]) or "neither") != row[0]]
    assert len(wrong) <= 2, wrong  # 118 of 120 are right; the two are denied in words, but not in the answer
    assert {label for label, *_ in wrong} <= {"neither"}


@pytest.mark.parametrize(
    ("sentence", "claim"),
    [
        ("Aspirin did not affect pain.", "denies"),
        ("ASPIRIN HAD NO EFFECT ON PAIN.", "denies"),
        ("The effect of aspirin on pain is not known.", "unknown"),
        ("Aspirin relieved pain but did not affect fever.", ""),
        ("Ibuprofen lowered fever, but aspirin did not relieve pain.", "denies"),
        ("Although fever did not abate, aspirin relieved pain.", ""),
        ("Aspirin relieved pain and did not cause bleeding.", ""),
        ("Aspirin relieved pain; no deaths occurred.", ""),
        ("Aspirin relieved pain in HIV-negative and non-obese persons.", ""),
        ("Not only aspirin relieves pain.", ""),
        ("Pain was the same with aspirin and placebo.", "denies"),
        ("Pain lasted as long with aspirin as with placebo.", "denies"),
        ("Pain relief with aspirin was indistinguishable from that with placebo.", "denies"),
        ("Aspirin hardly relieved pain.", "denies"),
        ("Aspirin does nothing for pain.", "denies"),
        ("That aspirin relieves pain is a myth.", "denies"),
        ("We refute that aspirin relieves pain.", "denies"),
        ("It is doubtful whether aspirin relieves pain.", "unknown"),
        ("The relief of pain by aspirin remains obscure.", "unknown"),
        ("The relief of pain by aspirin is far from being understood.", "unknown"),
        ("Aspirin relieved pain in three unrelated patients.", ""),
        ("", ""),
    ],
)
def test_a_phrase_counts_in_the_clause_that_is_about_the_question(sentence: str, claim: str) -> None:
    assert claim_of(sentence, "Does aspirin relieve pain?") == claim


def test_without_a_question_the_main_clause_counts() -> None:
    assert claim_of("Nothing is known, since no data exist.", "") == "unknown"
    assert claim_of("Bedaquiline is given when rifampicin cannot be used.", "") == ""


def test_white_space_and_capital_letters_of_a_sentence_do_not_matter() -> None:
    for _, question, sentence in ROWS:
        assert claim_of(sentence.replace(" ", "\n ").upper(), question.upper()) == claim_of(sentence, question), (
            sentence
        )

from dataclasses import replace

from mpir.corpora.copies import without_copies
from mpir.text.types import Document

LONG = "We measured the salt in the sweat of ten children and found it high in nine of them, and low in one child."


def test_each_paper_counts_once() -> None:
    pubmed = Document("7", "Salt in sweat.", "It is high.")
    scopus = Document("2-s2.0-1", "SALT IN SWEAT", "It  is high")
    titled, longer = Document("10.1/1", "A Trial", ""), Document("10.1/1", "A trial", "It worked.")
    assert without_copies([pubmed, titled, scopus, longer]) == [pubmed, longer]


def test_a_publishers_last_line_makes_no_other_paper() -> None:
    plain, signed = Document("7", "Salt", LONG), Document("10.1/1", "Salt", f"{LONG} Copyright (c) 2019 Somebody.")
    assert without_copies([signed, plain]) == [signed]
    assert without_copies([plain, signed]) == [replace(signed, id="7")]
    update = Document("8", "Salt", LONG.replace("one child", "none of them"))
    assert without_copies([plain, update]) == [plain, update]


def test_what_may_be_another_paper_stays() -> None:
    documents = [
        Document("1", "Reply", ""),
        Document("2", "Reply", ""),  # no abstract tells them apart
        Document("3", "", "One."),
        Document("3", "", "Two."),
        Document("4", "Salt", "One."),
        Document("5", "Salt", "One. And two."),  # too short to be sure
    ]
    assert without_copies(documents) == documents

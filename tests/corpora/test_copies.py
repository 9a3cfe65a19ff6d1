from mpir.corpora.copies import without_copies
from mpir.text.types import Document


def test_each_paper_counts_once() -> None:
    pubmed = Document("7", "Salt in sweat.", "It is high.")
    scopus = Document("2-s2.0-1", "SALT IN SWEAT", "It  is high")
    titled, longer = Document("10.1/1", "A Trial", ""), Document("10.1/1", "A trial", "It worked.")
    assert without_copies([pubmed, titled, scopus, longer]) == [pubmed, longer]


def test_what_may_be_another_paper_stays() -> None:
    documents = [
        Document("1", "Reply", ""),
        Document("2", "Reply", ""),  # no abstract tells them apart
        Document("3", "", "One."),
        Document("3", "", "Two."),
        Document("4", "Salt", "One."),
        Document("5", "Salt", "Two."),
    ]
    assert without_copies(documents) == documents

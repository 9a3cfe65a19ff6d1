import json

from hypothesis import given
from hypothesis import strategies as st

from mpir.core.text.characters import without_surrogates
from mpir.core.text.types import Document
from mpir.search.lucene.writer import from_record, to_record

PIECES = ["ﬁ", "eﬀec-\n", "<p>", "</sub>", "&amp;", "\u00ad\n", "\u200b", "word "]
PAGES = st.lists(st.sampled_from(PIECES)).map("".join)
TEXT = st.text(st.characters(exclude_categories=["Cs"])) | PAGES


@given(TEXT, TEXT, TEXT)
def test_a_record_gives_the_document_back(identity: str, title: str, abstract: str) -> None:
    document = Document(identity, title, abstract, score=1.5)
    assert to_record(document).isascii()
    assert from_record(to_record(document), 1.5) == document


@given(st.text(st.characters()))
def test_replacing_surrogates_keeps_every_offset(text: str) -> None:
    clean = without_surrogates(text)
    assert clean.encode().decode() == clean
    assert [new if old != "\ufffd" and new == "\ufffd" else old for old, new in zip(text, clean, strict=True)] == list(
        clean
    )


def test_lucene_reads_plain_letters_and_gives_back_what_came() -> None:
    document = Document("1", "Sjo\u0308gren", "Me\u0301nie\u0300re.")
    assert json.loads(to_record(document))["contents"] == "Sjogren\nMeniere.\n."
    assert json.loads(to_record(document, folds_accents=False))["contents"] == "Sjögren\nMénière.\n."
    assert from_record(to_record(document)) == document

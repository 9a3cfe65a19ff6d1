"""The estimated cost of a request: near what a tokenizer makes, also of punctuation and other scripts."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer

import mpir
from mpir.app.serve.cost import document_tokens, text_tokens, tokens_of
from mpir.app.serve.requests import RerankBody, read_rerank
from mpir.app.serve.settings import ApiError, Limits
from mpir.core.text import Document
from mpir.files.corpora import read_corpus
from tests.faults.report import count

TOKENIZER = Path(mpir.__file__).parent / "bundles/default/model/tokenizer.json"
SAMPLE = Path(mpir.__file__).parent / "sample/documents.jsonl"
TEXTS = {
    "full stops": "." * 20_000,
    "abbreviations": "e.g. " * 4_000,
    "short questions": "A? " * 4_000,
    "Chinese": "基因治疗研究" * 2_000,
    "Greek": "γονιδιακή θεραπεία " * 500,
    "Cyrillic": "генная терапия " * 500,
    "Arabic": "العلاج الجيني " * 500,
    "numbers": "3.14 (12,5) 0123456789 " * 500,
    "genes": "IL-2, TNF-α; CD4+ " * 500,
    "consonants": "bcdfghjk qrstvwxz " * 500,
}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    tokenizer.no_truncation()
    return tokenizer


@pytest.mark.parametrize("name", TEXTS)
def test_no_text_costs_much_more_than_estimated(tokenizer: Tokenizer, name: str) -> None:
    tokens = len(tokenizer.encode(TEXTS[name], add_special_tokens=False).ids)
    count("estimated costs")
    assert text_tokens([TEXTS[name]]) >= 0.4 * tokens


def test_abstracts_cost_about_what_is_estimated(tokenizer: Tokenizer) -> None:
    documents = list(read_corpus([SAMPLE]))
    texts = [text for document in documents for text in (document.title, document.abstract)]
    tokens = sum(len(encoded.ids) for encoded in tokenizer.encode_batch(texts, add_special_tokens=False))
    assert 0.8 * tokens < document_tokens(documents) < 1.5 * tokens


def test_the_query_counts_again_for_every_sentence() -> None:
    document = Document("1", "", "A cell. " * 10)
    assert tokens_of("a b c", [document]) == 1 + document_tokens([document]) + 3 * 10


def test_documents_of_more_tokens_than_a_request_has_are_refused() -> None:
    limits = Limits(body=40_000)
    for text, tokens in (("." * 9_000, 9_001), ("aspirin " * 3_000, 6_002)):
        assert read_rerank(RerankBody, {"query": "q", "documents": [text]}, limits).tokens > tokens - 5
    count("requests of too many tokens")
    with pytest.raises(ApiError, match=r"\b12000 tokens; .*\b10000\b") as no:
        read_rerank(RerankBody, {"query": "q", "documents": ["e.g. " * 1_000] * 3}, limits)
    assert no.value.status == 413

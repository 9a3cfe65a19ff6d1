"""A prompt that is too long loses words of its document, wherever that stands, and never those of the template."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from mpir.errors import InputError
from mpir.models.families.language_model._model import LanguageModel
from mpir.models.families.language_model._prompt_tokens import PromptTokenizer
from mpir.models.families.language_model._template import DOCUMENT, QUERY, PromptTemplate
from tests.models.model_makers import DOCUMENT_FIRST, chat_model, tokenizer

FIRST = PromptTemplate(("passage: ", DOCUMENT, " query: ", QUERY, " in blood is"))
TWICE = PromptTemplate(("passage: ", DOCUMENT, " query: ", QUERY, " passage: ", DOCUMENT, " is"))
SHORT, OTHER, LONG = "does aspirin thin blood", "the gene", "a trial of aspirin in the heart " * 20
LENGTH = 32


def words(template: PromptTemplate, query: str, document: str, **options: Any) -> tuple[str, bool, bool]:
    fast = tokenizer(**options)
    ids, cuts_query, cuts_document = PromptTokenizer(fast, template, LENGTH, adds_tokens=False).read(query, document)
    return " ".join(fast.convert_ids_to_tokens(ids)), cuts_query, cuts_document


def first(text: str, count: int) -> str:
    return " ".join(text.split()[:count])


def last(text: str, count: int) -> str:
    return " ".join(text.split()[-count:])


@pytest.mark.parametrize("query", [SHORT, OTHER])
def test_the_query_behind_a_long_document_is_kept(query: str) -> None:
    count = LENGTH - 5 - len(query.split())
    expected = f"passage: {first(LONG, count)} query: {query} in blood is"
    assert words(FIRST, query, LONG) == (expected, False, True)
    kept = expected.replace(first(LONG, count), last(LONG, count))
    assert words(FIRST, query, LONG, truncation_side="left") == (kept, False, True)
    assert words(FIRST, query, "the heart") == (f"passage: the heart query: {query} in blood is", False, False)


def test_a_long_query_leaves_a_quarter_for_the_document() -> None:
    room = LENGTH - 5
    expected = f"passage: {first(LONG, room // 4)} query: {first(LONG, room - room // 4)} in blood is"
    assert words(FIRST, LONG, LONG) == (expected, True, True)
    expected = f"passage: the heart query: {first(LONG, room - 2)} in blood is"
    assert words(FIRST, LONG, "the heart") == (expected, True, False)


def test_a_document_in_two_slots_is_cut_in_both() -> None:
    count = (LENGTH - 4 - 4) // 2
    expected = f"passage: {first(LONG, count)} query: {SHORT} passage: {first(LONG, count)} is"
    assert words(TWICE, SHORT, LONG) == (expected, False, True)


@pytest.mark.parametrize("adds_tokens", [False, True])
def test_a_tokenizer_without_a_fast_version_cuts_the_same(adds_tokens: bool) -> None:
    slow = transformers.ByT5Tokenizer()
    reader = PromptTokenizer(slow, FIRST, 64, adds_tokens=adds_tokens)
    ids, _, is_cut = reader.read(SHORT, LONG)
    count = 64 - len(FIRST.render(SHORT, "")) - adds_tokens
    assert (ids, is_cut) == (slow(FIRST.render(SHORT, LONG[:count]), add_special_tokens=adds_tokens).input_ids, True)


PARTS = DOCUMENT_FIRST.replace(
    "{{ m.content }}", "{% for part in m.content %}{% if part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}"
)


@pytest.mark.parametrize("template", [DOCUMENT_FIRST, PARTS])
def test_a_language_model_reads_the_query_behind_a_long_document(
    template: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """With contents as texts, and as lists of parts, which some templates expect."""
    folder = chat_model(tmp_path / "m")
    fast = transformers.AutoTokenizer.from_pretrained(folder)
    fast.chat_template = template
    fast.save_pretrained(folder)
    options: dict[str, Any] = {"max_length": LENGTH, "device": "cpu", "precision": "fp32", "tokens": (16, 17)}
    model = LanguageModel(str(folder), **options)
    pairs = [(SHORT, LONG), (OTHER, LONG), (OTHER, "the heart"), (LONG, "the heart")]
    with caplog.at_level(logging.WARNING):
        scores = model.scores(pairs)
    assert "2 of 4 documents are cut" in caplog.text
    assert "1 of 4 queries are cut" in caplog.text
    reference = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    for score, (query, document) in zip(scores.tolist(), pairs, strict=True):
        prompt = words(FIRST, query, document)[0]
        with torch.no_grad():
            logits = reference(torch.tensor([fast(prompt, add_special_tokens=False).input_ids])).logits[0, -1]
        np.testing.assert_allclose(score, float(logits[16] - logits[17]), atol=1e-4)


def test_a_template_that_leaves_no_room_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"max_length is 16 .*\b21\b.*\b5\b"):
        LanguageModel(str(chat_model(tmp_path / "m")), max_length=16, device="cpu")

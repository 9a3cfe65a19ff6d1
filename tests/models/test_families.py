"""Each family scores as its published computation does, done here with transformers alone.

A reference reads one pair: no batch, no padding, no cache. mpir has to agree with it for a pair alone and in a batch,
in any order, for empty and long texts, with a declared prompt, and in half precision as far as that goes.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional
from transformers import ByT5Tokenizer

from mpir.models.perspectives.named_models import NamedModels, declare_named_models, load_named_models
from mpir.models.perspectives.registration import Loading
from mpir.models.recognition.recognise import families
from tests.models import model_makers as makers
from tests.models.model_makers import LIBRARY, declare_modules, make, put, tokenizer

Reference = Callable[[str, str], float]
"""The score of a query and a text."""
PROMPT = "risk of patients "
LENGTH = 48
QUERY = "does aspirin thin blood"
TEXTS = ["yes aspirin does thin the blood in patients of a trial", "no", "", "the risk of a heart attack is in a gene"]
LONG = "a trial of aspirin in patients " * 30
MODULES = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]
WITHOUT_SEGMENTS = {"model_input_names": ["input_ids", "attention_mask"]}


def pair_inputs(fast: Any, query: str, text: str) -> Any:
    return fast([query], [text], truncation=True, max_length=LENGTH, return_tensors="pt")


def classifier(folder: Path, prompt: str, fast: Any = None) -> Reference:
    fast = tokenizer() if fast is None else fast
    model = make(folder, "BertForSequenceClassification", fast=fast)

    def score(query: str, text: str) -> float:
        return float(torch.sigmoid(model(**pair_inputs(fast, prompt + query, text)).logits))

    return score


def left_classifier(folder: Path, prompt: str) -> Reference:
    """Texts lose their beginnings."""
    return classifier(folder, prompt, tokenizer(truncation_side="left", padding_side="left"))


def named_classifier(folder: Path, prompt: str) -> Reference:
    """The first of two labels is the relevant one, by its name."""
    model, fast = make(folder, "BertForSequenceClassification", num_labels=2), tokenizer()
    config = makers.read_object(folder / "config.json")
    put(folder / "config.json", {**config, "id2label": {"0": "relevant", "1": "not_relevant"}})

    def score(query: str, text: str) -> float:
        return float(model(**pair_inputs(fast, prompt + query, text)).logits.softmax(-1)[0, 0])

    return score


def classifier_of_one_segment(folder: Path, prompt: str) -> Reference:
    """The tokenizer tells two segments apart, and the model has one."""
    model, fast = make(folder, "BertForSequenceClassification", type_vocab_size=1), tokenizer()

    def score(query: str, text: str) -> float:
        inputs = pair_inputs(fast, prompt + query, text)
        return float(torch.sigmoid(model(inputs["input_ids"], attention_mask=inputs["attention_mask"]).logits))

    return score


def chain(folder: Path, prompt: str) -> Reference:
    makers.chain(folder)
    from transformers import BertModel

    model, fast = BertModel.from_pretrained(folder).eval(), tokenizer()
    weight = load_file(folder / "2_Dense/model.safetensors")["linear.weight"]

    def score(query: str, text: str) -> float:
        states = model(**pair_inputs(fast, prompt + query, text)).last_hidden_state[0]
        return float(torch.sigmoid(states.mean(0) @ weight[0]))

    return score


def rendered(fast: Any, prompt: str, query: str, text: str) -> list[int]:
    """The ids of a prompt in the chat template, the document cut so that its three last tokens are kept."""
    messages = [{"role": "query", "content": query}, {"role": "document", "content": text}]
    messages = [*([{"role": "system", "content": prompt}] if prompt else []), *messages]
    ids: list[int] = fast(fast.apply_chat_template(messages, tokenize=False), add_special_tokens=False).input_ids
    return ids if len(ids) <= LENGTH else [*ids[: LENGTH - 3], *ids[-3:]]


def language_model(folder: Path, prompt: str) -> Reference:
    makers.chat_model(folder)
    from transformers import AutoTokenizer, Qwen3ForCausalLM

    model, fast = Qwen3ForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)

    def score(query: str, text: str) -> float:
        logits = model(torch.tensor([rendered(fast, prompt, query, text)])).logits[0, -1]
        return float(torch.sigmoid(logits[16] - logits[17]))

    return score


def document_first(folder: Path, prompt: str) -> Reference:
    """The template has the document before the query, so a long document is cut in the middle of the prompt."""
    makers.chat_model(folder)
    from transformers import AutoTokenizer, Qwen3ForCausalLM

    model, fast = Qwen3ForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    fast.chat_template = makers.DOCUMENT_FIRST
    fast.save_pretrained(folder)

    def score(query: str, text: str) -> float:
        behind = f"query: {query} {prompt}in blood is"
        ids, tail = (fast(part, add_special_tokens=False).input_ids for part in (f"passage: {text}", behind))
        logits = model(torch.tensor([[*ids[: LENGTH - len(tail)], *tail]])).logits[0, -1]
        return float(torch.sigmoid(logits[16] - logits[17]))

    return score


def message_classifier(folder: Path, prompt: str) -> Reference:
    fast = tokenizer(padding_side="left", chat_template=makers.TEMPLATE, **WITHOUT_SEGMENTS)
    model = make(folder, "Qwen3ForSequenceClassification", fast=fast, num_key_value_heads=1, head_dim=16)
    modalities = {name: {"method": "forward", "method_output_name": "logits"} for name in ("text", "message")}
    put(folder / "sentence_bert_config.json", {"modality_config": modalities})

    def score(query: str, text: str) -> float:
        return float(torch.sigmoid(model(torch.tensor([rendered(fast, prompt, query, text)])).logits))

    return score


def colbert(folder: Path, prompt: str) -> Reference:
    makers.colbert(folder)
    from transformers import BertModel

    model, fast = BertModel.from_pretrained(folder).eval(), tokenizer()
    weight = load_file(folder / "1_Dense/model.safetensors")["linear.weight"]

    def vectors(ids: list[int], mask: list[int]) -> torch.Tensor:
        states = model(torch.tensor([ids]), attention_mask=torch.tensor([mask])).last_hidden_state[0]
        return functional.normalize(states @ weight.T, dim=1)

    def ids_of(text: str, marker: int, length: int) -> list[int]:
        ids = fast(text, truncation=True, max_length=length - 1).input_ids
        return [ids[0], marker, *ids[1:]]

    def score(query: str, text: str) -> float:
        ids = ids_of(prompt + query, 5, 16)
        masks = 16 - len(ids)
        query_vectors = vectors([*ids, *[4] * masks], [1] * len(ids) + [0] * masks)
        ids = ids_of(text, 6, 40)
        return float((query_vectors @ vectors(ids, [1] * len(ids)).T).amax(1).sum())

    return score


def bi_encoder(folder: Path, prompt: str) -> Reference:
    makers.embedding_model(folder)
    from transformers import BertModel

    model, fast = BertModel.from_pretrained(folder).eval(), tokenizer()
    weight = load_file(folder / "2_Dense/model.safetensors")["linear.weight"]

    def vector(text: str) -> torch.Tensor:
        inputs = fast(text, truncation=True, max_length=LENGTH, return_tensors="pt")
        return functional.normalize(torch.tanh(model(**inputs).last_hidden_state[0].mean(0) @ weight.T), dim=0)

    return lambda query, text: float(vector(prompt + query) @ vector(text))


def unit_vectors(folder: Path, prompt: str) -> Reference:
    """A last Normalize, and the dot product as the similarity."""
    model, fast = make(folder, "BertModel"), tokenizer()
    declare_modules(folder, *((f"{LIBRARY}{name}", path) for name, path in MODULES))
    put(folder / "1_Pooling/config.json", {"pooling_mode": "cls"})
    put(folder / "config_sentence_transformers.json", {"similarity_fn_name": "dot"})

    def vector(text: str) -> torch.Tensor:
        inputs = fast(text, truncation=True, max_length=LENGTH, return_tensors="pt")
        return functional.normalize(model(**inputs).last_hidden_state[0, 0], dim=0)

    return lambda query, text: float(vector(prompt + query) @ vector(text))


def byte_encoder(folder: Path, prompt: str) -> Reference:
    """A tokenizer without a fast version."""
    model = makers.byte_model(folder)
    slow = ByT5Tokenizer()

    def vector(text: str) -> torch.Tensor:
        inputs = slow(text, truncation=True, max_length=LENGTH, return_tensors="pt")
        return functional.normalize(model(**inputs).last_hidden_state[0].mean(0), dim=0)

    return lambda query, text: float(vector(prompt + query) @ vector(text))


def mono_t5(folder: Path, _: str) -> Reference:
    """The first token, "true" against "false"; the template is fixed, so a declared prompt changes nothing."""
    fast = tokenizer(eos_token="[SEP]", **WITHOUT_SEGMENTS)
    fast.add_tokens(["▁true", "▁false", "Query:", "Document:", "Relevant:"])
    sizes = {"d_model": 32, "d_kv": 16, "d_ff": 48, "num_layers": 2, "num_heads": 2, "decoder_start_token_id": 0}
    unused = dict.fromkeys((*makers.SIZES, "max_position_embeddings", "num_labels"))
    model = make(folder, "T5ForConditionalGeneration", fast=fast, **{**unused, **sizes})
    true, false = fast.convert_tokens_to_ids(["▁true", "▁false"])

    def score(query: str, text: str) -> float:
        ids = fast(f"Query: {query} Document: {text} Relevant:").input_ids
        ids = ids if len(ids) <= LENGTH else [*ids[: LENGTH - 2], *ids[-2:]]
        logits = model(input_ids=torch.tensor([ids]), decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
        return float(torch.sigmoid(logits[true] - logits[false]))

    return score


MAKERS: dict[str, Callable[[Path, str], Reference]] = {
    "cross-encoder": classifier,
    "chain": chain,
    "language-model": language_model,
    "message-classifier": message_classifier,
    "multi-vector": colbert,
    "bi-encoder": bi_encoder,
    "mono-t5": mono_t5,
    "cross-encoder, cut on the left": left_classifier,
    "cross-encoder, named labels": named_classifier,
    "cross-encoder, one segment": classifier_of_one_segment,
    "language-model, document first": document_first,
    "bi-encoder, unit vectors": unit_vectors,
    "bi-encoder, bytes": byte_encoder,
}
ELSEWHERE = {"listwise", "document-cross-encoder", "tk"}
"""Kinds with references in modules of their own: test_listwise.py, test_pruner.py and test_tk.py."""


def scores(folder: Path, kind: str, pairs: list[tuple[str, str]], precision: str = "fp32") -> Any:
    """mpir's scores; long texts are cut, as in the reference."""
    loading = Loading(folder=Path(), device="cpu", precision=precision)
    named = (str(folder),)
    choice = NamedModels(encoders=named) if kind.startswith("bi-encoder") else NamedModels(names=named)
    (declared,) = declare_named_models(choice)
    options = {} if kind.startswith(("language-model", "message-", "mono-")) else {"over_length": "truncate"}
    options |= {} if kind == "multi-vector" else {"max_length": LENGTH}
    declared = type(declared)(entry={**declared.entry, **options}, files=declared.files)
    (perspective,) = load_named_models([declared], loading)
    return perspective.score_pairs(pairs)[0]


@pytest.mark.slow
@pytest.mark.parametrize("prompt", ["", PROMPT])
@pytest.mark.parametrize("kind", MAKERS)
def test_a_family_scores_as_its_reference(kind: str, prompt: str, tmp_path: Path) -> None:
    reference = MAKERS[kind](tmp_path / "m", prompt)
    if prompt:
        path = tmp_path / "m/config_sentence_transformers.json"
        prompts = {"prompts": {"query": prompt, "document": ""}, "default_prompt_name": "query"}
        put(path, {**makers.read_object(path), **prompts})
    pairs = [(QUERY, text) for text in [*TEXTS, LONG]]
    with torch.no_grad():
        expected = np.array([reference(query, text) for query, text in pairs])
    np.testing.assert_allclose(scores(tmp_path / "m", kind, pairs), expected, atol=1e-4)
    np.testing.assert_allclose(scores(tmp_path / "m", kind, pairs[::-1])[::-1], expected, atol=1e-4)
    alone = np.concatenate([scores(tmp_path / "m", kind, [pair]) for pair in pairs[1:3]])
    np.testing.assert_allclose(alone, expected[1:3], atol=1e-4)
    half = scores(tmp_path / "m", kind, pairs, "bf16")
    np.testing.assert_allclose(half, expected, atol=0.08 * max(1.0, float(np.abs(expected).max())))


def test_every_family_has_a_reference() -> None:
    assert {family.perspective_type for family in families()} <= {*MAKERS, *ELSEWHERE}

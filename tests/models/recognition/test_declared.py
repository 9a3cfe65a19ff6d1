"""The settings that a model's files declare, or that are known for its hub name, are those that run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mpir.errors import ArtefactError, InputError
from mpir.models.checkpoint_files.known_models import warn_of_missing_prompts
from mpir.models.checkpoint_files.model_files import ModelFiles
from mpir.models.embedding_model import open_embedding_model
from mpir.models.families.language_model._template import template_of
from mpir.models.perspectives.named_models import NamedModels, declare_named_models, load_named_models
from mpir.models.perspectives.pair_scoring import checked
from mpir.models.perspectives.registration import Loading
from mpir.models.vectors.embedding import Prompts
from mpir.models.vectors.embedding_settings import read_embedding_settings
from tests.models.model_makers import (
    LIBRARY,
    TEMPLATE,
    chain,
    chat_model,
    classifier,
    declare_modules,
    make,
    put,
    tokenizer,
    vectors_of_entry,
)

QUERY, TEXTS = "does aspirin thin blood", ["yes aspirin does thin the blood", "the risk of a heart attack", ""]
PROMPT = "risk of patients "
WEB = {"prompts": {"web": PROMPT, "other": "gene "}, "default_prompt_name": "web"}
CPU: dict[str, Any] = {"device": "cpu", "precision": "fp32"}


def scores(folder: Path, query: str = QUERY, **options: Any) -> list[float]:
    """The raw scores of a reranker for all texts."""
    declared = declare_named_models(NamedModels(names=(str(folder),), options=options))
    (perspective,) = load_named_models(declared, Loading(folder=Path(), **CPU))
    values: list[float] = perspective.score_pairs([(query, text) for text in TEXTS])[0].tolist()
    return values


@pytest.mark.parametrize("maker", [classifier, chain])
def test_a_rerankers_default_prompt_stands_before_the_query(maker: Callable[[Path], Path], tmp_path: Path) -> None:
    folder = maker(tmp_path / "m")
    plain, expected = scores(folder), scores(folder, PROMPT + QUERY)
    put(folder / "config_sentence_transformers.json", WEB)
    assert scores(folder) == pytest.approx(expected, abs=1e-6)
    assert scores(folder) != pytest.approx(plain, abs=1e-3)
    assert scores(folder, query_prompt="") == pytest.approx(plain, abs=1e-6)


def test_a_chat_models_default_prompt_is_its_system_message(tmp_path: Path) -> None:
    folder = chat_model(tmp_path / "m")
    expected = scores(folder, instruction=PROMPT)
    put(folder / "config_sentence_transformers.json", WEB)
    assert scores(folder) == pytest.approx(expected, abs=1e-6)
    assert scores(folder, instruction="gene cell") != pytest.approx(expected, abs=1e-3)


def test_a_classifier_that_reads_messages_has_the_chat_template(tmp_path: Path) -> None:
    fast = tokenizer(padding_side="left", chat_template=TEMPLATE, model_input_names=["input_ids", "attention_mask"])
    model = make(tmp_path / "m", "Qwen3ForSequenceClassification", fast=fast, num_key_value_heads=1, head_dim=16)
    modalities = {name: {"method": "forward", "method_output_name": "logits"} for name in ("text", "message")}
    put(tmp_path / "m/sentence_bert_config.json", {"modality_config": modalities})
    expected = []
    for text in TEXTS:
        messages = [{"role": "query", "content": QUERY}, {"role": "document", "content": text}]
        ids = fast(fast.apply_chat_template(messages, tokenize=False), add_special_tokens=False, return_tensors="pt")
        with torch.no_grad():
            expected.append(float(torch.sigmoid(model(**ids).logits)))
    assert scores(tmp_path / "m") == pytest.approx(expected, abs=1e-5)


def test_a_reranker_reads_lower_case_if_its_files_say_so(tmp_path: Path) -> None:
    folder = classifier(tmp_path / "m")
    expected = scores(folder)
    put(folder / "sentence_bert_config.json", {"do_lower_case": True})
    assert scores(folder, QUERY.upper()) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("family", ["Bert", "Roberta", "Electra"])
def test_a_model_with_one_segment_reads_all_tokens_in_it(family: str, tmp_path: Path) -> None:
    """transformers would fail for a tokenizer that tells the two texts of a pair apart."""
    sizes = {"type_vocab_size": 1, **({"embedding_size": 32} if family == "Electra" else {})}
    model = make(tmp_path / "m", f"{family}ForSequenceClassification", **sizes)
    expected = []
    for text in TEXTS:
        inputs = tokenizer()([QUERY], [text], return_tensors="pt")
        with torch.no_grad():
            logits = model(inputs["input_ids"], attention_mask=inputs["attention_mask"]).logits
        expected.append(float(torch.sigmoid(logits)))
    assert scores(tmp_path / "m") == pytest.approx(expected, abs=1e-5)


def pooled(folder: Path, **pooling: Any) -> Any:
    """Save a BERT with pooling by the mean; return the model."""
    model = make(folder, "BertModel")
    declare_modules(folder, (f"{LIBRARY}Transformer", ""), (f"{LIBRARY}Pooling", "1_Pooling"))
    put(folder / "1_Pooling/config.json", {"pooling_mode": "mean", **pooling})
    return model


def states(model: Any, *texts: str) -> torch.Tensor:
    """The last states (T, W) of a text or pair, by transformers."""
    with torch.no_grad():
        result: torch.Tensor = model(**tokenizer()(*texts, return_tensors="pt")).last_hidden_state[0]
    return result


@pytest.mark.parametrize(
    ("prompts", "query", "document"),
    [
        ({"query": "", "document": ""}, "", ""),
        ({"query": None}, "", ""),
        ({"query": "gene ", "document": ""}, "gene ", ""),
        ({"document": "", "passage": "gene "}, "", ""),
        ({"passage": "gene "}, "", "gene "),
    ],
)
def test_an_empty_prompt_is_a_prompt(prompts: dict[str, Any], query: str, document: str, tmp_path: Path) -> None:
    pooled(tmp_path / "m")
    declared = {"prompts": {**prompts, "web": PROMPT}, "default_prompt_name": "web"}
    put(tmp_path / "m/config_sentence_transformers.json", declared)
    assert open_embedding_model(str(tmp_path / "m"), **CPU).prompts == Prompts(query, document)


def test_a_prompts_tokens_are_left_out_of_the_pooling_if_declared(tmp_path: Path) -> None:
    model = pooled(tmp_path / "m", include_prompt=False)
    put(tmp_path / "m/config_sentence_transformers.json", {"prompts": {"query": PROMPT, "document": ""}})
    opened = open_embedding_model(str(tmp_path / "m"), **CPU)
    count = len(tokenizer()(PROMPT).input_ids) - 1
    vectors = opened.query_vectors(TEXTS)[0]
    for text, vector in zip(TEXTS, vectors, strict=True):
        expected = torch.nn.functional.normalize(states(model, PROMPT + text)[count:].mean(0), dim=0)
        np.testing.assert_allclose(vector, expected, atol=1e-5)
    assert opened.identity["include_prompt"] is False


@pytest.mark.parametrize("name", ["bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet"])
def test_former_names_of_the_settings_file_are_read(name: str, tmp_path: Path) -> None:
    folder = classifier(tmp_path / "m")
    put(folder / f"sentence_{name}_config.json", {"max_seq_length": 24})
    (declared,) = declare_named_models(NamedModels(names=(str(folder),)))
    assert declared.entry["max_length"] == 24


@pytest.mark.parametrize(("titles", "types"), [("pair", (0, 1)), ("separated", (0, 0))])
def test_titles_are_read_as_the_model_was_trained(titles: str, types: tuple[int, int], tmp_path: Path) -> None:
    model = make(tmp_path / "m", "BertModel")
    opened = vectors_of_entry(tmp_path / "m", pooling="cls", titles=titles)
    documents = [("aspirin", "thin blood in patients"), ("heart attack", ""), ("", "gene cell")]
    vectors = opened.vectors([f"{title}\n{text}" if title else text for title, text in documents])[0]
    for (title, text), vector in zip(documents, vectors, strict=True):
        inputs = tokenizer()([title], [text], return_tensors="pt")
        inputs["token_type_ids"] = torch.where(inputs["token_type_ids"] == 1, types[1], types[0])
        with torch.no_grad():
            expected = torch.nn.functional.normalize(model(**inputs).last_hidden_state[0, 0], dim=0)
        np.testing.assert_allclose(vector, expected, atol=1e-5)
    long, text_of = opened.vectors(["aspirin\n" + "gene cell in patients " * 40])
    assert len(long) > 1
    assert not text_of.any()
    assert opened.identity["titles"] == titles


def files(name: str, **values: Any) -> ModelFiles:
    return ModelFiles(name=name, folder=Path("nowhere"), config={}, **values)


SENTENCE = "Represent this sentence for searching relevant passages: "


@pytest.mark.parametrize(
    ("name", "query", "document"),
    [
        *[(f"intfloat/e5-{name}", "query: ", "passage: ") for name in ("small", "large-v2", "base-unsupervised")],
        ("intfloat/multilingual-e5-large", "query: ", "passage: "),
        *[(f"BAAI/bge-{size}-en{version}", SENTENCE, "") for size in ("small", "large") for version in ("", "-v1.5")],
        ("BAAI/bge-m3", "", ""),
        ("thenlper/gte-large", "", ""),
        ("Snowflake/snowflake-arctic-embed-xs", SENTENCE, ""),
        ("Snowflake/snowflake-arctic-embed-m-v1.5", SENTENCE, ""),
        ("Snowflake/snowflake-arctic-embed-l-v2.0", "query: ", ""),
        ("nomic-ai/nomic-embed-text-v1", "search_query: ", "search_document: "),
        ("mixedbread-ai/mxbai-embed-2d-large-v1", SENTENCE, ""),
        ("jinaai/jina-embeddings-v2-small-en", "", ""),
    ],
)
def test_families_are_known_by_prefix(name: str, query: str, document: str, caplog: pytest.LogCaptureFixture) -> None:
    assert read_embedding_settings(files(name), {}).prompts == Prompts(query, document)
    warn_of_missing_prompts(files(name))
    assert not caplog.text


def test_files_and_options_count_more_than_the_hub_name(caplog: pytest.LogCaptureFixture) -> None:
    declared = files("intfloat/e5-base", sentence_transformers={"prompts": {"query": "", "document": "d: "}})
    assert read_embedding_settings(declared, {}).prompts == Prompts("", "d: ")
    assert read_embedding_settings(declared, {"query_prompt": "q: "}).prompts == Prompts("q: ", "d: ")
    warn_of_missing_prompts(declared)
    assert not caplog.text


@pytest.mark.parametrize("name", ["someone/my-e5-medical", "./bge-base", "BAAI/bge-en-icl", "/models/gte_small"])
def test_a_name_that_looks_like_a_family_without_prompts_is_a_warning(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    warn_of_missing_prompts(files(name))
    assert f"{name}: models named" in caplog.text and "query_prompt" in caplog.text


def test_templates_are_known_by_prefix() -> None:
    assert template_of("Qwen/Qwen3-Reranker-14B") == "qwen3-reranker"
    assert template_of("someone/Qwen3-Reranker-0.6B") is None


def test_a_folder_with_an_adapter_alone_says_so(tmp_path: Path) -> None:
    put(tmp_path / "m/adapter_config.json", {"base_model_name_or_path": "org/base"})
    with pytest.raises(ArtefactError, match=r"/m: .*adapter \(adapter_config\.json"):
        declare_named_models(NamedModels(names=(str(tmp_path / "m"),)))


def test_overflow_of_half_precision_is_named(tmp_path: Path) -> None:
    model = make(tmp_path / "m", "BertForSequenceClassification")
    with torch.no_grad():
        model.bert.encoder.layer[0].intermediate.dense.weight.mul_(1e4)
        model.bert.encoder.layer[0].output.dense.weight.mul_(1e4)
    model.save_pretrained(tmp_path / "m")
    declared = declare_named_models(NamedModels(names=(str(tmp_path / "m"),)))
    pairs = [(QUERY, text) for text in TEXTS]
    for precision, is_finite in (("fp32", True), ("fp16", False)):
        loading = Loading(folder=Path(), device="cpu", precision=precision)
        (perspective,) = load_named_models(declared, loading)
        result = perspective.score_pairs(pairs)
        if is_finite:
            assert np.isfinite(checked(perspective, result, pairs).values).all()
            continue
        with pytest.raises(InputError, match=r"65,504; .*precision fp32"):
            checked(perspective, result, pairs)

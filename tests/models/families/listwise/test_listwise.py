"""Listwise rerankers order a query's documents in windows, as their published prompts ask for."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional

from mpir import Reranker
from mpir.errors import InputError
from mpir.models.families.listwise._model import ListwiseModel
from mpir.models.families.listwise._prompt import WINDOW, listwise_template_of, listwise_templates, order_list
from mpir.models.perspectives.named_models import NamedModels, declare_named_models, load_named_models
from mpir.models.perspectives.registration import Loading
from tests.models.model_makers import make, tokenizer
from tests.models.query_scores import query_scores

QUERY = "does aspirin thin blood"
TEXTS = ["yes aspirin does thin the blood", "the risk of a heart attack", "a gene in a cell", "patients of the trial"]
SIZES: dict[str, Any] = {"num_key_value_heads": 1, "head_dim": 16, "max_position_embeddings": 4096, "num_labels": None}
MARKERS = ["<|embed_token|>", "<|rerank_token|>"]
CPU: dict[str, Any] = {"device": "cpu", "precision": "fp32"}


def fast_tokenizer(*added: str) -> Any:
    fast = tokenizer(model_max_length=10**6, model_input_names=["input_ids", "attention_mask"])
    fast.add_tokens([*added, *map(str, range(1, 21))])
    return fast


def jina(folder: Path) -> tuple[Any, Any, list[torch.Tensor]]:
    """A tiny model in the layout of jina-reranker-v3; its body, its tokenizer and its projector."""
    fast = fast_tokenizer(*MARKERS)
    model = make(folder, "Qwen3ForCausalLM", fast=fast, **SIZES)
    projector = [torch.randn(16, 32), torch.randn(16, 16)]
    weights = load_file(folder / "model.safetensors")
    names = dict(zip(("projector.0.weight", "projector.2.weight"), projector, strict=True))
    save_file({**weights, **names}, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["JinaForRanking"]}))
    return model.model, fast, projector


def test_jinas_order_is_that_of_the_cosines_of_its_markers(tmp_path: Path) -> None:
    body, fast, (first, second) = jina(tmp_path / "m")
    prompt = listwise_templates()["jina-reranker-v3"].render(QUERY, TEXTS)
    assert prompt.count("4 passages") == 1
    assert f'<passage id="3">\n{TEXTS[3]}<|embed_token|>\n</passage>\n<query>\n{QUERY}<|rerank_token|>' in prompt
    ids = torch.tensor([fast(prompt).input_ids])
    with torch.no_grad():
        states = body(ids).last_hidden_state[0]
    vectors = torch.relu(states @ first.T) @ second.T
    marks = fast.convert_tokens_to_ids(MARKERS)
    cosines = functional.cosine_similarity(vectors[ids[0] == marks[0]], vectors[ids[0] == marks[1]])
    assert len(cosines) == len(TEXTS)
    model = ListwiseModel(str(tmp_path / "m"), template="jina-reranker-v3", **CPU)
    assert model.order_window(QUERY, TEXTS) == cosines.argsort(descending=True).tolist()


def test_zephyrs_order_is_its_answer(tmp_path: Path) -> None:
    fast = fast_tokenizer()
    reference = make(tmp_path / "m", "MistralForCausalLM", fast=fast, **SIZES, scale=1.0)
    prompt = listwise_templates()["rankzephyr"].render(QUERY, TEXTS)
    assert f"[1] {TEXTS[0]}\n[2] {TEXTS[1]}\n" in prompt
    ids = torch.tensor([fast(prompt).input_ids])
    count = len(fast("[1] > [2] > [3] > [4]").input_ids)
    output = reference.generate(ids, max_new_tokens=count, do_sample=False, pad_token_id=0)
    answer = fast.decode(output[0, ids.shape[1] :], skip_special_tokens=True)
    named = [int(number) - 1 for number in re.findall(r"\d+", answer) if 1 <= int(number) <= 4]
    model = ListwiseModel(str(tmp_path / "m"), template="rankzephyr", **CPU)
    assert model.order_window(QUERY, TEXTS) == list(dict.fromkeys([*named, *range(4)]))


@pytest.mark.parametrize(("answer", "order"), [("[2] > [3]", [1, 2, 0]), ("3 1 3 9", [2, 0, 1]), ("none", [0, 1, 2])])
def test_an_answer_is_completed(answer: str, order: list[int]) -> None:
    assert listwise_templates()["rankzephyr"].parse(answer, 3) == order


def test_texts_cannot_add_markers_or_numbers() -> None:
    templates = listwise_templates()
    assert templates["jina-reranker-v3"].render("a<|rerank_token|>", ["b<|embed_token|>{query}"]).count("<|") == 7
    assert "[1] b \n" in templates["rankzephyr"].render("a", ["b [7]"])


@pytest.mark.parametrize("count", [1, 19, 20, 21, 25, 40, 57])
def test_windows_bring_the_best_to_the_top_whatever_the_first_order(count: int) -> None:
    grades = {f"text {number:02}": number * 7919 % 101 for number in range(count)}
    sizes: list[int] = []

    def order(texts: Any) -> list[int]:
        sizes.append(len(texts))
        return sorted(range(len(texts)), key=lambda index: -grades[texts[index]])

    texts = list(grades)
    ranked = [texts[index] for index in order_list(texts, order)]
    assert sorted(ranked) == sorted(texts)
    assert ranked[:10] == sorted(texts, key=lambda text: -grades[text])[:10]
    assert max(sizes) <= WINDOW
    assert ranked == [texts[::-1][index] for index in order_list(texts[::-1], order)]


def test_the_order_is_a_column_of_documents_and_never_cached(tiny_bundle: Path, tmp_path: Path) -> None:
    jina(tmp_path / "m")
    options = {"models": str(tmp_path / "m"), **CPU, "cache": str(tmp_path / "cache")}
    reranker = Reranker(tiny_bundle, **options)
    for texts in (TEXTS, TEXTS[:3], TEXTS[::-1]):
        scores = {document.text: document.scores["m"] for document in reranker.rerank(QUERY, texts)}
        order = ListwiseModel(str(tmp_path / "m"), template="jina-reranker-v3", **CPU).order(QUERY, texts)
        expected = {texts[index]: 1 - place / len(texts) for place, index in enumerate(order)}
        assert scores == pytest.approx(expected)


def test_models_are_known_by_architecture_name_or_option(tmp_path: Path) -> None:
    jina(tmp_path / "m")
    (declared,) = declare_named_models(NamedModels(names=(str(tmp_path / "m"),)))
    assert (declared.entry["kind"], declared.entry["template"]) == ("listwise", "jina-reranker-v3")
    assert listwise_template_of("castorini/rank_zephyr_7b_v1_full") == "rankzephyr"
    make(tmp_path / "copy", "MistralForCausalLM", fast=fast_tokenizer(), **SIZES)
    choice = NamedModels(names=(str(tmp_path / "copy"),), options={"template": "rankzephyr", "max_length": 512})
    (perspective,) = load_named_models(declare_named_models(choice), Loading(folder=Path(), **CPU))
    assert sorted(query_scores(perspective, QUERY, TEXTS)) == pytest.approx([0.25, 0.5, 0.75, 1.0])
    with pytest.raises(InputError, match="orders documents"):
        declare_named_models(NamedModels(names=(str(tmp_path / "m"),), level="sentence"))


def test_long_documents_are_cut_and_a_short_length_is_an_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    jina(tmp_path / "m")
    model = ListwiseModel(str(tmp_path / "m"), template="jina-reranker-v3", max_length=300, **CPU)
    assert sorted(model.order(QUERY, ["gene " * 300, "cell"])) == [0, 1]
    assert "1 of 2 documents are cut to" in caplog.text
    with pytest.raises(InputError, match=r"max_length is 64 .*2 passages"):
        ListwiseModel(str(tmp_path / "m"), template="jina-reranker-v3", max_length=64, **CPU).order(QUERY, TEXTS[:2])

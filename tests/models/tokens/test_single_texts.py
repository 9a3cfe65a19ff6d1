"""Single texts to tokens: a long text's passages cover it, and each begins with the model's prompt."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

from mpir import NamedModels, Reranker
from mpir.errors import ArtefactError, InputError
from mpir.models.embedding_model import open_embedding_model
from mpir.models.perspectives.named_models import declare_named_models, load_named_models
from mpir.models.perspectives.registration import Loading
from mpir.models.tokens.single_texts import find_frame, passage_windows, read_single
from tests.models.model_makers import LIBRARY, byte_model, colbert, declare_modules, make, put, read_object, tokenizer

PROMPT, LONG = "risk of patients ", "a trial of aspirin in the blood and a gene of heart attack " * 8
CPU: dict[str, Any] = {"device": "cpu", "precision": "fp32"}
METHODS = {"mean": "mean_tokens", "cls": "cls_token", "max": "max_tokens", "lasttoken": "lasttoken"}


@given(st.integers(0, 400), st.integers(0, 30), st.integers(34, 90))
def test_passages_cover_a_text_and_overlap(count: int, prompted: int, room: int) -> None:
    windows = passage_windows(count, min(prompted, count), room)
    size = room - min(prompted, count)
    assert windows[0] == (0, min(room, count))
    assert windows[-1][1] == count
    for (start, end), (begin, last) in pairwise(windows):
        assert start < begin < last
        assert end - begin >= size // 4
        assert last - begin <= size


def test_without_a_prompt_passages_overlap_by_half() -> None:
    assert passage_windows(20, 0, 20) == [(0, 20)]
    assert passage_windows(50, 0, 20) == [(0, 20), (10, 30), (20, 40), (30, 50)]
    assert passage_windows(50, 4, 20) == [(0, 20), (10, 26), (20, 36), (30, 46), (40, 50)]


@pytest.mark.parametrize("truncates", [False, True])
@pytest.mark.parametrize("side", ["right", "left"])
def test_what_is_cut_is_what_the_tokenizer_cuts(side: str, truncates: bool) -> None:
    fast = tokenizer(truncation_side=side)
    texts = ["the heart", LONG, ""]
    read = read_single(fast, 24, texts, truncates=truncates)
    if truncates:
        assert [ids.tolist() for ids in read.ids] == fast(texts, truncation=True, max_length=24).input_ids
    assert {token for ids in read.ids for token in ids.tolist()} >= {*fast(LONG).input_ids} or truncates


def test_each_passage_begins_with_the_prompt() -> None:
    fast = tokenizer()
    prompt, text = (fast(each, add_special_tokens=False).input_ids for each in (PROMPT, LONG))
    read = read_single(fast, 24, [LONG, "heart"], prompt=PROMPT)
    assert read.pair_of.tolist() == [0] * (len(read.ids) - 1) + [1]
    assert all(ids[:4].tolist() == [2, *prompt] and ids[-1] == 3 for ids in read.ids)
    assert max(read.lengths) <= 24
    ends = [ids[4:-1].tolist() for ids in read.ids[:-1]]
    starts = [next(i for i in range(len(text)) if text[i : i + len(end)] == end) for end in ends[:2]]
    assert starts == [0, 11 - 3]
    assert read.ids[-1].tolist() == fast(PROMPT + "heart").input_ids


def test_a_prompt_that_leaves_no_room_is_refused() -> None:
    with pytest.raises(InputError, match=r"leaves 2 tokens .*\b4\b.*max_length"):
        read_single(tokenizer(), 7, [LONG], prompt=PROMPT)
    assert read_single(tokenizer(), 7, ["heart"], prompt=PROMPT).lengths.tolist() == [6]
    with pytest.raises(InputError, match=r"max_length is 5 .*\b6\b"):
        read_single(tokenizer(), 5, ["heart"])


def test_spans_point_into_the_prompted_text() -> None:
    read = read_single(tokenizer(), 24, [LONG], prompt=PROMPT, spans=True)
    prompted = PROMPT + LONG
    for ids, spans in zip(read.ids, read.spans, strict=True):
        words = [prompted[begin:end] for begin, end in spans.tolist()]
        assert words[0] == words[-1] == ""
        assert tokenizer().convert_tokens_to_ids(words[1:-1]) == ids[1:-1].tolist()


def vector_of(model: Any, ids: list[int], method: str, skipped: int) -> torch.Tensor:
    """The unit vector of tokens, pooled without the first ones, by transformers."""
    with torch.no_grad():
        states = model(torch.tensor([ids])).last_hidden_state[0][skipped:]
    pooled = {"mean": states.mean(0), "cls": states[0], "max": states.amax(0), "lasttoken": states[-1]}[method]
    return torch.nn.functional.normalize(pooled, dim=0)


@pytest.mark.parametrize("includes_prompt", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_a_passages_vector_is_that_of_the_prompt_and_its_words(
    method: str, includes_prompt: bool, tmp_path: Path
) -> None:
    model, fast = make(tmp_path / "m", "BertModel"), tokenizer()
    declare_modules(tmp_path / "m", (f"{LIBRARY}Transformer", ""), (f"{LIBRARY}Pooling", "1_Pooling"))
    pooling = {f"pooling_mode_{METHODS[method]}": True, "include_prompt": includes_prompt}
    put(tmp_path / "m/1_Pooling/config.json", pooling)
    put(tmp_path / "m/sentence_bert_config.json", {"max_seq_length": 24})
    put(tmp_path / "m/config_sentence_transformers.json", {"prompts": {"document": PROMPT}})
    vectors, text_of = open_embedding_model(str(tmp_path / "m"), **CPU).vectors([LONG, "heart", ""])
    read = read_single(fast, 24, [LONG, "heart", ""], prompt=PROMPT)
    assert text_of.tolist() == read.pair_of.tolist()
    assert len(vectors) > 5
    for vector, ids in zip(vectors, read.ids, strict=True):
        expected = vector_of(model, ids.tolist(), method, 0 if includes_prompt else 4)
        np.testing.assert_allclose(vector, expected, atol=1e-5)


def test_a_colberts_passages_have_its_prompt(tmp_path: Path) -> None:
    """A text's score is the best of its passages, each read on its own behind the prompt."""
    folder = colbert(tmp_path / "m")
    settings = read_object(folder / "config_sentence_transformers.json")
    put(folder / "config_sentence_transformers.json", {**settings, "prompts": {"document": PROMPT}})
    declared = declare_named_models(NamedModels(names=(str(folder),)))
    (perspective,) = load_named_models(declared, Loading(folder=Path(), **CPU))
    words = LONG.split()
    size = 40 - 3 - 3  # special tokens and a marker, and the prompt
    starts = [0, *(begin - 3 for begin, _ in passage_windows(len(words) + 3, 3, size + 3)[1:])]
    passages = [" ".join(words[start : start + size]) for start in starts]
    score, *each = perspective.score_pairs([("does aspirin", text) for text in [LONG, *passages]])[0].tolist()
    assert len(each) > 1
    assert score == pytest.approx(max(each), abs=1e-4)


def test_a_tokenizer_without_a_fast_version_reads_texts(tmp_path: Path) -> None:
    model, slow = byte_model(tmp_path / "m"), transformers.ByT5Tokenizer()
    assert not slow.is_fast
    texts = ["the heart", "", "naïve β-cells", LONG]
    vectors, text_of = open_embedding_model(str(tmp_path / "m"), **CPU).vectors(texts)
    assert text_of.tolist()[:4] == [0, 1, 2, 3]
    assert len(text_of) > 6
    bytes_of = slow(LONG, add_special_tokens=False).input_ids
    sequences = [*slow(texts[:3]).input_ids, [*bytes_of[:63], 1], [*bytes_of[32:95], 1]]
    for vector, ids in zip(vectors, sequences, strict=False):
        np.testing.assert_allclose(vector, vector_of(model, ids, "mean", 0), atol=1e-5)
    ranking = Reranker(models=NamedModels(encoders=[str(tmp_path / "m")]), **CPU).rerank(texts[0], texts[1:])
    assert all(np.isfinite(document.scores["m"]) for document in ranking)


def test_special_tokens_inside_a_text_are_refused() -> None:
    class Doubling:
        is_fast, name_or_path = False, "doubling"

        def __call__(self, texts: list[str], *, add_special_tokens: bool, **_: Any) -> dict[str, list[list[int]]]:
            return {"input_ids": [[7, 1, 8] if add_special_tokens else [7, 8] for _ in texts]}

    with pytest.raises(ArtefactError, match=r"doubling: .*changes"):
        find_frame(Doubling())

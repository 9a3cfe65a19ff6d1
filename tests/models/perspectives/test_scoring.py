"""Filling the score matrix: each pair once, each encoder once, nothing that is cached, no NaN let through."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mpir.errors import InputError
from mpir.models.encoder import Encoder
from mpir.models.perspectives import Perspective, ScoreCache, score_pairs
from mpir.models.perspectives.cross_encoder import CrossEncoderPerspective


class Overlap(Perspective):
    """The number of words that question and sentence share."""

    name = "overlap"

    def __init__(self) -> None:
        self.seen: list[list[tuple[str, str]]] = []

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        self.seen.append(list(pairs))
        return np.array([len(set(question.split()) & set(text.split())) for question, text in pairs], float)


def test_a_perspective_of_ones_own_sees_each_pair_once() -> None:
    overlap = Overlap()
    pairs = [("a b", "a"), ("c", "c c"), ("a b", "b a"), ("a b", "a")]
    result = score_pairs([overlap], pairs)
    assert result.values[:, 0].tolist() == [1, 1, 2, 1]
    assert overlap.seen == [[("a b", "a"), ("a b", "b a"), ("c", "c c")]]


def test_a_shared_encoder_runs_once(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Encoder(tiny_checkpoint, device="cpu", precision="fp32")
    runs = []
    outputs = encoder.outputs
    monkeypatch.setattr(encoder, "outputs", lambda pairs, **options: runs.append(pairs) or outputs(pairs, **options))
    perspectives = [CrossEncoderPerspective(name, encoder, output=i) for i, name in enumerate("xyz")]
    pairs = [("aspirin", "blood"), ("aspirin", "heart attack"), ("aspirin", "blood")]
    result = score_pairs([*perspectives, Overlap()], pairs)
    assert runs == [pairs[:2]]
    assert result.values.shape == (3, 4)
    np.testing.assert_array_equal(result.values[0], result.values[2])
    single = perspectives[1].score_pairs(pairs[:2])[0]
    np.testing.assert_allclose(result.values[:2, 1], single, atol=1e-6)


def test_an_encoder_of_ones_own_is_ones_own_business() -> None:
    class Embedded(Overlap):
        encoder = "a model that answers no pairs"

    assert score_pairs([Embedded(), Overlap()], [("a b", "a"), ("a b", "b a")]).values.tolist() == [[1, 1], [2, 2]]


def test_encoders_with_the_same_tokenizer_tokenise_once(tiny_checkpoint: Path) -> None:
    encoders = [Encoder(tiny_checkpoint, device="cpu", precision="fp32") for _ in range(2)]
    read: list[str] = []

    class Counting(type(encoders[0].backend.tokenizer)):  # type: ignore[misc]
        def __call__(self, texts: list[str], **options: Any) -> Any:
            read.extend(texts)
            return super().__call__(texts, **options)

    for encoder in encoders:
        assert encoder.backend.reader.pair_tokenizer  # which tries the tokenizer out when it is made
        encoder.backend.tokenizer.__class__ = Counting
    perspectives = [CrossEncoderPerspective(name, encoder) for name, encoder in zip("xy", encoders, strict=True)]
    for _ in range(2):  # a second call tokenises anew: nothing is kept between calls
        result = score_pairs(perspectives, [("aspirin", "blood"), ("aspirin", "heart attack")])
        assert (result.values[:, 0] == result.values[:, 1]).all()
    assert read == ["aspirin", "blood", "heart attack"] * 2


def test_no_pairs() -> None:
    assert score_pairs([Overlap()], []).values.shape == (0, 1)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_scores_that_are_not_finite_are_refused(value: float) -> None:
    class Broken(Overlap):
        name = "broken"

        def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
            return np.array([1.0] * (len(pairs) - 1) + [value])

    with pytest.raises(InputError, match=r"'broken' .*(nan|inf) .*'two'"):
        score_pairs([Broken()], [("q", "one"), ("q", "two")])


def test_the_wrong_number_of_scores_is_refused() -> None:
    class Short(Overlap):
        name = "short"

        def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
            return np.zeros(1)

    with pytest.raises(InputError, match=r"shape \(1,\) for 2 sentences"):
        score_pairs([Short()], [("q", "one"), ("q", "two")])


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (
            (np.ones(1), np.zeros(2, bool)),
            r"'batched' .*shape \(1,\) .*2 sentences",
        ),
        ((np.ones((2, 1)), np.zeros(2, bool)), r"shape \(2, 1\) .*2 sentences"),
        ((np.ones(2), np.zeros(1, bool)), r"'batched' .*flags .*\(1,\) .*2"),
        ((np.ones(2), None), r"flags .*\(\) .*2 sentences"),
        ((np.ones(2), None, None), "'batched' returned .*an array"),
        (None, r"'batched' .*shape \(\) .*2 sentences"),
    ],
)
def test_the_wrong_number_of_scores_for_pairs_is_refused_and_not_spread_over_them(found: Any, message: str) -> None:
    class Batched(Overlap):
        name = "batched"

        def score_pairs(self, pairs: Any, **_: Any) -> Any:
            return found

    with pytest.raises(InputError, match=message):
        score_pairs([Batched()], [("q", "one"), ("q", "two")])


def test_a_tensor_that_still_has_its_gradient_is_refused_in_one_sentence() -> None:
    class Learning(Overlap):
        name = "learning"

        def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> Any:
            return torch.ones(len(pairs), requires_grad=True)

    with pytest.raises(InputError, match=r"'learning' returned tensor.*detach"):
        score_pairs([Learning()], [("q", "one"), ("q", "two")])


def test_an_identity_that_is_no_json_is_named(tmp_path: Path) -> None:
    class Odd(Overlap):
        name = "odd"

        @property
        def identity(self) -> dict[str, Any]:
            return {"words": {"a", "b"}}

    with pytest.raises(InputError, match=r"'odd' .*identity .*words"):
        score_pairs([Odd()], [("q", "one")], cache=ScoreCache(tmp_path))


class Identified(Overlap):
    """The same, with an identity of its own."""

    def __init__(self, name: str = "identified", version: int = 1) -> None:
        super().__init__()
        self.name, self.version = name, version

    @property
    def identity(self) -> dict[str, Any]:
        return {"name": self.name, "version": self.version}


WORDS = st.text(alphabet="ab ", max_size=4)


@settings(max_examples=25)
@given(runs=st.lists(st.lists(st.tuples(WORDS, WORDS), max_size=12), min_size=1, max_size=4))
def test_a_cache_changes_no_score(tmp_path_factory: pytest.TempPathFactory, runs: list[list[tuple[str, str]]]) -> None:
    cache = ScoreCache(tmp_path_factory.mktemp("cache"))
    first, second = Identified("first"), Identified("second", 2)
    for pairs in runs:
        result = score_pairs([first, Overlap(), second], pairs, cache=cache)
        fresh = score_pairs([Overlap()] * 3, pairs)
        assert result.values.tobytes() == fresh.values.tobytes()
        assert result.in_passages.tolist() == fresh.in_passages.tolist()
    scored = [pair for portion in first.seen for pair in portion]
    assert sorted(scored) == sorted({pair for pairs in runs for pair in pairs})


def test_a_perspective_without_an_identity_of_its_own_is_not_cached(tmp_path: Path) -> None:
    cache, bare = ScoreCache(tmp_path), Overlap()
    for _ in range(2):
        score_pairs([bare], [("a", "b")], cache=cache)
    assert bare.seen == [[("a", "b")]] * 2
    assert (cache.hits, cache.misses) == (0, 0)


def test_another_version_of_a_perspective_is_scored_anew(tmp_path: Path) -> None:
    cache, newer = ScoreCache(tmp_path), Identified(version=2)
    score_pairs([Identified(version=1)], [("a", "b")], cache=cache)
    score_pairs([newer], [("a", "b")], cache=cache)
    assert newer.seen == [[("a", "b")]]


def test_an_encoder_sees_only_what_one_of_its_perspectives_lacks(
    tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = Encoder(tiny_checkpoint, device="cpu", precision="fp32")
    runs = []
    outputs = encoder.outputs
    monkeypatch.setattr(encoder, "outputs", lambda pairs, **options: runs.append(pairs) or outputs(pairs, **options))
    first, second, third = (CrossEncoderPerspective(name, encoder, output=i) for i, name in enumerate("xyz"))
    pairs = [("does aspirin", text) for text in ("blood", "heart attack", "thin " * 200, "no")]
    cache = ScoreCache(tmp_path)
    score_pairs([first, second, third], pairs[:1], cache=cache)
    score_pairs([second], pairs[1:2], cache=cache)
    result = score_pairs([first, second, third], [pairs[2], *pairs, pairs[0]], cache=cache)
    assert runs == [pairs[:1], pairs[1:2], [pairs[1], pairs[3], pairs[2]]]
    repeated = score_pairs([third, first, second], [pairs[2], *pairs, pairs[0]], cache=cache)
    assert len(runs) == 3
    assert repeated.values.tobytes() == result.values[:, [2, 0, 1]].tobytes()
    assert repeated.in_passages.tolist() == result.in_passages.tolist() == [True, False, False, True, False, False]
    fresh = score_pairs([first, second, third], [pairs[2], *pairs, pairs[0]])
    np.testing.assert_allclose(result.values, fresh.values, atol=1e-6)


def test_a_job_that_breaks_off_keeps_the_parts_it_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Dies(Identified):
        def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
            if ("q", "5") in pairs:
                raise KeyboardInterrupt
            return super().score_pairs(pairs)

    monkeypatch.setattr(Identified, "pairs_per_save", 2)
    pairs = [("q", str(i)) for i in range(8)]
    with pytest.raises(KeyboardInterrupt):
        score_pairs([Dies()], pairs, cache=ScoreCache(tmp_path))
    remainder = Identified()
    score_pairs([remainder], pairs, cache=ScoreCache(tmp_path))
    assert remainder.seen == [[("q", "4"), ("q", "5")], [("q", "6"), ("q", "7")]]

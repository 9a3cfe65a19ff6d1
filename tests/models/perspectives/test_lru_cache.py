"""The cache of texts' values: within bounds, and no hindrance to pickling its owner."""

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from mpir.lab.annotate import Lexicon
from mpir.lab.annotate import negation_perspective as negation
from mpir.lab.annotate.negation_perspective import NegationPerspective
from mpir.models.perspectives.lru_cache import LruCache
from tests.models.query_scores import query_scores

LEXICON = Lexicon.of({"effusion": ["pleural effusion", "effusion*"]})


class Text(str):
    """A string that can be watched."""


def test_what_is_at_hand_stays_within_bounds() -> None:
    cache = LruCache[int](lambda _, size: size, limit=100)
    cache.store({"a": 40, "b": 40})
    cache.look_up(["a"])
    cache.store({"c": 40})
    assert cache.look_up(["a", "b", "c"]) == {"a": 40, "c": 40}  # b was asked for longest ago
    cache.store({"a": 80, "d": 400})
    assert cache.look_up(["a", "c", "d"]) == {"a": 80}  # d is larger than the cache
    assert cache.bytes == 80
    cache.store({"a": 400})
    assert cache.look_up(["a"]) == {}


def test_texts_that_a_lexicon_has_read_do_not_gather(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(negation, "BYTES", 50_000)
    item = NegationPerspective(LEXICON)
    alive: weakref.WeakSet[Text] = weakref.WeakSet()
    for number in range(20):
        text = Text(f"Report {number}. No effusion." + " Clear." * 1_000)
        alive.add(text)
        assert query_scores(item, "effusion", [text, text]).tolist() == [-1.0, -1.0]
    gc.collect()
    assert 1 <= len(alive) < 50_000 / 7_000


@pytest.mark.parametrize("likeness", [None, 0.6])
@pytest.mark.parametrize("made_again", [copy.copy, copy.deepcopy, lambda item: pickle.loads(pickle.dumps(item))])
def test_a_lexicons_perspective_is_pickled_and_copied(likeness: float | None, made_again: Callable[[Any], Any]) -> None:
    item = NegationPerspective(LEXICON, likeness=likeness)
    texts = ["No effusion.", "Pleural effusions."]
    expected = query_scores(item, "effusion", texts).tolist()
    assert query_scores(made_again(item), "effusion", texts).tolist() == expected == [-1.0, 1.0]

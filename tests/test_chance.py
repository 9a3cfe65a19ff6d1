"""Whether a test passes depends neither on chance nor on the tests before it."""

import random

import pytest
import torch
from hypothesis import settings


@pytest.mark.parametrize("run", ["first", "second"])
def test_each_test_begins_with_the_same_random_numbers(run: str) -> None:
    assert run
    assert random.random() == random.Random(0).random()
    assert torch.rand(1) == torch.rand(1, generator=torch.Generator().manual_seed(0))


def test_no_example_has_a_deadline() -> None:
    assert settings(max_examples=1).deadline is None

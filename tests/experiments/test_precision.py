"""The comparison of precisions: its arithmetic by hand."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from mpir.errors import InputError

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return import_module("experiments.ranking.precision")


def test_taus_by_hand(script: ModuleType) -> None:
    first = [np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0]), np.array([9.0])]
    second = [np.array([1.0, 3.0, 2.0]), np.array([4.0, 5.0]), np.array([9.0])]
    mean, lowest, over_all = script.taus(first, second)
    # One of three pairs is turned round; a lone sentence has no order; of all 15 pairs, one is turned round.
    assert (mean, lowest, over_all) == pytest.approx(((1 / 3 + 1) / 2, 1 / 3, 13 / 15))


def test_rows_have_map_difference_and_largest_gap(script: ModuleType) -> None:
    first = {"blend": [np.array([0.9, 0.5, 0.1]), np.array([0.3, 0.2])]}
    second = {"blend": [np.array([0.4, 0.5, 0.1]), np.array([0.3, 0.1])]}
    labels = [np.array([True, False, False]), np.array([True, False])]
    ((variant, name, value, difference, *_, gap),) = script.compare(("int8", "fp32"), first, second, labels)
    assert (variant, name) == ("int8 fp32", "blend")
    assert value == pytest.approx(0.75)
    assert difference == "-0.2500"
    assert gap == pytest.approx(0.5)


def test_a_column_of_documents_tells_no_sentences_apart(script: ModuleType) -> None:
    assert script.tells_apart([np.array([0.3, 0.3]), np.array([0.1, 0.2])])
    assert not script.tells_apart([np.array([0.3, 0.3]), np.array([0.1])])


def test_bundles_of_other_perspectives_are_refused(script: ModuleType) -> None:
    with pytest.raises(InputError, match=r"int8 fp32 .*sts alone, .*sia"):
        list(script.compare(("int8", "fp32"), {"sia alone": []}, {"sts alone": []}, []))

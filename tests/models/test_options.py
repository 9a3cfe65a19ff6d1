"""Options of a model: accepted where their meaning is plain, refused by their form before torch is imported."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mpir.errors import InputError
from mpir.models.encoder import Encoder
from mpir.models.options import device_names, precision_name
from mpir.validation import optional_whole_number, whole_number

REFUSED = """
import sys
from mpir.errors import InputError
from mpir.models.encoder import Encoder
for options in ({"device": "toaster"}, {"device": "cpu,cpux"}, {"precision": "fp12"}, {"tokens_per_batch": "5"}):
    try:
        Encoder(sys.argv[1], **options)
    except InputError:
        print("refused")
print("torch" in sys.modules)
"""


def test_bad_options_are_refused_before_torch_is_imported(tiny_checkpoint: Path) -> None:
    command = [sys.executable, "-c", REFUSED, str(tiny_checkpoint)]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    assert finished.stdout.split() == ["refused"] * 4 + ["False"]


def test_what_is_plain_is_accepted(tiny_checkpoint: Path) -> None:
    assert device_names(None) == "auto"
    assert device_names(torch.device("cuda", 1)) == "cuda:1"
    assert precision_name(None) == "auto"
    assert whole_number("top_k", np.int64(2)) == 2
    assert optional_whole_number("top_k", None) is None
    for device in (None, torch.device("cpu")):
        assert Encoder(tiny_checkpoint, device=device, precision=None).outputs([("a", "b")])[0].shape == (1, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [True, 0, -3, 2.0, "5", [1], np.float64(2)])
def test_a_number_that_is_none_is_one_sentence(value: Any) -> None:
    with pytest.raises(InputError, match="top_k is "):
        whole_number("top_k", value)


@pytest.mark.parametrize("device", ["", "gpu", "cpu;cpu", "cuda:x", 5, "auto,"])
def test_a_device_of_no_known_kind_is_one_sentence(device: Any) -> None:
    with pytest.raises(InputError, match="cannot be used"):
        device_names(device)

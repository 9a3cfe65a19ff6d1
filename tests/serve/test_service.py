"""A server is ready once its models have scored something, and not where they cannot."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mpir import Perspective, Reranker
from mpir.serve.service import Service
from mpir.serve.settings import Settings


class Loads(Perspective):
    """A perspective whose model can be loaded, or not."""

    name = "loads"

    def __init__(self, works: bool) -> None:
        self.works = works

    def score(self, question: str, sentences: Sequence[str]) -> np.ndarray[Any, Any]:
        if not self.works:
            raise RuntimeError("no weights")
        return np.zeros(len(sentences))


@pytest.mark.parametrize("works", [True, False])
def test_it_is_ready_only_if_the_warm_up_went_well(works: bool, caplog: pytest.LogCaptureFixture) -> None:
    service = Service(Reranker(perspectives=[Loads(works)]), Settings("m"))
    service.start()
    service.stop()
    assert service.ready.is_set() is works
    assert ("the warm-up failed (no weights)" in caplog.text) is not works

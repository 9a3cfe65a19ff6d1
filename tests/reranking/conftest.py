"""A reranker of two letters, which several files of tests share."""

import pytest

from mpir import Reranker, RunOptions
from tests.reranking.letters import LETTERS, Count


@pytest.fixture(scope="module")
def reranker() -> Reranker:
    return Reranker(perspectives=[Count("x"), Count("y")], weights=LETTERS, run=RunOptions(cascade="all"))

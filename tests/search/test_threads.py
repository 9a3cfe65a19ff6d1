"""Eight threads share a first stage: every search, score and document is that of one thread alone."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest

from mpir.core.text.types import Document
from mpir.search import (
    DenseIndex,
    HybridRetriever,
    LuceneIndex,
    MemoryIndex,
    Retriever,
    build_dense,
    build_index,
)
from mpir.search.lucene.java import java_class
from mpir.search.memory import Rm3
from tests.faults.report import count
from tests.threads import THREADS, from_threads

SEARCHES = int(os.environ.get("MPIR_SEARCHES", "160"))
WORDS = ["heart", "attack", "aspirin", "gene", "cell", "blood", "risk", "trial", "protein", "kinase", "tumor"]


def text(seed: int, length: int) -> str:
    generator = np.random.default_rng(seed)
    return " ".join(generator.choice(WORDS, length))


DOCUMENTS = [Document(f"d{number:03}", text(number, 3), text(1000 + number, 20)) for number in range(120)]
QUERIES = [text(2000 + number, 1 + number % 4) for number in range(20)]


class Counts:
    """A text's vector counts its words."""

    identity: ClassVar = {"checkpoint": {"model.safetensors": "one"}, "length": 100, "precision": "float32"}

    def vectors(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        counts = np.array([[text.lower().split().count(word) for word in WORDS] for text in texts], np.float32)
        counts = counts.reshape(-1, len(WORDS))
        return counts / np.maximum(1, np.linalg.norm(counts, axis=1, keepdims=True)), np.arange(len(texts))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("threads")
    build_index(DOCUMENTS, root / "whole")
    build_index(DOCUMENTS[:60], root / "first")
    build_index(DOCUMENTS[60:], root / "second")
    build_dense(DOCUMENTS, root / "dense", Counts())
    return root


def lucene(folder: Path) -> Retriever:
    return LuceneIndex(folder / "whole")


def expanded(folder: Path) -> Retriever:
    return LuceneIndex(folder / "whole", rm3=Rm3(terms=5))


def several(folder: Path) -> Retriever:
    return LuceneIndex([folder / "first", folder / "second"])


def dense(folder: Path) -> Retriever:
    pytest.importorskip("faiss")
    return DenseIndex(folder / "dense", Counts())


def hybrid(folder: Path) -> Retriever:
    return HybridRetriever([lucene(folder), dense(folder)], depth=20)


def results_of(index: Retriever, number: int) -> tuple[Any, ...]:
    """Return everything that an index says about a query."""
    query, other = QUERIES[number % len(QUERIES)], QUERIES[(number + 7) % len(QUERIES)]
    ids = [DOCUMENTS[(number + step) % len(DOCUMENTS)].id for step in range(5)]
    batch = index.search_batch([query, other], 10) if number % 4 == 0 else []
    return index.search(query, 30), index.scores_of(query, ids).tolist(), index.document(ids[0]), batch


@pytest.mark.parametrize("opened", [lucene, pytest.param(expanded, marks=pytest.mark.slow), several, dense, hybrid])
def test_threads_that_share_an_index_get_the_results_of_one_thread(
    folder: Path, opened: Callable[[Path], Retriever]
) -> None:
    index = opened(folder)
    expected = [results_of(index, number) for number in range(len(QUERIES))]
    numbers = [number % len(QUERIES) for number in range(SEARCHES)]
    wrong = 0
    for number, results in zip(numbers, from_threads(lambda number: results_of(index, number), numbers), strict=True):
        wrong += results != expected[number]
    count(f"threads: searches of {type(index).__name__}", len(numbers))
    assert wrong == 0
    index.close()


def test_threads_that_share_an_index_in_memory_get_the_scores_of_one_thread() -> None:
    index = MemoryIndex([document.abstract for document in DOCUMENTS])
    expected = [index.scores(query).tolist() for query in QUERIES]
    numbers = [number % len(QUERIES) for number in range(SEARCHES)]
    results = from_threads(lambda number: index.scores(QUERIES[number]).tolist(), numbers)
    assert [number for number, scores in zip(numbers, results, strict=True) if scores != expected[number]] == []
    count("threads: searches of MemoryIndex", len(numbers))


def test_threads_may_open_search_and_close_indexes_of_their_own(folder: Path) -> None:
    expected = lucene(folder).search(QUERIES[3])

    def search(_: int) -> bool:
        with LuceneIndex(folder / "whole") as index:
            return index.search(QUERIES[3]) == expected

    assert all(from_threads(search, range(THREADS * 4)))
    count("threads: indexes opened", THREADS * 4)


def test_java_forgets_threads_that_ended(folder: Path) -> None:
    index = lucene(folder)
    threads_of_java = java_class("java.lang.management.ManagementFactory").getThreadMXBean()
    before = threads_of_java.getThreadCount()
    for _ in range(20):
        thread = threading.Thread(target=index.search, args=(QUERIES[0],))
        thread.start()
        thread.join()
    assert threads_of_java.getThreadCount() < before + 5


def test_a_program_that_ends_while_threads_search_keeps_its_exit_status(folder: Path) -> None:
    program = (
        "import sys, threading, time; from mpir.search import LuceneIndex\n"
        f"index = LuceneIndex({str(folder / 'whole')!r})\n"
        "def search():\n    while True: index.search('heart attack')\n"
        "for _ in range(4): threading.Thread(target=search, daemon=True).start()\n"
        "time.sleep(0.5); sys.exit(3)"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert (process.returncode, process.stderr) == (3, "")

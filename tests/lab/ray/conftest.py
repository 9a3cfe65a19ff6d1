"""A Ray cluster on this machine, and inputs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.lab.ray.ray_commands import ROOT, SMALL, SUBJECTS, documents, write_lines


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Here and in every actor: in batches as small as these, two threads round differently from one."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mpir.models.perspectives.pair_scoring.PAIRS_AT_ONCE", SMALL)
    monkeypatch.setattr("mpir.search.dense.shards.DOCUMENTS_PER_SHARD", SMALL)


@pytest.fixture(scope="package")
def local() -> Iterator[str]:
    """The address of a cluster of this machine, whose workers find these tests."""
    ray = pytest.importorskip("ray", reason="needs the extra ray")
    from mpir.lab.ray.ray_cluster import cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("OMP_NUM_THREADS", "1")
        with cluster("local"):
            yield ray.get_runtime_context().gcs_address


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    """Questions with candidates that need no index."""
    lines = [
        {"query": f"Does aspirin risk {subject} patients?", "documents": documents(subject, number)}
        for number, subject in enumerate(SUBJECTS)
    ]
    return write_lines(tmp_path / "graded.jsonl", lines)

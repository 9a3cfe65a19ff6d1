"""``mpir score --ray`` with a real Ray on this machine: what one process writes, whatever is killed on the way."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from mpir.cli import main
from mpir.errors import DeviceError, InputError, MpirError
from mpir.rank.candidates import Candidates
from mpir.rank.reranker import Reranker
from mpir.text import Document

ray = pytest.importorskip("ray", reason="needs the extra ray")
from mpir.batch.ray_cluster import cluster  # noqa: E402
from mpir.batch.ray_pool import ATTEMPTS, RayPool  # noqa: E402

ROOT = Path(__file__).parents[2]
SUBJECTS = ["heart", "blood", "gene", "cell", "risk", "trial", "placebo", "attack"]
SMALL = 4
"""Sentences of a batch: about a question."""


def documents(subject: str, number: int) -> list[dict[str, Any]]:
    text = f"The {subject} is in a trial of aspirin. {'And placebo does thin the blood. ' * (number % 3)}No patients."
    return [
        {"id": f"{subject}-{i}", "title": f"A {subject}", "abstract": text * (i + 1), "grade": int(i == 0)}
        for i in range(2)
    ]


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    """Questions with candidates that need no index."""
    lines = [
        {"query": f"Does aspirin risk {subject} patients?", "documents": documents(subject, number)}
        for number, subject in enumerate(SUBJECTS)
    ]
    path = tmp_path / "graded.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


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
    monkeypatch.setattr("mpir.perspectives.scoring.PAIRS_AT_ONCE", SMALL)


def words(graded: Path, bundle: Path, output: Path, *more: object) -> list[str]:
    how = ["--bundle", bundle, "--device", "cpu", "--precision", "fp32", "--no-cache", "--output", output]
    return [str(word) for word in ("score", "--graded", graded, *how, *more)]


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


PROGRAM = f"""
import sys
import mpir.perspectives.scoring
from mpir.cli import main
mpir.perspectives.scoring.PAIRS_AT_ONCE = {SMALL}
sys.exit(main())
"""


def started(*arguments: str, program: str = "") -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", program + PROGRAM, *arguments], env=environment, stderr=-1, text=True
    )


@pytest.mark.usefixtures("small_batches")
def test_a_killed_driver_goes_on_where_it_was(graded: Path, tiny_bundle: Path, tmp_path: Path) -> None:
    assert main(words(graded, tiny_bundle, tmp_path / "plain")) == 0
    command = words(graded, tiny_bundle, tmp_path / "ray", "--ray", "local", "--workers", 2)
    journal = tmp_path / "ray.scores.jsonl"
    process = started(*command)
    while process.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") < 3):
        time.sleep(0.001)
    process.kill()
    process.communicate()
    lines = journal.read_bytes().splitlines(keepends=True)
    assert 3 <= len(lines) <= len(SUBJECTS)  # the header and some questions, not all
    (tmp_path / "before").write_bytes(b"".join(lines))
    again = started(*command)
    while again.poll() is None and not (tmp_path / "ray").exists():
        if journal.exists():
            (tmp_path / "after").write_bytes(journal.read_bytes())
        time.sleep(0.001)
    assert again.wait() == 0, again.communicate()
    assert content(tmp_path / "ray") == content(tmp_path / "plain")
    written = [json.loads(line).get("id") for line in (tmp_path / "after").read_bytes().splitlines()]
    assert len(written) == len(set(written))  # none twice
    assert (tmp_path / "after").read_bytes().startswith(b"".join(lines))


@pytest.fixture(scope="module")
def local() -> Iterator[str]:
    """The address of a cluster of this machine, whose workers find these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("OMP_NUM_THREADS", "1")
        with cluster("local"):
            yield ray.get_runtime_context().gcs_address


@pytest.mark.usefixtures("small_batches")
def test_two_workers_write_what_one_process_writes(graded: Path, tiny_bundle: Path, tmp_path: Path, local: str) -> None:
    assert main(words(graded, tiny_bundle, tmp_path / "plain")) == 0
    process = started(*words(graded, tiny_bundle, tmp_path / "ray", "--ray", local, "--workers", 2))
    _, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert content(tmp_path / "ray") == content(tmp_path / "plain")
    assert not list(tmp_path.glob("*.scores.jsonl"))


class Slow(Reranker):
    """A reranker that gives time to kill the actor that has it; a file of the folder is named for each actor."""

    folder: Path

    def score_prepared(self, candidates: Any, *, progress: bool = False) -> list[Candidates]:
        (self.folder / str(os.getpid())).touch()
        if (self.folder / "poison").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.2)
        return super().score_prepared(candidates, progress=progress)


def load(bundle: Path, folder: Path | None = None, **options: Any) -> Reranker:
    reranker = Slow(bundle, device="cpu", precision="fp32", pairs_at_once=SMALL, **options)
    reranker.folder = folder or bundle
    return reranker


def inputs() -> tuple[list[str], list[list[Document]]]:
    lists = [
        [Document(entry["id"], entry["title"], entry["abstract"]) for entry in documents(subject, number)]
        for number, subject in enumerate(SUBJECTS)
    ]
    return [f"does aspirin risk {subject}" for subject in SUBJECTS], lists


@pytest.mark.usefixtures("local")
def test_an_actor_that_is_killed_loses_nothing(
    tiny_bundle: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    reranker = Reranker(tiny_bundle, device="cpu", precision="fp32", pairs_at_once=SMALL)
    pool = RayPool(ray, reranker, partial(load, tiny_bundle, tmp_path), workers=2)
    scored = []
    for candidates in pool.stream_scored(*inputs()):
        scored.append(candidates.to_record())
        if len(scored) == 2:
            os.kill(int(next(tmp_path.iterdir()).name), signal.SIGKILL)
    assert scored == [candidates.to_record() for candidates in reranker.score(*inputs())]
    assert "a worker ended; another one takes its questions" in caplog.text


@pytest.mark.usefixtures("local")
def test_questions_that_end_every_worker_stop_the_job(tiny_bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "poison").touch()
    pool = RayPool(ray, load(tiny_bundle), partial(load, tiny_bundle, tmp_path), workers=1)
    with pytest.raises(DeviceError, match="3 workers ended while they had the same questions"):
        list(pool.stream_scored(*inputs()))
    assert len(list(tmp_path.iterdir())) == 1 + ATTEMPTS


@pytest.mark.usefixtures("local")
def test_what_a_worker_raises_stops_the_job_with_its_sentence(tiny_bundle: Path) -> None:
    for wrong, message in (
        (partial(load, tiny_bundle.with_name("gone")), "gone' not found; expected"),
        (partial(load, tiny_bundle, cascade=0.5), r"other scores than this machine \(they differ in .*cascade\)"),
    ):
        pool = RayPool(ray, load(tiny_bundle), wrong, workers=1)
        with pytest.raises(MpirError, match=message) as raised:
            list(pool.stream_scored(*inputs()))
        assert "\n" not in str(raised.value)


@pytest.mark.usefixtures("local")
def test_a_cluster_that_is_too_small(tiny_bundle: Path) -> None:
    for workers, gpus, message in ((999, 0, "--workers is 999"), (1, 2, "and 2 GPUs each")):
        with pytest.raises(InputError, match=message):
            RayPool(ray, load(tiny_bundle), partial(load, tiny_bundle), workers=workers, gpus_per_worker=gpus)


def test_a_port_that_is_no_clusters(graded: Path, tiny_bundle: Path) -> None:
    program = "import mpir.batch.ray_cluster as p; p.ANSWERS = 3.0"
    with socket.create_server(("127.0.0.1", 0)) as server:  # it takes connections and never says a word
        address = f"127.0.0.1:{server.getsockname()[1]}"
        words_of = words(graded, tiny_bundle, graded.with_name("never"), "--ray", address)
        process = started(*words_of, program=program)
        _, errors = process.communicate(timeout=100)
    assert process.returncode == 2
    assert f"--ray {address}: no cluster can be used (no answer in 3 seconds); start one" in errors


def test_clusters_that_cannot_be_used(
    graded: Path, tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{probe.getsockname()[1]}"
    for options, message in (
        (["--ray", closed], f"--ray {closed}: does not answer \\(Connection refused\\); check that"),
        (["--ray", "head"], "--ray is 'head'; expected local, auto, or HOST:PORT"),
        (["--ray", "ray://head:10001"], "expected local, auto, or HOST:PORT"),
        (["--workers", 2], "--workers is for --ray"),
        (["--gpus-per-worker", 0], "--gpus-per-worker is for --ray"),
        (["--ray", "local", "--workers", 0], "--workers is 0; expected a whole number of at least 1"),
        (["--ray", "local", "--gpus-per-worker", 1.5], "--gpus-per-worker is 1.5; expected"),
        (["--ray", "local", "--llm", "http://localhost:9"], "leave --ray out"),
    ):
        assert main(words(graded, tiny_bundle, tmp_path / "never", *options)) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert re.search(message, line), line
    assert [path.name for path in tmp_path.iterdir()] == ["graded.jsonl"]

"""``mpir score --ray`` with a real Ray on this machine: what one process writes, whatever is killed on the way."""

import json
import os
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from mpir import RunOptions
from mpir.app.cli import main, make_parser
from mpir.app.cli.option import arguments_of
from mpir.app.cli.score import SENTENCES_AT_ONCE, ScoreArguments, open_scorer
from mpir.core.candidates import Candidates
from mpir.core.text import Document
from mpir.errors import DeviceError, InputError, MpirError
from mpir.reranking.reranker import Reranker
from tests.lab.ray.ray_commands import ROOT, SMALL, SUBJECTS, content, documents, ended, started, write_lines

ray = pytest.importorskip("ray", reason="needs the extra ray")
from mpir.lab.ray.actor_jobs import PooledScorer, scoring_job  # noqa: E402
from mpir.lab.ray.actor_pool import ATTEMPTS, ActorPool  # noqa: E402
from mpir.lab.ray.ray_cluster import cluster  # noqa: E402

pytestmark = pytest.mark.slow


def words(graded: Path, bundle: Path, output: Path, *more: object) -> list[str]:
    how = [
        "--bundle",
        bundle,
        "--device",
        "cpu",
        "--precision",
        "fp32",
        "--set",
        "cache.folder=none",
        "--output",
        output,
    ]
    return [str(word) for word in ("score", "--graded", graded, *how, *more)]


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


@pytest.mark.usefixtures("small_batches")
def test_two_workers_write_what_one_process_writes(graded: Path, tiny_bundle: Path, tmp_path: Path, local: str) -> None:
    assert main(words(graded, tiny_bundle, tmp_path / "plain")) == 0
    assert ended(*words(graded, tiny_bundle, tmp_path / "ray", "--ray", local, "--workers", 2)) == (0, "")
    assert content(tmp_path / "ray") == content(tmp_path / "plain")
    assert not list(tmp_path.glob("*.scores.jsonl"))


def test_notes_of_workers_are_printed_once_for_each_batch(
    graded: Path, tiny_bundle: Path, tmp_path: Path, local: str
) -> None:
    long = "the heart is in a trial of aspirin " * 100
    queries = [json.loads(line) for line in graded.read_text().splitlines()]
    queries = [{**query, "documents": [{"id": "d", "abstract": long, "grade": 1}]} for query in queries]
    write_lines(graded, [{**query, "documents": [*query["documents"], *documents("gene", 2)]} for query in queries])
    lexicon = ["--lexicon", ROOT / "mpir/sample/radiology/chest-xray.tsv"]  # whose note is printed at loading
    status, plain = ended(*words(graded, tiny_bundle, tmp_path / "plain", *lexicon))
    assert (status, plain.count("longer than a model reads")) == (0, len(SUBJECTS)), plain
    how = ["--ray", local, "--workers", 2]
    status, errors = ended(*words(graded, tiny_bundle, tmp_path / "ray", *lexicon, *how))
    assert status == 0, errors
    assert sorted(errors.splitlines()) == sorted(plain.splitlines())
    assert content(tmp_path / "ray") == content(tmp_path / "plain")


def test_a_task_of_scoring_has_few_sentences(graded: Path, tiny_bundle: Path, tmp_path: Path) -> None:
    queries = [json.loads(line) for line in graded.read_text().splitlines()] * 200
    write_lines(graded, queries)
    parsed = make_parser().parse_args(words(graded, tiny_bundle, tmp_path / "never"))
    reranker = open_scorer(arguments_of(ScoreArguments, parsed))
    lists = [[Document(d["id"], d["title"], d["abstract"]) for d in query["documents"]] for query in queries]
    batches = reranker.prepared_batches([query["query"] for query in queries], lists)
    counts = [[len(candidates.sentences) for candidates in batch] for batch in batches]
    assert len(counts) > 3
    assert all(sum(batch[:-1]) < SENTENCES_AT_ONCE <= 2048 for batch in counts)


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
    reranker = Slow(bundle, device="cpu", precision="fp32", run=RunOptions(pairs_at_once=SMALL, **options))
    reranker.folder = folder or bundle
    return reranker


def pooled(reranker: Reranker, load: Callable[[], Reranker], **options: Any) -> PooledScorer:
    return PooledScorer(reranker, ActorPool(ray, scoring_job(reranker, load), **options))


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
    reranker = Reranker(tiny_bundle, device="cpu", precision="fp32", run=RunOptions(pairs_at_once=SMALL))
    pool = pooled(reranker, partial(load, tiny_bundle, tmp_path), workers=2)
    queries, lists = inputs()

    def killing() -> Iterator[Sequence[Document]]:
        """Kill a worker halfway, so that it has a task or would get the next one."""
        for number, section in enumerate(lists):
            if number == len(lists) // 2:
                while not (workers := list(tmp_path.iterdir())):
                    time.sleep(0.01)
                os.kill(int(workers[0].name), signal.SIGKILL)
            yield section

    scored = [candidates.to_record() for candidates in pool.stream_scored(queries, killing())]
    assert scored == [candidates.to_record() for candidates in reranker.score(*inputs())]
    assert "a worker ended" in caplog.text


@pytest.mark.usefixtures("local")
def test_questions_that_end_every_worker_stop_the_job(tiny_bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "poison").touch()
    pool = pooled(load(tiny_bundle), partial(load, tiny_bundle, tmp_path), workers=1)
    with pytest.raises(DeviceError, match="3 workers ended"):
        list(pool.stream_scored(*inputs()))
    assert len(list(tmp_path.iterdir())) == 1 + ATTEMPTS


@pytest.mark.usefixtures("local")
def test_what_a_worker_raises_stops_the_job_with_its_sentence(tiny_bundle: Path) -> None:
    for wrong, message in (
        (partial(load, tiny_bundle.with_name("gone")), "gone' not found; expected"),
        (partial(load, tiny_bundle, cascade="first"), "differ in .*cascade"),
    ):
        pool = pooled(load(tiny_bundle), wrong, workers=1)
        with pytest.raises(MpirError, match=message) as raised:
            list(pool.stream_scored(*inputs()))
        assert "\n" not in str(raised.value)


@pytest.mark.usefixtures("local")
def test_a_cluster_that_is_too_small(tiny_bundle: Path) -> None:
    for workers, gpus, message in ((999, 0, "workers is 999"), (1, 2, "and 2 GPUs each")):
        with pytest.raises(InputError, match=message):
            pooled(load(tiny_bundle), partial(load, tiny_bundle), workers=workers, gpus_per_worker=gpus)


def test_a_port_that_is_no_clusters(graded: Path, tiny_bundle: Path) -> None:
    program = "import mpir.lab.ray.ray_cluster as p; p.LISTENS = 3.0"
    with socket.create_server(("127.0.0.1", 0)) as server:  # it takes connections and never says a word
        address = f"127.0.0.1:{server.getsockname()[1]}"
        words_of = words(graded, tiny_bundle, graded.with_name("never"), "--ray", address)
        process = started(*words_of, program=program)
        _, errors = process.communicate(timeout=100)
    assert process.returncode == 2
    assert f"Ray at {address}: does not answer (timed out)" in errors


def test_another_server_is_no_cluster() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def refuse() -> None:
            with server.accept()[0] as connection:
                connection.recv(100)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        Thread(target=refuse).start()
        port = server.getsockname()[1]
        with pytest.raises(DeviceError, match=f"127.0.0.1:{port}: .*another server"), cluster(f"127.0.0.1:{port}"):
            pass


def test_clusters_that_cannot_be_used(
    graded: Path, tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{probe.getsockname()[1]}"
    for options, message in (
        (["--ray", closed], f"Ray at {closed}: does not answer \\(Connection refused\\); check that"),
        (["--ray", "head"], "the address of Ray is 'head'; expected local, auto, or HOST:PORT"),
        (["--ray", "ray://head:10001"], "expected local, auto, or HOST:PORT"),
        (["--set", "ray.gpus_per_worker=0"], "ray.gpus_per_worker: needs --ray"),
        (["--ray", "local", "--set", "ray.gpus_per_worker=1.5"], "ray.gpus_per_worker is 1.5; expected"),
        (["--ray", "local", "--llm", "http://localhost:9"], "leave --ray out"),
    ):
        assert main(words(graded, tiny_bundle, tmp_path / "never", *options)) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert re.search(message, line), line
    assert [path.name for path in tmp_path.iterdir()] == ["graded.jsonl"]

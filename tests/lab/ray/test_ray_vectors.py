"""``mpir index --dense --ray``: the vectors of a run without Ray, also after a kill."""

import time
from pathlib import Path

import pytest

from mpir.app.cli import main
from tests.lab.ray.ray_commands import SUBJECTS, content, documents, ended, started, write_lines

pytestmark = pytest.mark.slow

pytest.importorskip("ray", reason="needs the extra ray")
pytest.importorskip("faiss", reason="needs the extra dense")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    records = [document for number, subject in enumerate(SUBJECTS) for document in documents(subject, number)]
    return write_lines(tmp_path / "corpus.jsonl", [{**record, "id": f"d{i}"} for i, record in enumerate(records)])


def words(corpus: Path, encoder: Path, index: Path, *more: object) -> list[str]:
    how = ["--dense", "--encoder", encoder, "--set", "index.sentence_vectors=true", "--index", index]
    return [str(word) for word in ("index", corpus, *how, *more)]


@pytest.mark.usefixtures("small_batches")
def test_two_workers_make_the_vectors_of_one_process(
    corpus: Path, tiny_encoder: Path, tmp_path: Path, local: str
) -> None:
    pytest.importorskip("pyserini", reason="needs the extra lucene")
    assert main(words(corpus, tiny_encoder, tmp_path / "plain")) == 0
    status, errors = ended(*words(corpus, tiny_encoder, tmp_path / "ray", "--ray", local, "--workers", 2))
    assert status == 0, errors
    assert content(tmp_path / "ray/dense") == content(tmp_path / "plain/dense")


@pytest.mark.usefixtures("small_batches")
def test_a_killed_driver_keeps_finished_vectors(corpus: Path, tiny_encoder: Path, tmp_path: Path, local: str) -> None:
    shard = ["--shard", "1/2"]
    assert main(words(corpus, tiny_encoder, tmp_path / "plain", *shard)) == 0
    command = words(corpus, tiny_encoder, tmp_path / "ray", *shard, "--ray", local)
    slow = "import time, mpir.lab.ray.actor_jobs as jobs; runs = jobs.PooledBatches.run\n"
    slow += "jobs.PooledBatches.run = lambda *given: (time.sleep(0.3), runs(*given))[1]"
    process = started(*command, program=slow)
    while process.poll() is None and not list(tmp_path.glob("ray.part/*/done")):
        time.sleep(0.001)
    process.kill()
    process.communicate()
    finished = {path: path.stat().st_mtime_ns for path in tmp_path.glob("ray.part/*/done")}
    assert finished
    assert not (tmp_path / "ray").exists()
    assert ended(*command)[0] == 0
    assert content(tmp_path / "ray") == content(tmp_path / "plain")
    for path, modified in finished.items():
        assert (tmp_path / "ray" / path.parent.name / path.name).stat().st_mtime_ns == modified  # not made twice


def test_options_and_workers_that_do_not_fit(
    corpus: Path, tiny_encoder: Path, tmp_path: Path, local: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["index", str(corpus), "--index", str(tmp_path / "never"), "--ray", "local"]) == 2
    assert "--ray says how vectors are made" in capsys.readouterr().err
    status, errors = ended(*words(corpus, tiny_encoder, tmp_path / "never", "--ray", local, "--workers", 99))
    assert status == 2
    assert "workers is 99" in errors.splitlines()[-1]
    assert not (tmp_path / "never").exists()

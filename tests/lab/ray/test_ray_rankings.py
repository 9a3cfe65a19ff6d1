"""``mpir rerank --output --ray``: the lines of a run without Ray, also after the driver was killed."""

import json
import time
from pathlib import Path

import pytest

from mpir.app.cli import main
from tests.lab.ray.ray_commands import SUBJECTS, documents, ended, started, write_lines

pytestmark = pytest.mark.slow

pytest.importorskip("ray", reason="needs the extra ray")


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    lines = [
        {"id": f"q{number}", "query": f"Does aspirin risk {subject}?", "documents": documents(subject, number)}
        for number, subject in enumerate(SUBJECTS)
    ]
    return write_lines(tmp_path / "queries.jsonl", lines)


def words(queries: Path, bundle: Path, output: Path, *more: object) -> list[str]:
    how = ["--bundle", bundle, "--device", "cpu", "--precision", "fp32", "--format", "jsonl", "--output", output]
    return [str(word) for word in ("rerank", "--queries", queries, *how, *more)]


def test_two_workers_write_what_one_process_writes(
    queries: Path, tiny_bundle: Path, tmp_path: Path, local: str
) -> None:
    for shard in ([], ["--shard", "2/3"]):
        plain, output = (tmp_path / f"{name}{len(shard)}" for name in ("plain", "ray"))
        assert main(words(queries, tiny_bundle, plain, *shard)) == 0
        assert ended(*words(queries, tiny_bundle, output, *shard, "--ray", local, "--workers", 2)) == (0, "")
        if shard:
            assert (output / "lines.jsonl").read_bytes() == (plain / "lines.jsonl").read_bytes()
        else:
            assert output.read_bytes() == plain.read_bytes()
    assert not list(tmp_path.glob("*.rankings.jsonl"))


def test_a_relative_bundle_is_that_of_the_drivers_folder(
    queries: Path, tiny_bundle: Path, tmp_path: Path, local: str
) -> None:
    assert main(words(queries, tiny_bundle, tmp_path / "plain")) == 0
    (tmp_path / "nearby").symlink_to(tiny_bundle)
    relative = [
        word.replace(str(tmp_path / "nearby"), "./nearby")
        for word in words(queries, tmp_path / "nearby", tmp_path / "ray", "--ray", local)
    ]
    assert ended(*relative, cwd=tmp_path) == (0, "")
    assert (tmp_path / "ray").read_bytes() == (tmp_path / "plain").read_bytes()


def test_a_killed_driver_ranks_no_query_twice(queries: Path, tiny_bundle: Path, tmp_path: Path, local: str) -> None:
    many = tmp_path / "many.jsonl"
    many.write_text(queries.read_text() * 40)
    assert main(words(many, tiny_bundle, tmp_path / "plain")) == 0
    command, journal = words(many, tiny_bundle, tmp_path / "ray", "--ray", local), tmp_path / "ray.rankings.jsonl"
    process = started(*command)
    while process.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") < 9):
        time.sleep(0.001)
    process.kill()
    process.communicate()
    lines = journal.read_bytes().splitlines(keepends=True)
    assert 9 <= len(lines) <= 320  # the header and some queries, not all
    again, after = started(*command), b""
    while again.poll() is None and not (tmp_path / "ray").exists():
        after = journal.read_bytes() if journal.exists() else after
        time.sleep(0.001)
    assert again.wait() == 0, again.communicate()
    assert (tmp_path / "ray").read_bytes() == (tmp_path / "plain").read_bytes()
    assert after.startswith(b"".join(line for line in lines if line.endswith(b"\n")))
    numbers = [json.loads(line).get("id") for line in after.splitlines(keepends=True) if line.endswith(b"\n")]
    assert len(numbers) == len(set(numbers)) > len(lines)


def test_bad_input_stops_with_its_place(queries: Path, tiny_bundle: Path, tmp_path: Path, local: str) -> None:
    good = queries.read_text()
    queries.write_text(good + '{"query": 7}\n')
    status, errors = ended(*words(queries, tiny_bundle, tmp_path / "ray", "--ray", local))
    assert status == 2
    (line,) = errors.splitlines()
    assert f'{queries}:{len(SUBJECTS) + 1}: expected "query"' in line
    assert not (tmp_path / "ray").exists()


def test_options_that_do_not_go_together(
    queries: Path, tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for given, message in (
        (
            ["--queries", queries, "--format", "jsonl", "--ray", "local"],
            "--ray shares the queries of a file; name it with",
        ),
    ):
        assert main(["rerank", "--bundle", str(tiny_bundle), *map(str, given)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert message in line

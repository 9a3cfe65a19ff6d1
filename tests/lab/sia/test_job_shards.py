"""SIA data in shards, at the command line: joined, they are byte for byte what one run makes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import mpir
from mpir.app.cli import main
from mpir.files.job_shards import Shard, write_finished

from .conftest import ITEMS, qasc_record, write_lines

SAMPLE = Path(mpir.__file__).parent / "sample"
HORMONES = ["insulin", "glucagon", "leptin", "thyroxine", "ghrelin", "cortisol"]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mpir.lab.sia.steps.CHUNK", 2)
    monkeypatch.setattr("mpir.lab.sia.item_steps.QUESTIONS_PER_CHUNK", 3)


@pytest.fixture
def command(tmp_path: Path, tiny_bundle: Path, vectors: Path) -> list[str]:
    """A generation of all methods but that of language models."""
    items = [
        replace(ITEMS[0], id=name, question=f"What does {name} lower?", full=f"The {name} lowers sugar number {i}.")
        for i, name in enumerate(HORMONES)
    ]
    qasc = write_lines(tmp_path / "qasc.jsonl", [qasc_record(item) for item in (*items, *ITEMS[1:])])
    words = ["data", "sia", "--qasc", qasc, "--vectors", vectors, "--bundle", tiny_bundle, "--set", "sia.threshold=0"]
    bioasq = ["--bioasq", SAMPLE / "questions.json", "--corpus", SAMPLE / "documents.jsonl", "--limit", "8"]
    return [str(word) for word in (*words, *bioasq, "--device", "cpu", "--set", "sia.probability=1")]


def content(folder: Path) -> dict[str, bytes]:
    """The files of a generation, but for Lucene's, whose segments have random names."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    indexes = (".steps/questions/", ".steps/corpus/")
    return {name: path.read_bytes() for name, path in sorted(paths.items()) if not name.startswith(indexes)}


def error(capsys: pytest.CaptureFixture[str]) -> str:
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pytest.mark.slow
def test_parts_are_together_what_one_run_makes(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    count = 3
    assert main([*command, "--output", str(tmp_path / "whole")]) == 0
    shards = [tmp_path / f"shard{number}" for number in range(1, count + 1)]
    for number, shard in enumerate(shards, 1):
        assert main([*command, "--output", str(shard), "--shard", f"{number}/{count}"]) == 0
        assert not (shard / "train.jsonl").exists()
    chunks = [len(list(shard.glob(".steps/partial/*.jsonl"))) for shard in shards]
    assert sum(chunks) == len(list((tmp_path / "whole").glob(".steps/partial/*.jsonl"))) > max(chunks)
    before = [content(shard) for shard in shards]
    capsys.readouterr()
    assert main(["merge", *map(str, shards[::-1]), "--output", str(tmp_path / "joined")]) == 0
    report = json.loads((tmp_path / "joined/report.json").read_text())
    rows = sum(report["splits"].values())
    assert capsys.readouterr().out == f"{tmp_path / 'joined'}: {rows:,} rows of {count} shards.\n"
    assert content(tmp_path / "joined") == content(tmp_path / "whole")
    assert [content(shard) for shard in shards] == before


def test_parts_that_do_not_belong_together(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shards = [tmp_path / "1", tmp_path / "2"]
    for number, shard in enumerate(shards, 1):
        assert main([*command, "--output", str(shard), "--shard", f"{number}/2", "--quiet"]) == 0
    other = [*command, "--seed", "2", "--output", str(tmp_path / "other"), "--shard", "2/2", "--quiet"]
    assert main(other) == 0
    qasc = tmp_path / "qasc.jsonl"
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/thesis.tex").write_text("years of work")
    capsys.readouterr()

    def merge(*given: Path, output: str = "never") -> str:
        assert main(["merge", *map(str, given), "--output", str(tmp_path / output)]) == 2
        assert not (tmp_path / "never/train.jsonl").exists()
        return error(capsys)

    assert "shards are missing: 2/2; make them" in merge(shards[0])
    assert "other: is from another job" in (message := merge(shards[0], tmp_path / "other"))
    assert "settings" in message
    assert "notes: is not a folder of generated SIA data, so it is not replaced" in merge(*shards, output="notes")
    before = qasc.read_text()
    qasc.write_text(before.replace("sugar number 1", "sugar number one"))
    assert "items: the shards were made from other inputs" in merge(*shards)
    assert main([*command, "--output", str(shards[1]), "--shard", "2/2", "--quiet", "--resume"]) == 0
    capsys.readouterr()
    assert "(they differ in files, step " in merge(*shards)
    chunk = shards[0] / ".steps/partial/000000.jsonl"
    chunk.write_text(chunk.read_text().replace("a", "e", 1))
    qasc.write_text(before)
    assert main([*command, "--output", str(shards[1]), "--shard", "2/2", "--quiet", "--resume"]) == 0
    capsys.readouterr()
    assert "1: is damaged (.steps/partial/000000.jsonl has changed" in (message := merge(*shards))
    assert message.endswith("make shard 1/2 again.")


def test_an_unfinished_part_is_none(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    how = ["--output", str(tmp_path / "1"), "--shard", "1/2", "--quiet"]
    assert main([*command, *how]) == 0
    assert main([*command, *how, "--bundle", "no-bundle"]) == 2  # begins anew, and comes to nothing
    capsys.readouterr()
    assert main(["merge", str(tmp_path / "1"), "--output", str(tmp_path / "x")]) == 2
    assert "1: has no shard.json" in error(capsys)


def test_a_part_of_a_kind_that_is_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_finished(tmp_path, Shard(1, 1), {"kind": "poems"})
    assert main(["merge", str(tmp_path), "--output", str(tmp_path.parent / "x")]) == 2
    assert f"{tmp_path}: unknown kind" in error(capsys)


def test_language_models_have_no_parts(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    writer = ["--writer", "some/model", "--sources", str(SAMPLE / "documents.jsonl")]
    assert main([*command, *writer, "--output", str(tmp_path / "1"), "--shard", "1/2"]) == 2
    assert "the method generated" in error(capsys)
    assert not (tmp_path / "1").exists()

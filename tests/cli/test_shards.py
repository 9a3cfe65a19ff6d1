"""``--shard`` and ``mpir merge``: parts at the command line are together, byte for byte, what one run makes."""

import json
from pathlib import Path

import pytest

from mpir.cli import main
from mpir.retrieve.dense import shards

WORDS = ["aspirin", "blood", "heart", "attack", "gene", "cell", "risk"]
ARRAY = {"SLURM_ARRAY_TASK_COUNT": "3", "SLURM_ARRAY_TASK_MIN": "0"}


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    lines = ({"id": f"d{i}", "title": word, "abstract": f"does {word} thin the blood"} for i, word in enumerate(WORDS))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def run(*words: object) -> int:
    return main([str(word) for word in words])


def error(capsys: pytest.CaptureFixture[str]) -> str:
    """The one sentence on standard error."""
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "DOCUMENTS_PER_SHARD", 2)


class TestVectors:
    """``mpir index --dense --shard``."""

    @pytest.fixture(autouse=True)
    def prepared(self, small_shards: None, corpus: Path, tiny_encoder: Path) -> None:
        pytest.importorskip("faiss")
        self.how = ["--dense", "--encoder", tiny_encoder]

    def test_an_array_of_tasks_makes_the_index_of_one_run(
        self, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run("index", corpus, "--index", tmp_path / "whole", *self.how) == 0
        assert run("index", corpus, "--index", tmp_path / "index") == 0
        parts = [tmp_path / f"parts/{task}" for task in range(3)]
        for task, part in enumerate(parts):
            for name, value in {**ARRAY, "SLURM_ARRAY_TASK_ID": str(task)}.items():
                monkeypatch.setenv(name, value)
            for is_kept in (False, True):  # the second time it is there
                capsys.readouterr()
                assert run("index", corpus, "--index", part, *self.how) == 0
                written = capsys.readouterr()
                assert f"note: part {task + 1}/3, as the Slurm array says; --shard 1/1 does all" in written.err
                report = json.loads(written.out)
                assert report == {"index": str(part), "documents": (3, 2, 2)[task], "kept": is_kept}
        for name in (*ARRAY, "SLURM_ARRAY_TASK_ID"):
            monkeypatch.delenv(name)
        assert run("merge", *parts, "--output", tmp_path / "index") == 0
        assert capsys.readouterr().out == f"{tmp_path / 'index'}: 7 documents of 3 parts.\n"
        assert content(tmp_path / "index/dense") == content(tmp_path / "whole/dense")
        assert run("search", "--index", tmp_path / "index", "--mode", "hybrid", "heart") == 0
        assert run("merge", *parts, "--output", tmp_path / "vectors") == 0  # without an index of words
        assert content(tmp_path / "vectors/dense") == content(tmp_path / "whole/dense")
        capsys.readouterr()
        assert run("index", corpus, "--index", tmp_path / "index", *self.how) == 0
        assert json.loads(capsys.readouterr().out)["kept"] is True  # as if one run had made it

    def test_parts_that_do_not_belong_together(
        self, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        parts = [tmp_path / "1", tmp_path / "2"]
        for number, part in enumerate(parts, 1):
            assert run("index", corpus, "--index", part, *self.how, "--shard", f"{number}/2", "--quiet") == 0
        corpus.write_text(corpus.read_text().replace("gene", "germ"))
        changed = tmp_path / "changed"
        assert run("index", corpus, "--index", changed, *self.how, "--shard", "2/2", "--quiet") == 0
        assert run("index", corpus, "--index", tmp_path / "index", "--quiet") == 0
        (tmp_path / "notes").mkdir()
        (tmp_path / "notes/thesis.tex").write_text("years of work")
        capsys.readouterr()
        for given, output, message in (
            (parts[:1], "x", "parts are missing: 2/2; make them with --shard, and give all of them."),
            ([*parts, parts[0]], "x", f"{parts[0]}: is part 1, as {parts[0]} is; give each part once."),
            ([parts[0], changed], "x", f"{changed}: was made of another corpus than {parts[0]} (they differ in corpus"),
            (
                [parts[0], tmp_path / "index"],
                "x",
                "index: holds no shard.json, so it is an unfinished part or none; run",
            ),
            (parts, "index", "index: is the index of another corpus than that of the parts"),
            (parts, "notes", "notes: is no index, as it holds thesis.tex; give the folder of the corpus's index"),
            (parts, "1", f"{parts[0]}: is PART, too, which would be lost"),
        ):
            assert run("merge", *given, "--output", tmp_path / output) == 2
            assert message in error(capsys)
            assert not (tmp_path / "x").exists()

    @pytest.mark.parametrize("shard", ["0/3", "4/3", "1/0", "a/b", "3"])
    def test_a_shard_that_cannot_be(
        self, corpus: Path, tmp_path: Path, shard: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run("index", corpus, "--index", tmp_path / "never", *self.how, f"--shard={shard}") == 2
        assert "expected i/n, from 1/n to n/n" in error(capsys)
        assert not (tmp_path / "never").exists()

    def test_an_index_of_words_has_no_parts(
        self, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run("index", corpus, "--index", tmp_path / "never", "--shard", "1/3") == 2
        assert "--shard says how vectors are made; add --dense, or leave it out." in error(capsys)
        for name, value in {**ARRAY, "SLURM_ARRAY_TASK_ID": "1"}.items():
            monkeypatch.setenv(name, value)
        assert run("index", corpus, "--index", tmp_path / "index") == 0  # whole, in an array, too
        assert json.loads(capsys.readouterr().out)["documents"] == len(WORDS)

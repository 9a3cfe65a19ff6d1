"""``--shard`` and ``mpir merge``: shards at the command line are together, byte for byte, what one run makes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mpir.app.cli import main
from mpir.search.dense import shards

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
        shards = [tmp_path / f"shards/{task}" for task in range(3)]
        for task, shard in enumerate(shards):
            for name, value in {**ARRAY, "SLURM_ARRAY_TASK_ID": str(task)}.items():
                monkeypatch.setenv(name, value)
            for is_kept in (False, True):  # the second time it is there
                capsys.readouterr()
                assert run("index", corpus, "--index", shard, *self.how) == 0
                written = capsys.readouterr()
                assert f"shard {task + 1}/3, from the Slurm array" in written.err
                report = json.loads(written.out)
                assert report == {"index": str(shard), "documents": (3, 2, 2)[task], "kept": is_kept}
        for name in (*ARRAY, "SLURM_ARRAY_TASK_ID"):
            monkeypatch.delenv(name)
        assert run("merge", *shards, "--output", tmp_path / "index") == 0
        assert capsys.readouterr().out == f"{tmp_path / 'index'}: 7 documents of 3 shards.\n"
        assert content(tmp_path / "index/dense") == content(tmp_path / "whole/dense")
        assert run("search", "--index", tmp_path / "index", "--mode", "hybrid", "heart") == 0
        assert run("merge", *shards, "--output", tmp_path / "vectors") == 0  # without an index of words
        assert content(tmp_path / "vectors/dense") == content(tmp_path / "whole/dense")
        capsys.readouterr()
        assert run("index", corpus, "--index", tmp_path / "index", *self.how) == 0
        assert json.loads(capsys.readouterr().out)["kept"] is True  # as if one run had made it

    def test_parts_that_do_not_belong_together(
        self, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        shards = [tmp_path / "1", tmp_path / "2"]
        for number, shard in enumerate(shards, 1):
            assert run("index", corpus, "--index", shard, *self.how, "--shard", f"{number}/2", "--quiet") == 0
        corpus.write_text(corpus.read_text().replace("gene", "germ"))
        changed = tmp_path / "changed"
        assert run("index", corpus, "--index", changed, *self.how, "--shard", "2/2", "--quiet") == 0
        assert run("index", corpus, "--index", tmp_path / "index", "--quiet") == 0
        (tmp_path / "notes").mkdir()
        (tmp_path / "notes/thesis.tex").write_text("years of work")
        capsys.readouterr()
        for given, output, message in (
            (shards[:1], "x", "shards are missing: 2/2; make them, and give all of them."),
            ([*shards, shards[0]], "x", f"{shards[0]}: is shard 1, and so is {shards[0]}; give each shard once."),
            ([shards[0], changed], "x", f"{changed}: was made from another corpus than {shards[0]} (they differ in"),
            (
                [shards[0], tmp_path / "index"],
                "x",
                "index: has no shard.json, so it is an unfinished shard or not a shard; repeat",
            ),
            (shards, "index", "index: indexes another corpus than the"),
            (shards, "notes", "notes: contains thesis.tex, so it is not an index"),
            (shards, "1", f"{shards[0]}: is also SHARD, which would be lost"),
        ):
            assert run("merge", *given, "--output", tmp_path / output) == 2
            assert message in error(capsys)
            assert not (tmp_path / "x").exists()

    @pytest.mark.parametrize("shard", ["0/3", "4/3", "1/0", "a/b", "3"])
    def test_a_shard_that_cannot_be(
        self, corpus: Path, tmp_path: Path, shard: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run("index", corpus, "--index", tmp_path / "never", *self.how, f"--shard={shard}") == 2
        assert f"shard is '{shard}'" in error(capsys)
        assert not (tmp_path / "never").exists()

    def test_an_index_of_words_has_no_parts(
        self, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run("index", corpus, "--index", tmp_path / "never", "--shard", "1/3") == 2
        assert "--shard says how vectors" in error(capsys)
        for name, value in {**ARRAY, "SLURM_ARRAY_TASK_ID": "1"}.items():
            monkeypatch.setenv(name, value)
        assert run("index", corpus, "--index", tmp_path / "index") == 0  # whole, in an array, too
        assert json.loads(capsys.readouterr().out)["documents"] == len(WORDS)


class TestRankings:
    """``mpir rerank --output``, in shards with ``--shard``."""

    @pytest.fixture(autouse=True)
    def prepared(self, corpus: Path, tmp_path: Path, tiny_bundle: Path) -> None:
        documents = [json.loads(line) for line in corpus.read_text().splitlines()]
        for i, document in enumerate(documents):
            document["score"] = float(len(documents) - i)
        queries = [
            {"id": f"q{i}", "query": f"does {word} thin blood", "documents": documents[i : i + 3]}
            for i, word in enumerate(WORDS[:5])
        ]
        self.queries = tmp_path / "queries.jsonl"
        self.queries.write_text("".join(json.dumps(query) + "\n" for query in queries))
        self.how = ["--bundle", tiny_bundle, "--device", "cpu", "--set", "cache.folder=none", "--quiet"]

    def rerank(self, *options: object) -> int:
        return run("rerank", *self.how, *options)

    @pytest.mark.parametrize(
        "form",
        [
            ["--format", "trec"],
            ["--format", "jsonl"],
            ["--format", "jsonl", "--top-k", "2"],
        ],
    )
    @pytest.mark.parametrize("count", [2, 3, 7])
    def test_parts_are_together_what_one_run_prints(
        self, form: list[str], count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self.rerank("--queries", self.queries, *form) == 0
        printed = capsys.readouterr().out
        assert self.rerank("--queries", self.queries, *form, "--output", tmp_path / "whole") == 0
        assert (tmp_path / "whole").read_text(encoding="utf-8") == printed
        shards = [tmp_path / f"shards/{number}" for number in range(1, count + 1)]
        for number, shard in enumerate(shards, 1):
            assert self.rerank("--queries", self.queries, *form, "--shard", f"{number}/{count}", "--output", shard) == 0
        assert sorted(path.name for path in (tmp_path / "shards").iterdir()) == [shard.name for shard in shards]
        capsys.readouterr()
        assert run("merge", *reversed(shards), "--output", tmp_path / "joined") == 0
        assert capsys.readouterr().out == f"{tmp_path / 'joined'}: 5 queries of {count} shards.\n"
        assert (tmp_path / "joined").read_bytes() == (tmp_path / "whole").read_bytes()

    def test_a_run_with_its_corpus_in_an_array(
        self, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "run.trec").write_text(
            "".join(f"q{i} Q0 d{j} 1 {9 - j} bm25\n" for i in range(4) for j in range(3))
        )
        (tmp_path / "topics.tsv").write_text("".join(f"q{i}\tdoes {WORDS[i]} thin blood\n" for i in range(4)))
        given = [
            "--run",
            tmp_path / "run.trec",
            "--docs",
            corpus,
            "--queries",
            tmp_path / "topics.tsv",
            "--format",
            "trec",
        ]
        assert self.rerank(*given, "--output", tmp_path / "whole") == 0
        for task in range(3):
            for name, value in {**ARRAY, "SLURM_ARRAY_TASK_ID": str(task)}.items():
                monkeypatch.setenv(name, value)
            assert self.rerank(*given, "--output", tmp_path / f"shard{task}") == 0
        capsys.readouterr()
        assert self.rerank(*given) == 0  # to standard output, all, in an array, too
        assert capsys.readouterr().out == (tmp_path / "whole").read_text(encoding="utf-8")
        shards = [tmp_path / f"shard{task}" for task in range(3)]
        assert run("merge", *shards, "--output", tmp_path / "joined") == 0
        assert (tmp_path / "joined").read_bytes() == (tmp_path / "whole").read_bytes()
        corpus.write_text(corpus.read_text().replace("thin", "thins"))
        assert self.rerank(*given, "--output", tmp_path / "shard2") == 0
        capsys.readouterr()
        assert run("merge", *shards, "--output", tmp_path / "never") == 2
        assert "shard2: was made from another" in error(capsys)

    def test_each_query_reads_its_texts_itself(
        self, tmp_path: Path, bi_encoder_bundle: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The last digits of a vector depend on the texts that are read with it: others in another shard, or run."""
        from mpir.models.encoder import Encoder

        texts_read, read = list[str](), Encoder.vectors

        def counted(self: Encoder, texts: list[str], **options: object) -> object:
            texts_read.extend(texts)
            return read(self, texts, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(Encoder, "vectors", counted)
        command = [
            "rerank",
            "--queries",
            self.queries,
            "--bundle",
            bi_encoder_bundle,
            "--device",
            "cpu",
            "--format",
            "jsonl",
        ]
        assert run(*command) == 0  # keeps scores and vectors for other runs
        shared = len(texts_read)
        shards = [tmp_path / f"shard{number}" for number in (1, 2, 3)]
        for number, shard in enumerate(shards, 1):
            assert run(*command, "--output", shard, "--shard", f"{number}/3") == 0
        by_parts, texts_read[:] = sorted(texts_read[shared:]), []
        assert run(*command, "--output", tmp_path / "whole") == 0
        assert sorted(texts_read) == by_parts
        assert len(by_parts) > shared  # documents that several queries share are read for each of them
        assert run("merge", *shards, "--output", tmp_path / "joined") == 0
        assert (tmp_path / "joined").read_bytes() == (tmp_path / "whole").read_bytes()

    def test_an_interrupted_run_goes_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        from mpir.reranking.reranker import Reranker

        ranked, rerank_batch = [], Reranker.rerank_batch

        def interrupted(self: Reranker, queries: list[str], *arguments: object, **options: object) -> object:
            if len(ranked) == 2:
                raise KeyboardInterrupt
            ranked.extend(queries)
            return rerank_batch(self, queries, *arguments, **options)  # type: ignore[arg-type]

        command = ["--queries", self.queries, "--format", "trec", "--output", tmp_path / "run.trec"]
        with monkeypatch.context() as patch:
            patch.setattr(Reranker, "rerank_batch", interrupted)
            assert self.rerank(*command) == 130
            assert not (tmp_path / "run.trec").exists()
            ranked[:] = ranked[:1]  # one more may be ranked now
            assert self.rerank(*command) == 130
            assert len(set(ranked)) == 2  # each once
        assert self.rerank(*command) == 0
        capsys.readouterr()
        assert self.rerank("--queries", self.queries, "--format", "trec") == 0
        assert capsys.readouterr().out == (tmp_path / "run.trec").read_text(encoding="utf-8")
        assert not list(tmp_path.glob("*.rankings.jsonl*"))

    def test_damage_and_parts_of_other_settings(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for name, options in (("1", ["1/2"]), ("2", ["2/2"]), ("other", ["2/2", "--top-k", "1"])):
            how = ["--queries", self.queries, "--format", "trec", "--output", tmp_path / name, "--shard", *options]
            assert self.rerank(*how) == 0
        capsys.readouterr()
        assert run("merge", tmp_path / "1", tmp_path / "other", "--output", tmp_path / "x") == 2
        assert "(they differ in top_k)" in error(capsys)
        lines = tmp_path / "2/lines.jsonl"
        lines.write_text(lines.read_text().replace("q1", "q7", 1))
        assert run("merge", tmp_path / "1", tmp_path / "2", "--output", tmp_path / "x") == 2
        assert "2: is damaged (lines.jsonl has changed" in error(capsys)
        assert not (tmp_path / "x").exists()

    def test_options_that_do_not_go_together(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "thesis.tex").write_text("years of work")
        queries, output = ["--queries", self.queries], ["--output", tmp_path / "x"]
        for given, message in (
            (
                [*queries, "--format", "trec", "--shard", "1/2"],
                "--shard shares the queries of a file; name it with --queries or --run, and give one --output",
            ),
            ([*queries, *output], "x: unknown form (expected a suffix of html, csv, ris"),
            (["a query", *queries, "--format", "jsonl"], "have queries of their own; leave the QUERY out."),
            ([*queries, *output, "--format", "jsonl", "--shard", "3/2"], "expected i/n, from 1/n to n/n"),
            (
                [*queries, "--format", "jsonl", "--output", self.queries],
                "queries.jsonl: is also --queries, which would be lost",
            ),
            ([*queries, "--format", "jsonl", "--output", tmp_path], "is a folder; give --output the name of a file."),
            (
                [*queries, "--format", "jsonl", "--output", tmp_path / "thesis.tex"],
                "was not written by --output, so it",
            ),
            (
                [*queries, "--format", "jsonl", "--output", tmp_path, "--shard", "1/2"],
                "holds --queries, which would be lost",
            ),
        ):
            assert self.rerank(*given) == 2
            assert message in error(capsys)
            assert not (tmp_path / "x").exists()


class TestSeveralIndexes:
    """``mpir search`` with ``--index`` several times."""

    @pytest.fixture
    def indexes(self, corpus: Path, tmp_path: Path, tiny_encoder: Path) -> list[Path]:
        """One index of the corpus, and two of its halves."""
        pytest.importorskip("faiss")
        lines = corpus.read_text().splitlines(keepends=True)
        folders = []
        for name, chosen in (("all", lines), ("a", lines[:2]), ("b", lines[2:])):
            (tmp_path / f"{name}.jsonl").write_text("".join(chosen))
            folders.append(tmp_path / name)
            how = ["--dense", "--set", "index.sentence_vectors=true", "--encoder", tiny_encoder, "--quiet"]
            assert run("index", tmp_path / f"{name}.jsonl", "--index", folders[-1], *how) == 0
        return folders

    @pytest.mark.parametrize(
        "how",
        [
            ["bm25"],
            ["bm25", "--set", "rm3.terms=20"],
            ["dense"],
            ["hybrid"],
            ["hybrid", "--set", "search.fusion=sum", "--set", "search.dense_weight=0.3"],
        ],
    )
    def test_results_are_those_of_one_index(
        self, indexes: list[Path], how: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        queries = ["does the heart attack", "gene cell blood", "aspirin"]
        assert run("search", "--index", indexes[0], "--mode", *how, *queries) == 0
        expected = capsys.readouterr().out
        assert run("search", "--index", indexes[1], "--index", indexes[2], "--mode", *how, *queries) == 0
        assert capsys.readouterr().out == expected

    @pytest.mark.parametrize("mode", ["bm25", "dense"])
    def test_indexes_that_do_not_belong_together(
        self, indexes: list[Path], mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for second, message in (
            (indexes[1], "a: the index is given twice; name each index once."),
            (indexes[0], "is in more than one of these indexes; index each document once."),
            (tmp_path / "absent", "index folder here" if mode == "bm25" else "there is no dense index here"),
        ):
            assert run("search", "--index", indexes[1], "--index", second, "--mode", mode, "aspirin") == 2
            assert message in error(capsys)


@pytest.mark.slow
class TestSlurm:
    """The page's script, in a loop that sets the variables that Slurm sets."""

    TASKS = range(1, 4)

    @pytest.fixture
    def script(self) -> str:
        page = (Path(__file__).parents[3] / "docs/guides/scale.md").read_text(encoding="utf-8")
        (script,) = re.findall(r"^```\n(#!/bin/bash\n.*?)^```$", page, re.MULTILINE | re.DOTALL)
        return str(script)

    def sbatch(self, script: str, folder: Path, *words: object) -> list[str]:
        """Run the script for each task of an array, as `sbatch shard.sh WORDS` does; what they wrote to stderr."""
        (folder / "shard.sh").write_text(script)
        errors = []
        for task in self.TASKS:
            variables = {"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": str(task), "TMPDIR": str(folder)}
            variables |= {"SLURM_ARRAY_TASK_COUNT": str(len(self.TASKS)), "SLURM_ARRAY_TASK_MIN": "1"}
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables, "PATH": path}
            command = ["bash", "shard.sh", *map(str, words)]
            ended = subprocess.run(command, cwd=folder, env=environment, text=True, capture_output=True, check=False)
            assert ended.returncode == 0, ended.stderr
            errors.append(ended.stderr)
        return errors

    def test_the_rankings_of_an_array_are_those_of_one_run(
        self, script: str, tmp_path: Path, corpus: Path, tiny_bundle: Path
    ) -> None:
        documents = [json.loads(line) for line in corpus.read_text().splitlines()]
        lines = ({"id": word, "query": f"does {word} thin blood", "documents": documents} for word in WORDS)
        queries = tmp_path / "candidates.jsonl"
        queries.write_text("".join(json.dumps(line) + "\n" for line in lines))
        how = ["--queries", queries, "--format", "trec", "--bundle", tiny_bundle, "--device", "cpu", "--output"]
        errors = self.sbatch(script, tmp_path, "ranked", "mpir", "rerank", *how)
        assert "shard 2/3, from the Slurm array" in errors[1]
        assert run("merge", *(tmp_path / "ranked").iterdir(), "--output", tmp_path / "run.trec") == 0
        assert run("rerank", *how, tmp_path / "whole.trec") == 0
        assert (tmp_path / "run.trec").read_bytes() == (tmp_path / "whole.trec").read_bytes()

    def test_an_array_of_one_index(self, script: str, tmp_path: Path, corpus: Path, tiny_encoder: Path) -> None:
        pytest.importorskip("faiss")
        how = [corpus, "--dense", "--encoder", tiny_encoder, "--index"]
        errors = self.sbatch(script, tmp_path, "vectors", "mpir", "index", *how)
        assert "3: has no documents" in errors[2]
        assert run("merge", *(tmp_path / "vectors").iterdir(), "--output", tmp_path / "index") == 0
        assert run("index", *how, tmp_path / "whole") == 0
        assert content(tmp_path / "index/dense") == content(tmp_path / "whole/dense")

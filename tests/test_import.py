"""`import mpir` is light: neither torch nor Java nor the network, and well under a second."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import mpir

HEAVY = ["torch", "transformers", "jpype", "pyserini", "numpy", "bm25s", "spacy", "gensim", "datasets", "skopt"]


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_loads_nothing_heavy() -> None:
    loaded = run(f"import sys, mpir; print([name for name in {HEAVY} if name in sys.modules])")
    assert loaded == "[]"


def test_importing_takes_less_than_three_tenths_of_a_second() -> None:
    seconds = "import time; start = time.process_time(); import mpir; print(time.process_time() - start)"
    assert min(float(run(seconds)) for _ in range(3)) < 0.3


def test_the_command_line_shows_its_help_without_them() -> None:
    code = "import sys, mpir.app.cli\ntry: mpir.app.cli.main(['--help'])\nexcept SystemExit: pass\n"
    loaded = run(f"{code}print([name for name in {HEAVY[:4]} if name in sys.modules])")
    assert loaded.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", mpir.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(mpir, name) is not None
    assert name in dir(mpir)


def test_pubmed_is_there_without_an_import_of_its_own() -> None:
    assert run("import mpir; print(mpir.pubmed.search.__name__)") == "search"


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'rerankk'"):
        mpir.rerankk  # noqa: B018


def modules_of(*words: str) -> set[str]:
    """The modules of mpir that a call of the command line loads."""
    code = f"import sys, mpir.app.cli\ntry: mpir.app.cli.main({[*words]})\nexcept SystemExit: pass\n"
    names = run(f"{code}print(*[name for name in sys.modules if name.partition('.')[0] == 'mpir'])")
    return set(names.splitlines()[-1].split())


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_the_command_line_alone_loads_few_modules(option: str) -> None:
    assert len(modules_of(option)) <= 15


def test_a_rerank_loads_nothing_of_other_commands(tmp_path: Path) -> None:
    documents = tmp_path / "documents.jsonl"
    documents.write_text('{"id": "1", "title": "Aspirin", "text": "Aspirin thins blood."}\n')
    settings = ("--device", "cpu", "--set", "cache.folder=none")
    loaded = modules_of("rerank", "aspirin", "--docs", str(documents), *settings)
    assert {"mpir.app.cli.rerank", "mpir.reranking.reranker"} <= loaded
    others = ("lab", "tune", "bioasq", "evaluate.", "pubmed", "search.pubmed", "search.engine", "search.milvus")
    others += ("search.lucene", "search.dense.build", "app.serve", "app.agents", "app.explain", "app.cli.tune")
    assert [name for name in sorted(loaded) if name.startswith(tuple(f"mpir.{prefix}" for prefix in others))] == []
    assert len([name for name in loaded if name.startswith("mpir.app.cli.")]) <= 18


@pytest.mark.parametrize(("settings", "others"), [("[cache]\nlimit = 9000000\n", False), ("[tune]\ncalls = 9\n", True)])
def test_a_file_of_settings_loads_other_commands_only_to_look_up_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, others: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mpir.toml").write_text(settings)
    loaded = modules_of("rerank", "aspirin", "--docs", "absent.jsonl")
    assert ("mpir.app.cli.tune" in loaded) is others
    assert [name for name in sorted(loaded) if re.match(r"mpir\.(lab|tune|bioasq|search\.lucene)\b", name)] == []

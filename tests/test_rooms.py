"""Rooms that can be removed: the lab and the indexes. Without their folders mpir still ranks, serves and evaluates."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mpir

ROOT = Path(mpir.__file__).parent
ROOMS = ("lab", "search/lucene", "search/dense", "search/engines", "search/pubmed")
"""An index in the folder `search/lucene` can have vectors, so it needs `search/dense`; no other room needs another."""
ONLY_HERE = """
import sys

sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in getattr(finder, "__module__", "")]
"""
"""An installation for development adds the folders that a copy lacks."""
COMMAND = """
from mpir.app.cli import main

raise SystemExit(main())
"""
PRODUCT = """
import json
from pathlib import Path

import mpir
from mpir.app.cli import main
from mpir.app.serve.app import create_app
from mpir.app.serve.service import Service
from mpir.app.serve.settings import Settings
from starlette.testclient import TestClient

question, gold = sys.argv[1:]
words = ["rerank", question, "--docs", "some.jsonl", "--set", "cache.folder=none", "--quiet"]
assert main([*words, "--output", "page.html", "--output", "ranking.csv"]) == 0
assert "explain" in Path("page.html").read_text(encoding="utf-8")
assert main(["evaluate", "bioasq", "--gold", gold, "--submission", gold]) == 0
documents = [json.loads(line) for line in Path("some.jsonl").read_text(encoding="utf-8").splitlines()]
with TestClient(create_app(Service(mpir.Reranker(), Settings(name="default"))), base_url="http://localhost") as client:
    assert client.get("/explain").status_code == 200
    texts = [document["abstract"] for document in documents]
    answer = client.post("/v1/rerank", json={"query": question, "documents": texts})
assert len(answer.json()["results"]) == len(documents), answer.text
print(main.__module__, sorted(name for name in sys.modules if name.startswith("mpir.search.")))
"""
CALLS = {
    "lab": (
        "train --mixture m.json --output run",
        "data sia --qasc some.jsonl --output sia",
        "annotate some.jsonl --lexicon some.jsonl",
    ),
    "search/lucene": ("index some.jsonl --index folder", "search --index folder aspirin", "bioasq"),
    "search/dense": ("search --index folder --mode dense aspirin",),
    "search/engines": ("search --index opensearch+http://127.0.0.1:9/none aspirin",),
    "search/pubmed": ("pubmed aspirin",),
}
"""Calls of commands that need a room."""


COMMANDS = ("app/cli/data_negatives.py", "app/cli/train.py", "pubmed.py")
"""Modules that are imported for a room only."""


def imported_at_once(tree: ast.AST) -> Iterator[str]:
    """The modules that a module imports when it is imported itself: not in a function, nor for types alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.expr) and not (
            isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        ):
            yield from imported_at_once(node)


def test_no_module_outside_a_room_imports_it_at_once() -> None:
    for path in ROOT.rglob("*.py"):
        module = path.relative_to(ROOT).as_posix()
        home = next((room for room in ROOMS if module.startswith(f"{room}/")), "")
        needed = {home, "search/dense"} if home == "search/lucene" else {home}
        for name in imported_at_once(ast.parse(path.read_text(encoding="utf-8"))):
            room = next((room for room in ROOMS if name.startswith(f"mpir.{room.replace('/', '.')}.")), "")
            assert not room or room in needed or home == "lab" or module in COMMANDS, f"{module} imports {name}"


def run(folder: Path, code: str, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", ONLY_HERE + code, *words]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of mpir, of which others can be made by links."""
    folder = tmp_path_factory.mktemp("whole") / "mpir"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def copy_without(whole: Path, folder: Path, *rooms: str) -> None:
    """Copy mpir but for some rooms, and some of the sample's documents, into a folder."""
    removed = {whole / room for room in rooms}

    def left_out(directory: str, names: list[str]) -> set[str]:
        return {name for name in names if Path(directory) / name in removed}

    shutil.copytree(whole, folder / "mpir", copy_function=os.link, ignore=left_out)
    lines = (ROOT / "sample/documents.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "some.jsonl").write_text("".join(lines[:5]), encoding="utf-8")


@pytest.mark.parametrize("room", ROOMS)
def test_a_command_says_which_room_it_lacks(room: str, whole: Path, tmp_path: Path) -> None:
    copy_without(whole, tmp_path, room)
    for call in CALLS[room]:
        finished = run(tmp_path, COMMAND, *call.split())
        name = f"mpir.{room.replace('/', '.')}"
        assert finished.stderr.startswith(f"mpir: {name}"), finished.stderr
        assert finished.stderr.endswith(" is not installed, and this command needs it; install all of mpir.\n")
        assert finished.returncode == 2
    assert run(tmp_path, COMMAND, "--help").returncode == 0


def test_without_all_rooms_mpir_ranks_serves_and_evaluates(whole: Path, tmp_path: Path) -> None:
    copy_without(whole, tmp_path, *ROOMS)
    assert run(tmp_path, COMMAND, "--version").stdout.startswith("mpir ")
    assert "  train" in run(tmp_path, COMMAND, "--help").stdout
    gold = str(ROOT / "sample/questions.json")
    finished = run(tmp_path, PRODUCT, "Which gene causes cystic fibrosis?", gold)
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "ranking.csv").is_file()
    assert "mpir.search.memory" in finished.stdout

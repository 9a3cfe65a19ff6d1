"""What pages, sources, the Makefile, workflows and pyproject.toml name: paths, modules and commands that exist."""

import ast
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from mpir.app.cli import make_parser
from mpir.app.cli.command_table import own_options
from mpir.models.perspectives.registration import ENTRY_POINTS
from mpir.plugins import GROUPS

ROOT = Path(__file__).parents[2]
FOLDERS = ("mpir", "tests", "docs", "experiments", "benchmarks", "data_scripts", "docker", ".ci", ".github")
SCRIPTS = [ROOT / name for name in ("Makefile", "Dockerfile", ".ci/run", ".pre-commit-config.yaml", "mkdocs.yml")]
SCRIPTS += [*sorted(ROOT.glob(".github/workflows/*.yml")), *sorted(ROOT.glob("docker/*.sh"))]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob(".github/**/*.md"))]
PAGES += [page for folder in FOLDERS for page in sorted((ROOT / folder).rglob("*.md"))]
SOURCES = [path for folder in FOLDERS[:6] for path in sorted((ROOT / folder).rglob("*.py"))]
HISTORY = {ROOT / "CHANGELOG.md"}
"""Pages that name what is gone."""
PATH = re.compile(rf"(?<![\w./:~$-])(?:{'|'.join(map(re.escape, FOLDERS))})/[\w./*-]*[\w*](?![\w./*-]*\{{)")
GONE = re.compile(r"`([\w./-]+)[^`]*` at\s+commit\s+([0-9a-f]{7,40})")
"""A file, and the commit that has it."""
REMOVED = re.compile(rf"{GONE.pattern}, since removed")
MODULE = re.compile(rf"python[\d.]* (?:-P )?-m ((?:{'|'.join(FOLDERS[:6])})\.\w[\w.]*)")
MADE = {"docs/images/soak.png", "mpir/corpora"}
"""A file that a command makes, and a folder of older versions."""
FIELDS = {"mpir.toml", "mpir.evidence"}
"""A file, and a field of requests."""


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8").replace("\\\n", " ")


def is_path(name: str) -> bool:
    return any(ROOT.glob(name)) if "*" in name else (ROOT / name).exists()


def commit_has(commit: str, path: str) -> bool:
    """Whether a commit has a file; True where this checkout lacks the history."""
    git = ["git", "-C", str(ROOT), "cat-file", "-e"]
    if subprocess.run([*git, commit], capture_output=True, check=False).returncode:
        return True
    return subprocess.run([*git, f"{commit}:{path}"], capture_output=True, check=False).returncode == 0


def is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:
        return False


@cache
def is_name(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one or of its classes."""
    module, *attributes = name.split(".")
    while attributes and is_module(f"{module}.{attributes[0]}"):
        module += f".{attributes.pop(0)}"
    try:
        value: object = import_module(module)
    except ImportError as error:  # an extra that is not installed
        return not str(error.name).startswith("mpir")
    for attribute in attributes:
        if not hasattr(value, attribute):
            return attribute in getattr(value, "__annotations__", {})
        value = getattr(value, attribute)
    return True


@pytest.mark.parametrize("path", [*SCRIPTS, *PAGES], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_pages_name_what_exists(path: Path) -> None:
    assert list(absent_names(path)) == []


def test_sources_name_what_exists() -> None:
    absent = {path.relative_to(ROOT): list(absent_names(path)) for path in SOURCES if path != Path(__file__)}
    assert {path: names for path, names in absent.items() if names} == {}


def absent_names(path: Path) -> Iterator[str]:
    """The paths, modules and names in a file that do not exist, and the reason where that is another."""
    if path in HISTORY:
        return
    text = text_of(path)
    gone = {name: commit for name, commit in GONE.findall(text) if not is_path(name)}
    samples = path.is_relative_to(ROOT / "tests")  # which have names of their own
    yield from (
        name
        for name in PATH.findall(text)
        if not (is_path(name) or name in MADE or name in gone or (samples and not name.startswith("tests/")))
    )
    yield from (f"{name} is not in {commit}" for name, commit in gone.items() if not commit_has(commit, name))
    moved = (ROOT / name for name, _ in REMOVED.findall(text))
    yield from (f"{old} has moved" for old in moved if any(old.parent.rglob(old.name)))
    yield from (name for name in MODULE.findall(text) if not is_module(name))
    if path.suffix == ".md":
        names = re.findall(r"`(mpir(?:\.\w+)+)(?:\(\))?`", text)
        yield from (name for name in names if name not in (*FIELDS, ENTRY_POINTS, *GROUPS) and not is_name(name))


SETTINGS = {word for item in own_options() for word in (item.name, item.name.partition(".")[0]) if "." in item.name}
FILES = ("bin", "faiss", "json", "jsonl", "md", "mjs", "npy", "png", "py", "toml", "txt")
"""Ends of the names of files."""


def test_docstrings_name_what_exists() -> None:
    absent = {path.relative_to(ROOT): list(absent_dotted_names(path)) for path in (ROOT / "mpir").rglob("*.py")}
    assert {path: names for path, names in absent.items() if names} == {}


def absent_dotted_names(path: Path) -> Iterator[str]:
    """Those begin at mpir, at the module's own package, or at a variable; the rest are settings and files."""
    text = path.read_text(encoding="utf-8")
    package = ".".join(path.relative_to(ROOT).parent.parts)
    for name in re.findall(r"`((?:[a-z]\w*\.)+[A-Za-z_]\w*)(?:\(\))?`", text):
        if name.split(".")[0] in SETTINGS | variables(text) or name.rpartition(".")[2] in FILES or f'"{name}' in text:
            continue
        starts = [start for start in (name, f"mpir.{name}", f"{package}.{name}") if is_module(start.rpartition(".")[0])]
        if name not in (ENTRY_POINTS, *GROUPS) and not any(map(is_name, starts)):
            yield name


def variables(code: str) -> set[str]:
    """The arguments, variables and attributes of a module."""
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def test_the_makefile_s_commands_have_their_options() -> None:
    lines = re.findall(r"^\t\$\(BIN\)/mpir ([^>\n]+)", text_of(ROOT / "Makefile"), re.MULTILINE)
    assert len(lines) > 6
    for line in lines:
        make_parser().parse_args(shlex.split(line))


def test_what_workflows_make_has_a_rule() -> None:
    rules = set(re.findall(r"^([\w.-]+):", text_of(ROOT / "Makefile"), re.MULTILINE))
    made = [words for path in SCRIPTS[1:] for words in re.findall(r"\bmake ([^#|;&\n]+)", text_of(path))]
    named = {word for words in made for word in words.split() if re.fullmatch(r"[a-z][a-z-]*", word)}
    assert {"test", "test-long", "lint"} <= named <= rules


def test_the_papers_commands_are_there() -> None:
    names = re.findall(r"`([a-z_]+\.[a-z_]+)(?: [^`]*)?`", text_of(ROOT / "docs/evidence/papers.md"))
    assert len(names) > 15
    assert {name for name in names if not is_module(f"experiments.{name}")} == {"log.jsonl"}


def test_pyproject_names_what_exists() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project, tool = declared["project"], declared["tool"]
    entries = [*project["scripts"].values(), *(v for group in project["entry-points"].values() for v in group.values())]
    assert all(is_name(entry.replace(":", ".")) for entry in entries)
    assert set(project["entry-points"]) <= {ENTRY_POINTS, *GROUPS}
    assert all(any((ROOT / "mpir").glob(pattern)) for pattern in tool["setuptools"]["package-data"]["mpir"])
    assert all(is_path(pattern) for pattern in tool["ruff"]["lint"]["per-file-ignores"])
    modules = [name for override in tool["mypy"]["overrides"] for name in override["module"]]
    assert all(is_module(name.removesuffix(".*")) for name in modules if name.startswith("mpir"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_groups_of_entry_points_are_read(page: Path) -> None:
    text = text_of(page)
    groups = re.findall(r"entry point (?:of the|in) group `([\w.]+)`|entry-points\.\"([\w.]+)\"", text)
    assert {name for group in groups for name in group if name} <= {ENTRY_POINTS, *GROUPS}

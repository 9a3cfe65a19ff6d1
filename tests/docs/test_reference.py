"""The reference pages in the repository are those that the code generates, with every option and public name."""

import argparse
import importlib
import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import mpir

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["api.md", "cli.md"])
def test_the_page_is_current(generator: ModuleType, name: str) -> None:
    """If not, run `python docs/generate.py`."""
    assert (ROOT / "docs/reference" / name).read_text(encoding="utf-8") == generator.page(name)


def test_every_command_and_option_is_in_the_reference(generator: ModuleType) -> None:
    page = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    for command in ("mpir rerank", "mpir data sia", "mpir bundle seal", "mpir evaluate bioasq"):
        assert f"\n## {command}\n" in page
    parsers: list[argparse.ArgumentParser] = list(generator.leaves(generator.make_parser()))
    options = {option for parser in parsers for option in parser._option_string_actions} - {"-h"}
    assert {"--docs", "--shard", "--help"} <= options
    assert {option for option in options if option not in page} == set()


def test_the_python_page_has_every_public_name(generator: ModuleType) -> None:
    documented = {name for names in generator.GROUPS.values() for name in names}
    assert set(mpir.__all__) - documented == {"__version__", "Question", "Snippet"}
    page = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")
    assert {"#### Ranking.evidence", "### pubmed.search", "### errors.InputError"} <= set(page.splitlines())
    assert "evidence(\n    max_tokens: int,\n" in page
    assert "- `InputError`: `max_tokens` is less than the shortest sentence has" in page


def test_options_that_guides_name_exist(generator: ModuleType) -> None:
    parsers: list[argparse.ArgumentParser] = list(generator.leaves(generator.make_parser()))
    known = {option for parser in parsers for option in parser._option_string_actions}
    named = {
        (page.name, option)
        for page in (ROOT / "docs/guides").glob("*.md")
        for row in re.findall(r"^\| `--.*$", page.read_text(encoding="utf-8"), re.MULTILINE)
        for option in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", row.split("|")[1])
    }
    scripts = (
        "--also",
        "--models",
        "--split",
        "--queries",
        "--words",
        "--depth",
        "--train",
    )  # of experiments.tripclick
    assert {(page, option) for page, option in named if option not in known and option not in scripts} == set()


INNER = {"mpir.models.encoder.Encoder", "mpir.lab.annotate.negation_perspective.NegationPerspective"}
"""Names that pages show although they are not public: nothing public does the same yet."""
IMPORT = re.compile(r"^ *from (mpir[\w.]*) import \(?([\w, ]+)\)?$|^ *import (mpir[\w.]*)$", re.MULTILINE)


def shown_code() -> Iterator[tuple[str, str]]:
    """The code of pages, of experiments' descriptions and of examples, by its file."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "experiments").rglob("README.md")]
    for page in pages:
        for code in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            yield page.name, code
    for file in (ROOT / "docs/examples").rglob("*.py"):
        yield file.name, file.read_text(encoding="utf-8")
    for notebook in (ROOT / "docs/notebooks").glob("*.ipynb"):
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        yield from ((notebook.name, "".join(cell["source"])) for cell in cells if cell["cell_type"] == "code")


def names_of(module: str) -> list[str]:
    """The names that a module offers: its `__all__`, or, of the errors, its classes."""
    names = vars(importlib.import_module(module))
    return names["__all__"] if "__all__" in names else [name for name in names if name.endswith("Error")]


def test_pages_and_examples_import_public_names_alone(generator: ModuleType) -> None:
    modules = ("mpir", "mpir.errors", "mpir.pubmed", *generator.MODULES)
    public = {f"{module}.{name}" for module in modules for name in names_of(module)} | INNER | set(modules)
    shown = {
        (file, f"{module}.{name.strip()}" if module else whole)
        for file, code in shown_code()
        for module, names, whole in IMPORT.findall(code)
        for name in (names or whole).split(",")
    }
    assert len(shown) > 30
    private = {(file, name) for file, name in shown if name not in public}
    assert {(file, name) for file, name in private if not name.startswith("mpir.integrations.")} == set()


def test_public_names_are_there(generator: ModuleType) -> None:
    modules = {name: importlib.import_module(name) for name in generator.MODULES}
    assert [
        (name, item) for name, module in modules.items() for item in module.__all__ if not hasattr(module, item)
    ] == []

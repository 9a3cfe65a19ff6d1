"""The reference of the command line has every command and option, and the Python page every public name."""

import argparse
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

import mpir

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs/hooks.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_command_and_option_is_in_the_reference(hooks: ModuleType) -> None:
    page = hooks.on_page_markdown((ROOT / "docs/reference/cli.md").read_text(encoding="utf-8"))
    assert hooks.MARKER not in page
    for command in ("mpir rerank", "mpir data sia", "mpir bundle seal", "mpir evaluate bioasq"):
        assert f"\n## {command}\n" in page
    parsers: list[argparse.ArgumentParser] = list(hooks._leaves(hooks.make_parser()))
    options = {option for parser in parsers for option in parser._option_string_actions}
    assert {"--docs", "--shard", "--help"} <= options
    assert {option for option in options if option not in page} == set()


def test_the_python_page_has_every_public_name() -> None:
    page = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^::: mpir\.(\w+)$", page, re.MULTILINE))
    assert set(mpir.__all__) - documented == {"__version__", "Question", "Snippet"}


def test_options_that_guides_name_exist(hooks: ModuleType) -> None:
    parsers: list[argparse.ArgumentParser] = list(hooks._leaves(hooks.make_parser()))
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

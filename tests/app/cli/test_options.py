"""Options of all commands: none can be abbreviated."""

import argparse
import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import mpir
from mpir.app.cli import make_parser

ROOT = Path(mpir.__file__).parents[1]
SCRIPTS = [
    path
    for folder in ("mpir", "experiments", "benchmarks", "data_scripts", "docker")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "ArgumentParser(" in path.read_text(encoding="utf-8")
]


def commands(parser: argparse.ArgumentParser, name: str = "mpir") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command and its parser, the outermost first."""
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command, subparser in action.choices.items():
                yield from commands(subparser, f"{name} {command}")


COMMANDS = dict(commands(make_parser()))


@pytest.mark.parametrize("command", COMMANDS)
def test_no_prefix_of_an_option_is_taken_for_it(command: str) -> None:
    parser = dict(commands(make_parser()))[command]
    for action in parser._actions:
        action.required = False  # so that only the prefix can be refused
    for group in parser._mutually_exclusive_groups:
        group.required = False
    options = {option for option in parser._option_string_actions if option.startswith("--")}
    prefixes = {option[:length] for option in options for length in range(3, len(option))} - options
    assert prefixes
    for prefix in prefixes:
        for word in (prefix, f"{prefix}=1"):
            assert parser.parse_known_args([word])[1] == [word]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_scripts_take_no_abbreviation(script: Path) -> None:
    calls = [node for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    for call in calls:
        if ast.unparse(call.func).endswith("ArgumentParser"):
            settings = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
            assert settings.get("allow_abbrev") == "False"


@pytest.mark.parametrize("words", [["--first-stage", "hybrid"], ["--first-stage=hybrid"]])
def test_a_former_option_is_refused_with_its_name_now(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        make_parser().parse_args(["bioasq", *words])
    assert "the option is called --mode now" in capsys.readouterr().err

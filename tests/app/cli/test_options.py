"""Options of all commands: none can be abbreviated."""

import argparse
import ast
import re
from collections.abc import Iterator
from inspect import get_annotations
from pathlib import Path

import pytest

import mpir
from mpir.app.cli import make_parser, script_parser
from mpir.app.cli.command_table import COMMANDS as COMMAND_TABLE
from mpir.app.cli.value_options import DOCS
from mpir.files.corpora import formats

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


def test_the_parser_of_scripts_takes_no_abbreviation() -> None:
    parser = script_parser("A script.\n\n    python script.py --limit 3")
    parser.add_argument("--limit")
    assert parser.parse_known_args(["--lim=3"])[1] == ["--lim=3"]
    assert "\n    python script.py --limit 3\n" in parser.format_help()


OPTIONS = {command.name: command.options() for command in COMMAND_TABLE}
FLAGS = {name: [item.name for item in options if item.name.startswith("--")] for name, options in OPTIONS.items()}


@pytest.mark.parametrize("command", OPTIONS)
def test_every_option_of_a_command_is_declared_once(command: str) -> None:
    names = [item.name for item in OPTIONS[command]]
    assert len(names) == len(set(names))


def test_the_arguments_of_commands_do_not_change() -> None:
    for command in COMMAND_TABLE:
        assert command.is_group or command.arguments().__dataclass_params__.frozen  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", [command.name for command in COMMAND_TABLE if not command.is_group])
def test_a_field_may_be_none_where_that_is_its_default(command: str) -> None:
    """Fields are declared by functions of any type, so mypy does not compare defaults with annotations."""
    (cls,) = (item.arguments() for item in COMMAND_TABLE if item.name == command)
    annotations = {name: text for base in reversed(cls.__mro__) for name, text in get_annotations(base).items()}
    optional = {name for name, text in annotations.items() if text.endswith("| None")}
    assert optional == {item.attribute for item in OPTIONS[command] if item.default is None and not item.required}


def test_a_setting_has_one_type_in_all_commands() -> None:
    """So a file of settings, which names no command, can be checked."""
    types: dict[str, set[object]] = {}
    for options in OPTIONS.values():
        for item in options:
            if item.is_setting:
                types.setdefault(item.name, set()).add((item.type, item.keywords.get("choices"), item.needs))
    assert {name: values for name, values in types.items() if len(values) > 1} == {}


def test_the_help_of_docs_names_every_form() -> None:
    """A name such as pubmed-*.txt counts by its suffix."""
    patterns = [*formats._BY_NAME, *formats._OPEN_NAMES]
    words = re.findall(r"\.\w+", DOCS)
    assert sorted(words) == sorted({f".{pattern.rpartition('.')[2]}" for pattern in patterns} | {".gz"})


def test_there_are_few_options() -> None:
    assert sum(map(len, FLAGS.values())) <= 300
    assert len({name for names in FLAGS.values() for name in names}) <= 110
    assert len(FLAGS["rerank"]) <= 25


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_short_and_complete_help_has_every_option_and_setting(command: str) -> None:
    parser = COMMANDS[command]
    usual, full = parser.format_help(), parser.format_full_help()
    assert len(usual.splitlines()) <= 60
    assert len(re.findall(r"^  --", usual, re.MULTILINE)) - 1 <= 20  # without --help-all
    declared = [item.name for item in parser.options if "-" in item.name or "." in item.name]
    assert [name for name in declared if name not in full] == []


@pytest.mark.parametrize(
    ("command", "option", "written"),
    [
        ("rerank", "--llm-timeout", "--set llm.timeout=VALUE"),
        ("tune", "--calls", "--set tune.calls=VALUE"),
        ("rerank", "--cache-folder", "--set cache.folder=VALUE"),
        ("rerank", "--from", "--set filter.from=VALUE"),
        ("rerank", "--year", "--set filter.from=VALUE"),
        ("rerank", "--types", "--set filter.type=VALUE"),
        ("rerank", "--min-prob", "--set output.min_probability=VALUE"),
        ("rerank", "--topk", "--top-k"),
        ("rerank", "--top", "--top-k"),
        ("rerank", "--limit", "--top-k"),
        ("rerank", "--out", "--output"),
        ("rerank", "--csv", "--format csv, or --output FILE.csv"),
        ("rerank", "--ris", "--format ris, or --output FILE.ris"),
        ("rerank", "--query", "QUERY by itself"),
        ("search", "--top_k", "--top-k"),
    ],
)
def test_an_unknown_option_gets_the_nearest_name_or_the_setting_that_does_it(
    command: str, option: str, written: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = {"rerank": ["a"], "tune": ["s", "--output", "w"], "search": ["a", "--index", "i"]}[command]
    for arguments in ([option, "3"], [f"{option}=3"]):
        with pytest.raises(SystemExit):
            make_parser().parse_args([command, *words, *arguments])
        assert capsys.readouterr().err.endswith(f"; use {written}\n")


def test_an_option_that_resembles_none_gets_no_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        make_parser().parse_args(["rerank", "a", "--nonsense", "--frobnicate"])
    assert capsys.readouterr().err.endswith("unrecognized arguments: --nonsense --frobnicate\n")

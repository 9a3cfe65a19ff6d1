"""The declaration of a command's arguments: fields of a dataclass, in the order of declaration, own ones first."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from mpir.app.cli.option import arguments_of, flag, option, options_of, positional, setting
from mpir.app.cli.parser_options import add_options
from mpir.app.cli.settings import check_needs
from mpir.errors import InputError


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    device: str = option("--device", help="where", default="auto")
    models: Sequence[str] = option("--model", "--models", help="which", default=[], action="append")
    dry: bool = setting("model.dry", help="load nothing", default=False, needs="--model")


@dataclass(frozen=True, kw_only=True)
class RunOptions(ModelOptions):
    file: Path = positional(help="what to read", type=Path)
    device: str = option("--device", help="where it runs", default="cpu")
    quiet: bool = flag("--quiet", help="no output")
    limits: Sequence[tuple[str, int]] = setting("limit.*", help="limits by name", type=int, default=())
    derived = "no field"


def parse(*words: str) -> tuple[argparse.Namespace, RunOptions]:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_options(parser, options_of(RunOptions))
    parsed = parser.parse_args(words)
    return parsed, arguments_of(RunOptions, parsed)


def test_own_options_come_before_inherited_ones_and_replace_them_in_their_place() -> None:
    options = options_of(RunOptions)
    assert [item.name for item in options] == ["file", "--quiet", "limit.*", "--device", "--model", "model.dry"]
    assert (options[3].help, options[3].default) == ("where it runs", "cpu")


def test_parsed_arguments_are_the_dataclass() -> None:
    _, arguments = parse("a.txt")
    assert arguments == RunOptions(file=Path("a.txt"))
    words = ("--models", "one", "--model", "two", "--quiet", "--set", "limit.a=1", "--set", "limit.b=2")
    _, arguments = parse("a.txt", *words)
    assert arguments == RunOptions(file=Path("a.txt"), models=["one", "two"], quiet=True, limits=(("a", 1), ("b", 2)))
    assert RunOptions(file=Path("a.txt")).models == []  # the default is not shared


def test_a_setting_needs_the_option_that_it_is_for() -> None:
    parsed, _ = parse("a.txt", "--set", "model.dry=true")
    with pytest.raises(InputError, match="needs --model"):
        check_needs(options_of(RunOptions), parsed)
    check_needs(options_of(RunOptions), parse("a.txt", "--model", "x", "--set", "model.dry=true")[0])

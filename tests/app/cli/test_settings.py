"""Rare settings: by --set, from mpir.toml and from the environment, in that order, and unknown names refused."""

import argparse
from pathlib import Path

import pytest

from mpir.app.cli import main, make_parser
from mpir.app.cli.option_table import OPTIONS
from mpir.app.cli.parser import Arguments, replace
from mpir.app.cli.settings import check_needs
from mpir.errors import InputError

RERANK = ["rerank", "a query", "--docs", "d.jsonl"]


def parse(*words: str) -> argparse.Namespace:
    return make_parser().parse_args([*RERANK, *words])


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_setting_comes_from_the_command_line_the_environment_or_the_file(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert parse().llm_timeout is None
    (empty_folder / "mpir.toml").write_text("[llm]\ntimeout = 120\nbody = {seed = 1}\n[cache]\nlimit = 9\n")
    arguments = parse()
    assert (arguments.llm_timeout, arguments.llm_body, arguments.cache_limit) == (120.0, {"seed": 1}, 9)
    monkeypatch.setenv("MPIR_LLM_TIMEOUT", "90")
    assert parse().llm_timeout == 90.0
    assert parse("--set", "llm.timeout=60").llm_timeout == 60.0
    assert make_parser().parse_args(["tune", "scored", "--output", "w"]).calls == 25  # which has no such setting


def test_values_have_the_types_of_their_settings() -> None:
    words = ["model.only=true", "model.level=both", "batch.tokens=512", "llm.price=0.15,0.6", "filter.type=a,b"]
    arguments = parse(*(word for setting in words for word in ("--set", setting)))
    assert (arguments.only_model, arguments.level, arguments.tokens_per_batch) == (True, "both", 512)
    assert (arguments.llm_price, arguments.type) == ((0.15, 0.6), ("a", "b"))


def test_a_setting_with_a_name_of_its_own_is_collected() -> None:
    arguments = parse("--set", "beta.dense=0.5", "--set", "beta.llm=2", "--set", "model.max_length=99")
    assert arguments.beta == (("dense", 0.5), ("llm", 2.0))
    assert arguments.model_options == (("max_length", 99),)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("llm.timout=3", "unknown setting 'llm.timout' (expected one of --help-all, such as llm.timeout"),
        ("llm.timeout=soon", "llm.timeout: invalid 'soon' (expected a number)"),
        ("llm.timeout", "invalid 'llm.timeout' (expected NAME=VALUE"),
        ("model.level=page", "model.level: invalid 'page' (expected document or sentence or both)"),
        ("model.only=perhaps", "model.only: invalid 'perhaps' (expected true or false)"),
        ("tune.calls=3", "unknown setting 'tune.calls'"),
    ],
)
def test_a_wrong_setting_is_refused(setting: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        parse("--set", setting)
    assert end.value.code == 2
    assert message in capsys.readouterr().err


def test_a_wrong_file_or_variable_is_refused(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (empty_folder / "mpir.toml").write_text("[llm]\ntimout = 120\n")
    assert main(RERANK) == 2
    assert "mpir.toml: unknown setting 'llm.timout'" in capsys.readouterr().err
    (empty_folder / "mpir.toml").write_text("[llm\n")
    assert main(RERANK) == 2
    assert "mpir.toml: is no TOML" in capsys.readouterr().err
    (empty_folder / "mpir.toml").unlink()
    monkeypatch.setenv("MPIR_LLM_TIMOUT", "3")
    assert main(RERANK) == 2
    assert (
        "$MPIR_LLM_TIMOUT: unknown setting 'MPIR_LLM_TIMOUT' (expected one of --help-all, such as MPIR_LLM_TIMEOUT"
        in (capsys.readouterr().err)
    )


@pytest.mark.parametrize(
    ("setting", "option"),
    [("llm.timeout=3", "--llm"), ("lexicon.partial=0.6", "--lexicon"), ("ray.gpus_per_worker=1", "--ray")],
)
def test_a_setting_needs_its_option(setting: str, option: str) -> None:
    with pytest.raises(InputError, match=rf"needs {option}\. Add it"):
        check_needs(OPTIONS, parse("--set", setting))


def test_parsed_arguments_do_not_change() -> None:
    arguments = Arguments(**vars(parse()))
    with pytest.raises(AttributeError, match="do not change"):
        arguments.top_k = 3
    assert (replace(arguments, top_k=3).top_k, arguments.top_k) == (3, None)

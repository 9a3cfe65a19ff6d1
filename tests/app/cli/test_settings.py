"""Rare settings: by --set, from mpir.toml and from the environment, in that order, and unknown names refused."""

import argparse
import re
from pathlib import Path

import pytest

import mpir
from mpir.app.cli import main, make_parser
from mpir.app.cli.command_table import own_options
from mpir.app.cli.settings import check_needs
from mpir.app.cli.stored_settings import OTHER_VARIABLES
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
    (empty_folder / "mpir.toml").write_text("[llm]\ntimeout = 120\nprice = [0.5, 2]\n[cache]\nlimit = 9\n")
    arguments = parse()
    assert (arguments.llm_timeout, arguments.llm_price, arguments.cache_limit) == (120.0, (0.5, 2.0), 9)
    monkeypatch.setenv("MPIR_LLM_TIMEOUT", "90")
    assert parse().llm_timeout == 90.0
    assert parse("--set", "llm.timeout=60").llm_timeout == 60.0
    assert make_parser().parse_args(["tune", "scored", "--output", "w"]).calls == 25  # which has no such setting


def test_values_have_the_types_of_their_settings() -> None:
    words = ["model.only=true", "model.level=both", "batch.tokens=512", "llm.price=0.15,0.6", "filter.type=a,b"]
    arguments = parse(*(word for setting in words for word in ("--set", setting)))
    assert (arguments.only_model, arguments.level, arguments.tokens_per_batch) == (True, "both", 512)
    assert (arguments.llm_price, arguments.types) == ((0.15, 0.6), ("a", "b"))


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
    (empty_folder / "mpir.toml").write_text("a = " + "[" * 30_000)
    assert main(RERANK) == 2
    assert "mpir.toml: is no TOML (too deeply nested)" in capsys.readouterr().err
    (empty_folder / "mpir.toml").write_text("#" * 2**17)
    assert main(RERANK) == 2
    assert "mpir.toml: has more than 65,536 bytes" in capsys.readouterr().err
    (empty_folder / "mpir.toml").write_text("[llm]\ntimeout = 'soon'\n")
    assert main(RERANK) == 2
    assert "mpir.toml: llm.timeout: invalid 'soon'" in capsys.readouterr().err
    (empty_folder / "mpir.toml").unlink()
    monkeypatch.setenv("MPIR_LLM_TIMOUT", "3")
    assert main(RERANK) == 2
    assert "$MPIR_LLM_TIMOUT: unknown setting 'MPIR_LLM_TIMOUT'" in (capsys.readouterr().err)


def test_every_variable_is_a_setting_or_known_to_be_none() -> None:
    """So that none of them makes a command look for settings in the modules of all others."""
    texts = [path.read_text(encoding="utf-8") for path in Path(mpir.__file__).parent.rglob("*.py")]
    variables = {name for text in texts for name in re.findall(r"\bMPIR_[A-Z_]*[A-Z]\b", text)}
    settings = {f"MPIR_{item.name.upper().replace('.', '_')}" for item in own_options()}
    assert variables - settings == {*OTHER_VARIABLES}


@pytest.mark.parametrize(
    "line",
    [
        "pubmed.eutils = 'http://127.0.0.1:9'",
        "pubmed.europepmc = 'http://127.0.0.1:9'",
        "pubmed.email = 'somebody@example.org'",
        "cache.folder = 'theirs'",
        "cache.folder = 5",
        "llm.body = {model = 'other'}",
        "model.revision = 'refs/pr/1'",
        "model.query_template = '{query}'",
        "lexicon.triggers = 'theirs.txt'",
        "search.dense_weight = 'theirs.json'",
        "tune.log = '/tmp/log'",
        "sia.entities = 'scispacy:./theirs'",
        "train.checkpoint = 'theirs'",
    ],
)
def test_a_file_that_nobody_named_gives_no_address_path_or_text(
    line: str, empty_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (empty_folder / "mpir.toml").write_text(line)
    assert main(RERANK) == 2
    name = line.partition(" ")[0]
    message = capsys.readouterr().err
    assert f"mpir.toml: {name} is not taken" in message
    assert f"--set {name}=VALUE gives it" in message


def test_only_numbers_switches_and_fixed_words_may_come_from_the_folder(empty_folder: Path) -> None:
    """A setting of a new type is refused there until somebody has thought about it."""
    for item in {item.name: item for item in own_options()}.values():
        if item.is_setting and "choices" not in item.keywords and item.type not in (int, float):
            (empty_folder / "mpir.toml").write_text(f'{item.name.replace("*", "name")} = "./theirs"\n')
            with pytest.raises(InputError, match=r"working folder|theirs"):
                make_parser()


def test_what_the_folder_sets_is_named_once(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    corpus, file = empty_folder / "d.jsonl", empty_folder / "mpir.toml"
    corpus.write_text('{"id": "1", "title": "Aspirin", "text": "Aspirin thins blood."}\n')
    file.write_text("[output]\nmin_probability = 0\n[cache]\nlimit = 9000000\n[tune]\ncalls = 9\n")
    command = ["rerank", "aspirin", "--docs", "d.jsonl", "--device", "cpu", "--bundle", "fast"]
    assert main([*command, "--set", "cache.folder=none", "--set", "cache.limit=1000000"]) == 0
    assert [record.getMessage() for record in caplog.records] == [
        f"{file}: this folder's file sets output.min_probability."
    ]
    caplog.clear()
    monkeypatch.setenv("MPIR_OUTPUT_MIN_PROBABILITY", "0")
    monkeypatch.setenv("MPIR_CACHE_LIMIT", "9000000")
    assert main([*command, "--set", "cache.folder=none"]) == 0
    assert caplog.records == []


@pytest.mark.parametrize(
    ("words", "setting", "needed"),
    [
        ("search --index i", "search.fusion=sum", "--mode hybrid"),
        ("search --index i --mode dense", "search.fusion=sum", "--mode hybrid"),
        ("search --index i --mode hybrid", "search.dense_weight=0.2", "search.fusion=sum"),
        ("search --index i", "search.dense_weight=0.2", "search.fusion=sum"),
        ("bioasq --mode dense", "bm25.k1=2", "--mode bm25 or hybrid"),
        ("score --output o --mode dense", "bm25.question_words=false", "--mode bm25 or hybrid"),
        ("search --index i --mode dense", "rm3.terms=20", "--mode bm25 or hybrid"),
        ("tune s --output o --method cutoffs", "tune.loops=2", "--method alternating or joint or random"),
        ("tune s --output o --method cutoffs", "tune.context=topic", "--method alternating or joint or random"),
        ("tune s --output o --method cutoffs", "tune.log=a.jsonl", "--method alternating or joint or random"),
        ("data sia --qasc q --output o", "sia.entities=terms", "--vectors"),
        ("data sia --qasc q --output o", "sia.epochs=2", "--writer"),
        ("data sia --bioasq b --corpus c --output o", "sia.threshold=2", "--qasc"),
        ("tune s --output o --method random", "tune.acquisition=PI", "--method alternating or joint"),
    ],
)
def test_a_setting_needs_the_value_of_an_option_with_which_it_has_an_effect(
    words: str, setting: str, needed: str
) -> None:
    parsed = make_parser().parse_args([*words.split(), "--set", setting])
    with pytest.raises(InputError) as raised:
        check_needs(parsed.run.options(), parsed)
    assert f"needs {needed}." in str(raised.value)


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        ("search --index i --mode hybrid", ("search.dense_weight=0.2", "search.fusion=sum", "rm3.terms=20")),
        ("search --index i", ("bm25.k1=2", "rm3.terms=20")),
        ("tune s --output o --method joint", ("tune.acquisition=PI", "tune.loops=2")),
        ("tune s --output o", ("tune.initial=3", "tune.context=topic")),
    ],
)
def test_settings_with_an_effect_need_nothing(words: str, settings: tuple[str, ...]) -> None:
    options = [word for setting in settings for word in ("--set", setting)]
    parsed = make_parser().parse_args([*words.split(), *options])
    check_needs(parsed.run.options(), parsed)


@pytest.mark.parametrize(
    ("setting", "option"),
    [("llm.timeout=3", "--llm"), ("lexicon.partial=0.6", "--lexicon"), ("ray.gpus_per_worker=1", "--ray")],
)
def test_a_setting_needs_its_option(setting: str, option: str) -> None:
    parsed = parse("--set", setting)
    with pytest.raises(InputError, match=rf"needs {option}\."):
        check_needs(parsed.run.options(), parsed)

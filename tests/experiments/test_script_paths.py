"""Options that are paths, of every script: of the types that the commands have, which check and expand them."""

import ast
import re
from pathlib import Path

import pytest

from tests.experiments.conftest import ROOT, RunScript

SCRIPTS = sorted(
    path for folder in ("data_scripts", "experiments", "benchmarks") for path in (ROOT / folder).rglob("*.py")
)
TYPES = {"text_path", "file_path"}
NAMES = re.compile(r"--(output|data|json|bundles?|corpus|cache|indexe?s?|qrels|vectors|lexicon|weights|encoder)$")
METAVARS = re.compile(r"FILE|DIR|PATH|FOLDER|CHECKPOINT")


def path_options(script: Path) -> list[tuple[str, str]]:
    """The name and the type of each option that is a path."""
    options = []
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
            keywords = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            name = next((value.value for value in node.args if isinstance(value, ast.Constant)), "")
            is_path = NAMES.match(str(name)) or METAVARS.search(keywords.get("metavar", ""))
            if keywords.get("type") in {"Path", *TYPES} or (
                is_path and keywords.keys().isdisjoint({"action", "choices"})
            ):
                options.append((str(name), keywords.get("type", "")))
    return options


def test_every_path_option_of_a_script_is_checked() -> None:
    options = [(script, *option) for script in SCRIPTS for option in path_options(script)]
    assert len(options) > 120
    assert [option for option in options if option[2] not in TYPES] == []


@pytest.mark.parametrize(
    ("script", "options"),
    [
        ("data_scripts/document_frequencies.py", ["--output"]),
        ("data_scripts/generate_sia.py", ["--output", "x", "--qasc"]),
        ("experiments/ranking/compare_bundles.py", []),
        ("benchmarks/serve.py", ["--json"]),
    ],
)
def test_a_path_that_cannot_be_is_one_sentence(
    run_script: RunScript, script: str, options: list[str], tmp_path: Path
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for path, message in {
        "a\0b": r"the path 'a\x00b' contains a NUL character, which no file name can have; remove it.",
        "b\udce4": r"the path 'b\udce4' is not UTF-8; rename the file or folder.",
        str(tmp_path / "loop"): "is a cycle of symbolic links; remove one of them.",
    }.items():
        finished = run_script(script, *options, path)
        assert finished.returncode == 2
        assert finished.stderr.splitlines()[-1].endswith(message)

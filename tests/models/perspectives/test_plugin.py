"""A perspective of an installed package: the one that the guide shows, found by its entry point."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[3] / "docs/guides/perspectives.md"
INSTALL = "pip install --quiet --no-deps --no-build-isolation --no-index --target"
RANK = """
from mpir import Reranker
ranking = Reranker("./bundle").rerank("How large is the dose?", ["It was given.", "It was 5 mg in 2 trials."])
print([document.index for document in ranking], ranking[0].sentences[0].scores)
"""


def block(language: str) -> str:
    """The guide's first block in a language."""
    return re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the guide's bundle, and its package installed into a folder of its own."""
    pytest.importorskip("setuptools")
    package = tmp_path / "package"
    package.mkdir()
    code, _, _ = block("python").partition("\nReranker(")
    (package / "numbers_perspective.py").write_text(code)
    (package / "pyproject.toml").write_text(block("toml"))
    command = [sys.executable, "-m", *INSTALL.split(), str(tmp_path / "installed"), str(package)]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle/bundle.json").write_text(json.dumps(json.loads(block("json"))))
    return tmp_path


def test_the_guides_plugin_ranks(folder: Path) -> None:
    path = os.pathsep.join([str(folder / "installed"), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-c", RANK]
    finished = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, cwd=folder, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout == "[1, 0] {'numbers': 2.0}\n"


def test_without_the_package_the_kind_is_unknown(folder: Path) -> None:
    finished = subprocess.run([sys.executable, "-c", RANK], cwd=folder, capture_output=True, text=True, check=False)
    assert "perspective kind 'numbers' is unknown" in finished.stderr

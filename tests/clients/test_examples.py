"""The examples of docs/guides/integrations.md, each with its true library, which the clients' environments have."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/guides/integrations.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"^## (\S+)\n.*?```python\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL))
EXPECTED = {
    "LangChain": ("langchain_core", r"^b 0\.\d+\n$"),
    "LlamaIndex": ("llama_index.core", r"^-?\d\S* Mutations of CFTR cause cystic fibrosis\.\n$"),
    "Haystack": ("haystack", r"^Mutations of CFTR cause cystic fibrosis\.\n$"),
    "PyTerrier": ("pyterrier", r"\n\d +b +0 +\S+\n\d +a +1 +\S+\n$"),
    "rerankers": ("rerankers", r"^Mutations of CFTR cause cystic fibrosis\.\n$"),
    "rank_llm": ("json", r'"candidates": \[\{"docid": "b", .*"docid": "a"'),
}
"""The library that an example needs, and what it prints."""


def test_every_drop_in_has_an_example() -> None:
    assert set(EXAMPLES) == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_finds_the_answer(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    library, printed = EXPECTED[name]
    for needed in (library, "torch"):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    exec(compile(EXAMPLES[name], name, "exec"), {})
    assert re.search(printed, capsys.readouterr().out)

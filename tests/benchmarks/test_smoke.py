"""The smoke run names every script that can be started, so that no published command rots."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LEFT_OUT = {
    "benchmarks/smoke.py": "runs the others",
    "benchmarks/plain_server.py": "is started by serve.py",
    "experiments/common/publish.py": "writes into docs; tests/docs/test_figures.py runs it",
    "experiments/pubmed/live.py": "asks PubMed itself; tests/experiments/test_pubmed.py runs it against a stand-in",
    "experiments/ranking/compare_bundles.py": "reads what evaluation.py wrote; tests/experiments/test_evaluation.py",
    "experiments/training/ablation.py": "has no run of seconds; tests/experiments/test_ablation.py",
    "experiments/stopping/variants.py": "has no run of seconds: it screens five reviews in 27 ways",
}


def test_every_script_is_run_or_left_out_for_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import smoke

    scripts = {
        path.relative_to(ROOT).as_posix()
        for folder in ("benchmarks", "experiments")
        for path in (ROOT / folder).rglob("*.py")
        if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
    }
    named = {script.name for script in smoke.SCRIPTS}
    run = {
        f"{name.replace('.', '/')}.py" if "." in name else f"benchmarks/{name}.py"
        for name in named
        if not name.startswith("mpir ")
    }
    run |= {f"{name.replace('.', '/')}/__main__.py" for name in named if "." in name}
    assert scripts - run == set(LEFT_OUT), "add the script to SCRIPTS of benchmarks/smoke.py"


def printed_commands(text: str) -> list[tuple[str, list[str]]]:
    """The commands in a page's tables: the script, and the words behind it; options alone belong to the one before."""
    commands, name = [], ""
    for row in re.findall(r"^\| (?!shows|---)(.*)", text, re.MULTILINE):
        for span in re.findall("`([^`]+)`", row.split(" | ")[1]):
            words = span.split()
            if not span.startswith("--") and (span.startswith("mpir ") or not span.endswith(".jsonl")):
                count = next((n for n, word in enumerate(words) if word.startswith("--")), len(words))
                count = count if words[0] == "mpir" else 1
                name, words = " ".join(words[:count]), words[count:]
                name = name if name.startswith("mpir ") else f"experiments.{name}"
            if not span.endswith(".jsonl"):
                commands.append((name, words))
    return commands


def test_the_commands_of_a_page_are_read() -> None:
    text = "| shows | command | x |\n| --- | --- | --- |\n| a | `mpir data x --by LIST`, in `log.jsonl` | |\n"
    text += "| b | `radiology folds` | `--no` |\n| c | the same, `--queries A` | |\n"
    assert printed_commands(text) == [
        ("mpir data x", ["--by", "LIST"]),
        ("experiments.radiology", ["folds"]),
        ("experiments.radiology", ["--queries", "A"]),
    ]


def test_the_papers_commands_are_run_with_the_options_that_the_page_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word in capitals stands for any value."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import smoke

    commands = printed_commands((ROOT / "docs/evidence/papers.md").read_text(encoding="utf-8"))
    assert len(commands) > 25
    for name, words in commands:
        pattern = " ".join(r"\S+" if word.isupper() else re.escape(word) for word in words)
        runs = [script.arguments for script in smoke.SCRIPTS if script.name == name]
        pieces = [piece for piece in re.split(r" (?=--)", pattern.replace(r"\-\-", "--")) if piece]
        assert any(all(re.search(rf"(?:^| ){piece}(?: |$)", run) for piece in pieces) for run in runs), (name, words)

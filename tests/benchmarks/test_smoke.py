"""The smoke run names every script that can be started, so that no published command rots."""

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

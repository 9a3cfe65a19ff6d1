"""README prints what commands measured: its numbers are those of the JSON files in docs/evidence/figures."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "docs/evidence/figures"
README = (ROOT / "README.md").read_text(encoding="utf-8")
ROWS = {
    "BM25": "BM25",
    "all-MiniLM-L6-v2": "all-MiniLM-L6-v2",
    "BM25 + all-MiniLM-L6-v2": "BM25 + all-MiniLM-L6-v2",
    "mpir": "mpir",
    "mpir, `fast`": "mpir, fast",
}
"""What README calls a system, and what the file calls it."""
COLUMNS = {
    "BioASQ documents": "c documents",
    "BioASQ snippets": "c snippets",
    "one source, documents": "h documents",
    "one source, sentences": "h sentences",
    "MED": "d MED",
    "SciFact": "d SciFact",
    "NFCorpus": "d NFCorpus",
}
"""What README calls a set, and what the file calls it."""
ON_THE_CARD = ("c documents", "c snippets", "d MED")
"""The sets of README's table that the default bundle's card quotes."""


def read(name: str) -> dict[str, Any]:
    return json.loads((FIGURES / f"{name}.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def quality_table() -> dict[str, dict[str, str]]:
    """README's cells by row and column, without emphasis."""
    lines = re.findall(r"^\|.*\|$", README.split("<!-- figures")[1].split("\n\n", 2)[1], re.MULTILINE)
    cells = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines if "---" not in line]
    return {row[0]: dict(zip(cells[0], row, strict=True)) for row in cells[1:]}


def test_readmes_table_has_every_figure_of_its_command() -> None:
    figures, table = read("headline"), quality_table()
    assert {column: COLUMNS[column] for column in table["BM25"] if column} == {
        column: name for column, name in COLUMNS.items() if name in figures["means"]
    }
    for row, system in ROWS.items():
        for column, name in COLUMNS.items():
            if name in figures["means"]:
                mean, interval = (figures[key][name].get(system) for key in ("means", "intervals"))
                cell = "" if mean is None else f"{mean:.3f}<br>{interval[0]:.2f}–{interval[1]:.2f}"
                assert table[row][column].replace("*", "") == cell, (row, column)


def test_readme_says_how_many_questions_there_are_and_the_commit() -> None:
    section = README.split("## How good it is")[1].split("\n## ")[0]
    assert re.findall(r"^Commit (\w+)", section, re.MULTILINE)[0] == read("headline")["commit"]
    numbers = [read("headline")["questions"][name] for name in COLUMNS.values()]
    assert [number for number in numbers if not re.search(rf"\b{number}\b", section)] == []


@pytest.mark.parametrize("name", sorted(path.stem for path in FIGURES.glob("*.json")))
def test_figures_say_where_they_come_from(name: str) -> None:
    figures = read(name)
    assert set(figures) >= {"command", "commit", "date", "machine"}
    assert re.fullmatch(r"[0-9a-f]{7,40}", figures["commit"])


def test_publish_keeps_figures_with_their_origin(tmp_path: Path) -> None:
    (tmp_path / "raw.json").write_text('{"means": {"c": {"BM25": 0.5}}, "values": {"c": [0.25, 0.75]}}')
    options = ["--command", "python x.py", "--commit", "abc1234", "--output", str(tmp_path / "kept/figures.json")]
    command = [sys.executable, "-m", "experiments.common.publish", str(tmp_path / "raw.json"), *options]
    subprocess.run(command, check=True, cwd=ROOT)
    published = json.loads((tmp_path / "kept/figures.json").read_text())
    assert published["means"] == {"c": {"BM25": 0.5}}
    assert (published["command"], published["commit"]) == ("python x.py", "abc1234")
    assert "values" not in published


def test_the_cards_results_are_measured_ones() -> None:
    import yaml

    card = (ROOT / "mpir/bundles/default/CARD.md").read_text(encoding="utf-8")
    results = yaml.safe_load(card.split("---\n")[1])["model-index"][0]["results"]
    measured = {round(read("headline")["means"][name]["mpir"], 4) for name in ON_THE_CARD}
    assert {metric["value"] for result in results for metric in result["metrics"]} <= measured


CONTENDERS = ("mpir", "sentence-transformers, best", "sentence-transformers, default")
"""What README's speeds are of, by the names of benchmarks/scoring.py."""


def test_readmes_speeds_are_those_of_the_benchmark_or_name_their_commit() -> None:
    section = README.split("## How fast it is")[1].split("\n## ")[0]
    if not (FIGURES / "scoring.json").is_file():
        assert re.search(r"\(commit [0-9a-f]{7}", section)
        return
    contenders = read("scoring")["contenders"]
    speeds = [f"{contenders[name]['pairs_per_second']['median']:,.0f}" for name in CONTENDERS]
    assert [speed for speed in speeds if not re.search(rf"\b{speed}\b", section)] == []


@pytest.mark.parametrize(
    "contender", ["default", "sentence-transformers, CrossEncoder", "default, cascade auto", "fast, cascade auto"]
)
def test_readmes_seconds_for_100_abstracts_are_those_of_the_benchmark(contender: str) -> None:
    section = README.split("## How fast it is")[1].split("\n## ")[0]
    seconds = read("latency")["documents"]["100"][contender]["cold_p50"]
    assert re.search(rf"\b{seconds:.1f}\b", section)

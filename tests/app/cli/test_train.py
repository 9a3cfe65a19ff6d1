"""`mpir train` from a mixture to a bundle that reranks, and what it refuses before it trains."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mpir import Reranker
from mpir.app.cli import main
from mpir.files.weights import read_weights, write_weights
from mpir.models.bundles.bundle import seal

pytestmark = pytest.mark.slow

GOOD, BAD = "yes aspirin does thin blood", "the cell is in a gene"


@pytest.fixture
def options(tmp_path: Path, tiny_checkpoint: Path) -> dict[str, Any]:
    """Of a run over two perspectives whose answer is plain from a single word."""
    tasks = []
    for name, losses, top in (("relevance", ["bce", "listwise"], 1.0), ("sts", ["mse5"], 5.0)):
        rows = [
            {"id": f"q{i}", "question": "does aspirin thin blood", "sentence": text, "label": label}
            for i in range(12)
            for text, label in ((GOOD, top), (BAD, 0.0))
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        train = [{"file": f"{name}.jsonl", "epochs": 4}]
        tasks.append({"name": name, "losses": losses, "dev": f"{name}.jsonl", "train": train})
    settings = {"batch_size": 4, "learning_rate": 1.0, "max_length": 64}
    (tmp_path / "mixture.json").write_text(json.dumps({"settings": settings, "perspectives": tasks}))
    return {
        "--checkpoint": tiny_checkpoint,
        "--mixture": tmp_path / "mixture.json",
        "--output": tmp_path / "run",
        "--bundle": tmp_path / "made",
        "--set=train.batch_size=": 8,
        "--set=train.learning_rate=": 1e-2,
        "--device": "cpu",
    }


def words_of(options: dict[str, Any]) -> list[str]:
    """The words of a command line; a name that ends with "=" is one word with its value."""
    pairs = ([f"{name}{value}"] if name.endswith("=") else [name, str(value)] for name, value in options.items())
    return [word for pair in pairs for word in pair]


def train(options: dict[str, Any]) -> int:
    return main(["train", *words_of(options)])


def test_it_trains_and_makes_a_bundle(
    options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(options) == 0
    shown = capsys.readouterr().out
    assert f"best checkpoint: {tmp_path / 'run/best'}\n" in shown
    assert "relevance: expected calibration error" in shown
    assert (tmp_path / "run/curves.png").read_bytes().startswith(b"\x89PNG")
    steps = [json.loads(line) for line in (tmp_path / "run/log.jsonl").read_text().splitlines()]
    assert max(step.get("rows", 0) for step in steps) == 8  # the option counts more than the file
    reranker = Reranker(tmp_path / "made", device="cpu", precision="fp32")
    assert list(reranker.weights.alpha) == ["relevance", "sts"]
    best = reranker.rerank("does aspirin thin blood", [BAD, GOOD]).documents[0]
    assert best.index == 1
    assert 0 <= best.sentences[0].scores["sts"] <= 5


def test_no_bars_of_other_libraries_where_none_are_asked_for(
    options: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    options["--set=train.max_steps="] = 2
    arguments = words_of(options)
    assert main(["train", *arguments, "--quiet"]) == 0
    assert "%|" not in capsys.readouterr().err


def test_a_mixture_that_is_not_there(options: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    options["--mixture"].unlink()
    assert train(options) == 2
    assert "mixture.json: cannot be read" in capsys.readouterr().err


def test_a_place_where_no_bundle_can_go_is_refused_before_training(
    options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made/thesis.txt").write_text("years of work")
    assert train(options) == 2
    assert "made: exists and holds no bundle.json" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "others.jsonl: cannot be read"),
        ("{}\n", "others.jsonl:1: lacks id, question"),
        ("", "others.jsonl has 0 rows, 0 of them with a positive label; calibration needs some with and some without"),
        (1.0, "others.jsonl has 2 rows, 2 of them with a positive label"),
        (0.0, "others.jsonl has 2 rows, 0 of them with a positive label"),
    ],
)
def test_rows_that_calibrate_nothing_are_refused_before_training(
    options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], content: Any, message: str
) -> None:
    if isinstance(content, float):
        row = {"question": "does aspirin thin blood", "sentence": GOOD, "label": content}
        content = "".join(json.dumps({**row, "id": name}) + "\n" for name in "ab")
    if content is not None:
        (tmp_path / "others.jsonl").write_text(content)
    assert train({**options, "--calibrate": tmp_path / "others.jsonl"}) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_dev_rows_of_one_label_are_refused_for_a_bundle_and_not_without(
    options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dev.jsonl").write_text((tmp_path / "relevance.jsonl").read_text().splitlines()[0])
    mixture = json.loads(options["--mixture"].read_text())
    mixture["perspectives"][0]["dev"] = "dev.jsonl"
    options["--mixture"].write_text(json.dumps(mixture))
    options["--set=train.max_steps="] = 1
    assert train(options) == 2
    assert "relevance: dev has 1 rows, 1" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
    del options["--bundle"]
    assert train(options) == 0


def test_rows_to_calibrate_on_want_a_bundle(
    options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del options["--bundle"]
    assert train({**options, "--calibrate": tmp_path / "relevance.jsonl"}) == 2
    assert "--calibrate applies to" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_rows_to_calibrate_on_want_a_probability(
    options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mixture = json.loads(options["--mixture"].read_text())
    del mixture["perspectives"][0]  # what is left is scored from 0 to 5
    options["--mixture"].write_text(json.dumps(mixture))
    assert train({**options, "--calibrate": tmp_path / "relevance.jsonl"}) == 2
    said = capsys.readouterr().err
    assert "relevance.jsonl: none of the perspectives sts is a probability" in said
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_other_rows_calibrate(options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (tmp_path / "relevance.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "others.jsonl").write_text("".join(lines[:8]))
    assert train({**options, "--set=train.max_steps=": 1, "--calibrate": tmp_path / "others.jsonl"}) == 0
    assert "after scaling (8 rows," in capsys.readouterr().out


def test_a_damaged_log_costs_the_curves_and_no_bundle(
    options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options["--set=train.max_steps="], bundle = 1, options.pop("--bundle")
    assert train(options) == 0
    log = tmp_path / "run/log.jsonl"
    log.write_text('{"step": 0, "ta' + log.read_text())
    assert train({**options, "--bundle": bundle}) == 2
    assert "log.jsonl:1: not valid JSON" in capsys.readouterr().err
    assert (bundle / "bundle.json").is_file()


def test_a_bundle_that_was_changed_since_is_not_replaced(
    options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(options) == 0
    assert train(options) == 0  # it is as it was made
    weights = read_weights(tmp_path / "made/weights.json")
    write_weights(tmp_path / "made/weights.json", replace(weights, alpha={**weights.alpha, "sts": 7.0}))
    seal(tmp_path / "made")
    before = {path: path.read_bytes() for path in (tmp_path / "made").rglob("*.json")}
    assert train(options) == 2
    assert "made: is not replaced, since weights.json" in capsys.readouterr().err
    (tmp_path / "made/notes.txt").write_text("a week of work")
    assert train(options) == 2
    assert "also contains notes.txt" in capsys.readouterr().err
    assert all(path.read_bytes() == content for path, content in before.items())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"--bundle": "run"}, "run: is also --output"),
        ({"--bundle": "run/best"}, "run/best: is also --output"),
        ({"--bundle": "."}, "holds --mixture"),
        (
            {"--checkpoint": "run/best"},
            "run/best: is also --checkpoint",
        ),
    ],
)
def test_folders_that_would_be_written_over_are_refused_before_training(
    options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], changed: dict[str, str], message: str
) -> None:
    shutil.copytree(options["--checkpoint"], tmp_path / "run/best")
    assert train({**options, **{name: tmp_path / path for name, path in changed.items()}}) == 2
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["best"]


@pytest.mark.parametrize(("name", "content"), [("log.jsonl", "7\nmy log"), ("curves.png", "a picture")])
def test_a_folder_with_files_of_the_users_is_no_run(
    options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_text(content)
    assert train(options) == 2
    assert f"run/{name}: exists and was not" in capsys.readouterr().err
    assert (tmp_path / "run" / name).read_text() == content

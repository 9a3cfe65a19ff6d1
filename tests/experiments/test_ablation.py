"""The ablation driver: which runs it plans, how it blends, and the whole of it on a tiny model."""

import json
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import make_checkpoint

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
SCRIPT: dict[str, Any] = runpy.run_path(str(EXPERIMENTS / "training/ablation.py"))
GOOD, BAD, WORSE = "yes aspirin does thin blood", "the cell is in a gene", "placebo and a trial"


@pytest.fixture
def mixture(tmp_path: Path) -> Path:
    """Relevance from two files, one of them with two kinds of negatives, and STS from one."""

    def write(name: str, *rows: tuple[str, float, str]) -> None:
        common = {"question": "does aspirin thin blood"}
        lines = [
            {**common, "id": f"q{i}", "sentence": text, "label": label, "kind": subset}
            for i in range(6)
            for text, label, subset in rows
        ]
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))

    write("a.jsonl", (GOOD, 1.0, "golden"), (BAD, 0.0, "bm25"), (WORSE, 0.0, "mined"))
    write("b.jsonl", (GOOD, 1.0, "in-document"), (BAD, 0.0, "in-document"))
    write("sts.jsonl", (GOOD, 5.0, "sts-b"), (BAD, 0.0, "sts-b"))
    relevance = {"name": "relevance", "losses": ["bce", "listwise"], "dev": "b.jsonl"}
    sts = {"name": "sts", "losses": ["mse5"], "dev": "sts.jsonl", "train": [{"file": "sts.jsonl"}]}
    declared = [{**relevance, "train": [{"file": "a.jsonl"}, {"file": "b.jsonl"}]}, sts]
    settings = {"batch_size": 6, "max_length": 32, "precision": "fp32"}
    (tmp_path / "mixture.json").write_text(json.dumps({"perspectives": declared, "settings": settings}))
    return tmp_path / "mixture.json"


def call(monkeypatch: pytest.MonkeyPatch, *options: object) -> int:
    monkeypatch.setattr(sys, "argv", ["ablation.py", *map(str, options)])
    return int(SCRIPT["main"]())


def test_each_part_is_left_out_once(
    mixture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--mixture", mixture, "--checkpoint", "none", "--output", tmp_path / "runs", "--list"]
    assert call(monkeypatch, *options, "--parts", "perspectives", "files", "kinds") == 0
    assert capsys.readouterr().out.split("\n")[:-1] == [
        "everything",
        "without relevance",
        "without sts",
        "without a.jsonl",
        "without b.jsonl",
        "without a.jsonl:bm25",
        "without a.jsonl:mined",  # b.jsonl:in-document is all of b.jsonl
        "7 runs of 1 batches",
    ]


def test_the_blend_is_measured_on_the_other_half_of_the_questions() -> None:
    groups, labels = ["a", "a", "b", "b", "c"], [1.0, 0.0, 1.0, 0.0, 0.0]
    # Question a needs the second column, question b is spoilt by it; c has no positive.
    scores = np.array([[0.5, 1.0], [0.61, 0.0], [0.61, 0.0], [0.5, 1.0], [0.0, 0.0]])
    np.testing.assert_allclose(SCRIPT["blended"](groups, labels, scores), [0.5, 0.5])
    np.testing.assert_allclose(SCRIPT["blended"](groups, labels, scores[:, :1]), [0.5, 1.0])


def test_the_table_shows_means_over_seeds_and_their_spread() -> None:
    def run(dev: float, *values: float) -> dict[str, Any]:
        return {"dev": {"relevance": dev, "mean": dev}, "blend": {"": list(values)}}

    result = {"everything": [run(0.5, 0.4, 0.6), run(0.7, 0.6, 0.8)], "without a": [run(0.1, 0.5, 0.5), run(0.3, 0, 0)]}
    complete, without = SCRIPT["table"](result)
    assert complete == ["everything", pytest.approx(0.6), "0.6000 (0.5000 to 0.7000)", "", ""]
    assert without[:4] == ["without a", pytest.approx(0.2), "0.2500 (0.0000 to 0.5000)", pytest.approx(-0.35)]
    assert next(iter(SCRIPT["table"]({"everything": result["everything"][:1]})))[2] == "0.5000"


def test_runs_of_equal_length_and_a_table(
    mixture: Path,
    tiny_checkpoint: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    output = tmp_path / "runs"
    options = ["--mixture", mixture, "--checkpoint", tiny_checkpoint, "--output", output, "--share", "0.5"]
    options += ["--device", "cpu", "--parts", "perspectives", "losses", "--seeds", 1, 2]
    assert call(monkeypatch, *options) == 0
    table = capsys.readouterr().out
    assert "everything, its blend without sts" in table
    assert "lambda, not bce + listwise" in table
    logs = [log.read_text().splitlines() for log in output.glob("*/*/log.jsonl")]
    assert len({sum("loss" in line for line in log) for log in logs}) == 1
    results = json.loads((output / "ablation.json").read_text())
    assert [set(item["dev"]) for item in results["without sts"]] == [{"relevance", "mean"}] * 2
    assert len(results["everything"][0]["blend"]["relevance"]) == 6
    for checkpoint in output.glob("*/*/best"):
        (checkpoint / "model.safetensors").unlink()
    assert call(monkeypatch, *options) == 0  # finished runs are not trained again
    assert capsys.readouterr().out == table
    assert call(monkeypatch, *options[:-3], "--seeds", 1, 1) == 2
    assert "one stands there twice" in capsys.readouterr().err
    (mixture.parent / "sts.jsonl").open("a").write((mixture.parent / "sts.jsonl").read_text().splitlines()[0] + "\n")
    assert call(monkeypatch, *options) == 2  # nor are runs on other data mixed with them
    assert f"{output / '1/everything'}: was made with other" in capsys.readouterr().err


def test_a_perspective_may_be_chosen_by_a_search_but_for_the_first(
    mixture: Path,
    tiny_checkpoint: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    record = {"id": "q", "body": "does aspirin thin blood", "type": "yesno"}
    gold = ["http://www.ncbi.nlm.nih.gov/pubmed/1"]
    (tmp_path / "dev.json").write_text(json.dumps({"questions": [{**record, "documents": gold}]}))
    texts = "".join(
        json.dumps({"id": i, "title": "", "abstract": text}) + "\n" for i, text in (("1", GOOD), ("2", BAD))
    )
    (tmp_path / "corpus.jsonl").write_text(texts)
    declared = json.loads(mixture.read_text())
    relevance, _ = declared["perspectives"]
    search = {"questions": "dev.json", "corpus": ["corpus.jsonl"]}
    dense = {"name": "dense", "losses": ["in-batch"], "dev": search, "train": [{"file": "a.jsonl"}]}
    mixture.write_text(json.dumps({**declared, "perspectives": [relevance, dense]}))
    options = ["--mixture", mixture, "--checkpoint", tiny_checkpoint, "--output", tmp_path / "runs", "--share", "0.5"]
    options += ["--device", "cpu", "--parts", "perspectives"]
    assert call(monkeypatch, *options) == 0
    assert "everything, its blend without dense" in capsys.readouterr().out
    (tmp_path / "corpus.jsonl").write_text(texts.replace(BAD, WORSE))
    assert call(monkeypatch, *options) == 2  # what is searched counts as data, too
    assert f"{tmp_path / 'runs/1/everything'}: was made with other" in capsys.readouterr().err
    mixture.write_text(json.dumps({**declared, "perspectives": [dense, relevance]}))
    assert call(monkeypatch, *options) == 2
    assert f"{mixture}: the blend is measured" in capsys.readouterr().err


def test_runs_from_a_checkpoint_that_was_replaced_are_not_taken_up(
    mixture: Path, tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tiny_checkpoint, tmp_path / "start")
    options = [
        "--mixture",
        mixture,
        "--checkpoint",
        tmp_path / "start",
        "--output",
        tmp_path / "runs",
        "--share",
        "0.3",
    ]
    options += ["--device", "cpu", "--parts", "perspectives"]
    assert call(monkeypatch, *options) == 0
    make_checkpoint(tmp_path / "start", outputs=3, seed=5)
    assert call(monkeypatch, *options) == 2

"""Grids of bi-encoders and the thesis's own recipe, on tiny stand-ins in the true formats, with a random encoder."""

import gzip
import json
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.core.text import Question

pytest.importorskip("faiss")
ROOT = Path(__file__).parents[2]
TEXTS = [
    "aspirin does thin the blood of patients",
    "a heart attack is a risk of patients",
    "the gene is in a cell",
    "no risk of aspirin in the trial",
    "placebo in a trial of patients",
    "the blood is in the heart",
]
QUERIES = ["does aspirin thin blood", "is a heart attack a risk", "gene in a cell", "risk of aspirin", "placebo trial"]
QUERIES += ["blood in the heart", "aspirin blood", "heart risk", "cell gene", "trial of patients"]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    def load(name: str, *arguments: object) -> dict[str, Any]:
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *map(str, arguments)])
        return runpy.run_path(str(ROOT / f"experiments/dense/{name}.py"))

    return load


@pytest.fixture
def msmarco(tmp_path: Path) -> Path:
    """Four files as they are published, one of them gzipped; triples are texts."""
    folder = tmp_path / "msmarco"
    folder.mkdir()
    passages = "".join(f"{i}\t{text}\n" for i, text in enumerate(TEXTS))
    (folder / "collection.tsv.gz").write_bytes(gzip.compress(passages.encode()))
    queries = [*QUERIES, "never judged"]
    (folder / "queries.dev.small.tsv").write_text("".join(f"{100 + i}\t{text}\n" for i, text in enumerate(queries)))
    judged = "".join(f"{100 + i}\t0\t{i % len(TEXTS)}\t1\n" for i in range(len(QUERIES)))
    (folder / "qrels.dev.small.tsv").write_text(judged)
    triples = "".join(f"{QUERIES[i % 6]}\t{TEXTS[i % 6]}\t{TEXTS[(i + 1) % 6]}\n" for i in range(20))
    (folder / "triples.train.small.tsv").write_text(triples)
    return folder


def rows_of(printed: str) -> dict[str, list[str]]:
    """The cells of the first table's rows by the first one."""
    tables = ([line for line in block.splitlines() if line.startswith("|")] for block in printed.split("\n\n"))
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in next(filter(None, tables))]
    return {cells[0]: cells[1:] for cells in lines}


@pytest.mark.slow
def test_the_thesis_on_a_stand_in(
    script: Callable[..., Any],
    msmarco: Path,
    tiny_checkpoint: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    where = ["--msmarco", msmarco, "--output", tmp_path / "out", "--device", "cpu"]
    how = ["--checkpoints", tiny_checkpoint, "--poolings", "mean", "cls", "--triples", 32, "--length", 32]
    loaded = script("msmarco", *where, *how)
    assert loaded["main"]() == 0
    first = capsys.readouterr().out
    result, name = rows_of(first), tiny_checkpoint.name
    assert {"BM25", f"{name}, mean", f"{name}, cls"} <= set(result)
    recall = 2  # of MAP, R-prec, R@1000, MRR@10, nDCG@10: six passages are all found by vectors
    assert result[f"{name}, mean"][recall] == "1.0000"
    assert len(result["BM25"]) == len(result[f"{name}, cls"]) == 8
    assert "| MRR@10 by type" in first and "| BM25 " in first.split("wins/ties/losses")[1]
    assert (tmp_path / "out" / f"{name}-mean" / "best").is_dir()
    mixture = json.loads((tmp_path / "out" / f"{name}-cls" / "mixture.json").read_text())
    assert mixture["settings"]["max_steps"] == 2
    assert mixture["perspectives"][0]["losses"] == ["triplet"]
    assert loaded["main"]() == 0  # everything is there already
    assert rows_of(capsys.readouterr().out) == result


@pytest.mark.parametrize(
    ("remove", "options", "message"),
    [
        ("collection.tsv.gz", [], "collection.tsv: there is no such file; expected MS MARCO's collection.tsv, queries"),
        (None, ["--triples", 3], "--triples is 3; expected at least a batch of 16"),
    ],
)
def test_the_recipes_mistakes_are_one_sentence(
    script: Callable[..., Any],
    msmarco: Path,
    *,
    remove: str | None,
    options: list[object],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if remove:
        (msmarco / remove).unlink()
    assert script("msmarco", "--msmarco", msmarco, *options)["main"]() == 2
    (sentence,) = capsys.readouterr().err.splitlines()
    assert message in sentence


@pytest.fixture
def bioasq(tmp_path: Path) -> Path:
    """Ten dev questions, six of training, one of test that is worded like one of training."""
    (tmp_path / "bioasq").mkdir()
    (tmp_path / "pubmed").mkdir()
    documents = [{"id": f"{i}", "title": "", "abstract": text} for i, text in enumerate(TEXTS)]
    (tmp_path / "pubmed/abstracts.jsonl").write_text("".join(json.dumps(item) + "\n" for item in documents))

    def question(name: str, body: str, document: int) -> dict[str, Any]:
        url = f"http://www.ncbi.nlm.nih.gov/pubmed/{document}"
        return {"id": name, "body": body, "type": "yesno" if "is" in body else "factoid", "documents": [url]}

    dev = [question(f"d{i}", text, i % 6) for i, text in enumerate(QUERIES)]
    train = [question(f"t{i}", f"{text} of patients", i) for i, text in enumerate(QUERIES[:6])]
    test = [question("x", "Gene in a cell of patients?", 2)]
    splits = {"train": [f"t{i}" for i in range(6)], "dev": [f"d{i}" for i in range(10)], "test": ["x"]}
    (tmp_path / "bioasq/splits.json").write_text(json.dumps(splits))
    for name, questions in (("training", train), ("5B1_golden", dev), ("6B1_golden", test)):
        (tmp_path / f"bioasq/{name}.json").write_text(json.dumps({"questions": questions}))
    return tmp_path


@pytest.mark.slow
def test_a_grid_trains_searches_and_is_kept(
    script: Callable[..., Any],
    bioasq: Path,
    *,
    tiny_encoder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    where = ["--data", bioasq, "--output", tmp_path / "out", "--encoder", tiny_encoder, "--device", "cpu"]
    loaded = script("grids", *where, "--steps", 2, "--documents", 6, "--grids", "negatives")
    loaded["GRIDS"]["negatives"] = {
        f"{n} negatives": loaded["Cell"](length=32, negatives=n) for n in ("random", "BM25")
    }
    from experiments.dense import grid_data

    monkeypatch.setitem(
        grid_data.NEGATIVES, "mined", ["--mode", "dense", "--set", "negatives.skip=1"]
    )  # of five documents
    assert loaded["main"]() == 0
    result = rows_of(capsys.readouterr().out)
    free = ["untouched", "BM25", "BM25 + untouched, z-scores"]
    assert list(result)[2:] == [*free, "random negatives", "BM25 negatives"]
    questions = json.loads((tmp_path / "out/data/train.json").read_text())["questions"]
    assert [question["id"] for question in questions] == [
        "t0",
        "t1",
        "t3",
        "t4",
        "t5",
    ]  # t2 is worded like a question of test
    triples = (tmp_path / "out/data/mined.tsv").read_text().split("\n")
    assert all(len(line.split("\t")) == 3 for line in triples if line)
    assert loaded["main"]() == 0
    assert rows_of(capsys.readouterr().out) == result
    second_run = script("grids", *where, "--steps", 2, "--documents", 5, "--grids", "negatives")
    assert second_run["main"]() == 2
    assert "documents 6, and is asked for with 5" in (capsys.readouterr().err)


def test_types_and_first_words(script: Callable[..., Any]) -> None:
    loaded = script("grids")
    questions = [
        Question(str(i), "Which gene?" if i % 2 else "Is it so?", type="yesno" if i < 12 else "list") for i in range(22)
    ]
    values = {"RR@10": np.array([float(i % 2) for i in range(22)])}
    rows = {row[0]: row[1:] for row in loaded["type_table"](questions, {"one": values})}
    assert rows == {
        "yesno": ["12", "0.5000"],
        "list": ["10", "0.5000"],
        "is …": ["11", "0.0000"],
        "which …": ["11", "1.0000"],
        "entity": ["22", "0.5000"],
    }


def test_all_pairs_have_the_p_values_of_all_tests(script: Callable[..., Any]) -> None:
    script("grids")
    from experiments.dense.tables import pair_rows

    base = np.random.default_rng(0).random(40)
    systems = {"one": {"RR@10": base}, "same": {"RR@10": base.copy()}, "better": {"RR@10": base + 0.3}}
    same, better, _ = pair_rows(systems, "RR@10")
    assert same[:3] == ["one", "same", "+0.0000"]
    assert same[-3:] == ["1.0000", "1.0000", "1.0000 (1.0000–1.0000)"]
    assert better[:3] == ["one", "better", "-0.3000"]
    assert better[-3:] == ["0.0000", "0.0000", "0.0000 (0.0000–0.0000)"]

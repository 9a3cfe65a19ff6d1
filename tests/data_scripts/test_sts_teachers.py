"""Teacher-labelled STS rows: new pairs only, none that dev or test holds, labels on the scale."""

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from mpir.files import read_json_lines

FOLDER = Path(__file__).parents[2] / "data_scripts"
TEXTS = ["aspirin thin blood", "heart attack risk", "a gene in a cell", "patients of the trial", "placebo and aspirin"]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(FOLDER))
    return runpy.run_path(str(FOLDER / "sts_teachers.py"))


def lines(pairs: list[tuple[str, str, float]]) -> str:
    return "\n".join(f"g\tf\ty\t{number}\t{label}\t{one}\t{other}" for number, (one, other, label) in enumerate(pairs))


def test_new_pairs_are_labelled_and_nothing_is_held_out(
    script: dict[str, Any], tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sts/stsb").mkdir(parents=True)
    (tmp_path / "sts/biosses").mkdir()
    (tmp_path / "sts/biosses/biosses.tsv").write_text("sentence1\tsentence2\tscore_mean\nthe Patients\tno\t1\n")
    abstracts = [
        "the patients",
        "a trial of aspirin",
        "placebo in patients",
        "gene risk",
        "blood in a heart",
        "the gene",
    ]
    lines_of = "\n".join(json.dumps({"sentence": text}) for text in [*abstracts, abstracts[1]])
    (tmp_path / "in_document.train.jsonl").write_text(lines_of)
    known = [(TEXTS[i], TEXTS[(i + 1) % 5], float(i)) for i in range(5)]
    held = [("yes no", TEXTS[4].upper(), 1.0), ("a cell", "the gene", 3.0), ("risk", "blood", 2.0), ("no", "is", 5.0)]
    more = [(f"{text} is", f"no {text}", 2.0) for text in TEXTS]
    for name, pairs in {"train": known + more, "dev": held, "test": held[:2]}.items():
        (tmp_path / f"sts/stsb/sts-{name}.csv").write_text(lines(pairs))
    (tmp_path / "relevance.train.jsonl").write_text('{"question": "is aspirin", "sentence": "yes", "label": 1}\n')
    values = {"data": tmp_path, "rows": tmp_path, "output": tmp_path, "encoder": tiny_checkpoint}
    options = [part for name, value in values.items() for part in (f"--{name}", str(value))]
    monkeypatch.setattr(sys, "argv", ["sts_teachers.py", *options, "--cross-encoder", str(tiny_checkpoint)])
    assert script["main"]() == 0
    rows = [row for _, row in read_json_lines(tmp_path / "sts.augmented.train.jsonl")]
    pairs = [frozenset((row["question"], row["sentence"])) for row in rows]
    assert pairs and len(set(pairs)) == len(pairs)
    assert not {frozenset(pair[:2]) for pair in known + more} & set(pairs)
    assert not any(TEXTS[4] in pair for pair in pairs)  # dev has it, in capitals
    assert all(0.0 <= row["label"] <= 5.0 for row in rows)
    biomedical = [row for _, row in read_json_lines(tmp_path / "sts.biomedical.train.jsonl")]
    texts = {row[side] for row in biomedical for side in ("question", "sentence")}
    assert texts == set(abstracts[1:-1])  # BIOSSES has the first, STS-B dev the last
    asked = [row for _, row in read_json_lines(tmp_path / "sts.questions.train.jsonl")]
    assert [(row["question"], row["sentence"]) for row in asked] == [("is aspirin", "yes")]

"""A teacher's raw outputs beside the labels of training rows."""

import json
import runpy
import sys
from pathlib import Path

import pytest

from mpir.io.read import read_json_lines
from mpir.models.encoder import Encoder

MAIN = runpy.run_path(str(Path(__file__).parents[2] / "data_scripts/teacher_scores.py"))["main"]


@pytest.mark.parametrize(("perspective", "output"), [("relevance", 0), ("sts", 1)])
def test_rows_keep_their_labels_and_get_the_raw_output(
    tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, perspective: str, output: int
) -> None:
    rows = [
        {"id": "q", "question": "does aspirin thin blood", "sentence": text, "label": label, "kind": "golden"}
        for text, label in (("yes", 1.0), ("the cell", 0.0))
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = [tmp_path / "rows.jsonl", "--output", tmp_path / "taught.jsonl", "--bundle", tiny_bundle]
    options += ["--perspective", perspective, "--device", "cpu", "--precision", "fp32"]
    monkeypatch.setattr(sys, "argv", ["teacher_scores.py", *map(str, options)])
    assert MAIN() == 0
    raw, _ = Encoder(tiny_bundle / "model", device="cpu", precision="fp32").outputs(
        [(row["question"], row["sentence"]) for row in rows]
    )
    taught = [row for _, row in read_json_lines(tmp_path / "taught.jsonl")]
    assert [row.pop("teacher") for row in taught] == pytest.approx(raw[:, output].tolist(), abs=1e-3)
    assert taught == rows


def test_bad_input(
    tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.jsonl").write_text('{"id": "q"}\n')
    options = [str(tmp_path / "rows.jsonl"), "--output", str(tmp_path / "out.jsonl"), "--bundle", str(tiny_bundle)]
    monkeypatch.setattr(sys, "argv", ["teacher_scores.py", *options])
    assert MAIN() == 2
    assert "row 1 lacks a question or a sentence" in capsys.readouterr().err
    (tmp_path / "rows.jsonl").write_text('{"id": "q", "question": "why", "sentence": "because"}\n')
    monkeypatch.setattr(sys, "argv", ["teacher_scores.py", *options, "--perspective", "magic"])
    assert MAIN() == 2
    assert "has no 'magic'; choose from relevance, sts, sia" in capsys.readouterr().err


def test_encoders_teach_by_the_sum_of_their_cosines(
    tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {"id": "q", "question": "does aspirin thin blood", "sentence": text, "label": label}
        for text, label in (("does aspirin thin blood", 1.0), ("the cell", 0.0))
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = [tmp_path / "rows.jsonl", "--output", tmp_path / "taught.jsonl", "--encoders", *[tiny_checkpoint] * 2]
    options += ["--device", "cpu", "--precision", "fp32"]
    monkeypatch.setattr(sys, "argv", ["teacher_scores.py", *map(str, options)])
    assert MAIN() == 0
    (question, cell), _ = Encoder(tiny_checkpoint, device="cpu", precision="fp32").vectors(
        [rows[0]["question"], "the cell"]
    )
    taught = [row["teacher"] for _, row in read_json_lines(tmp_path / "taught.jsonl")]
    assert taught == pytest.approx([10 * (1 + 1) + 2, 10 * 2 * float(question @ cell)], abs=1e-3)

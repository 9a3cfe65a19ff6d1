"""A teacher's raw outputs beside the labels of training rows."""

import json
import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.errors import InputError
from mpir.files.read import read_json_lines
from mpir.models.encoder import Encoder
from mpir.models.perspectives import Bundle, Perspective

FOLDER = Path(__file__).parents[2] / "data_scripts"
sys.path.insert(0, str(FOLDER))
SCRIPT = runpy.run_path(str(FOLDER / "teacher_scores.py"))
MAIN = SCRIPT["main"]
sys.path.remove(str(FOLDER))


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


def test_a_second_teacher_is_added_to_the_first(
    tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"id": "q", "question": "does aspirin thin blood", "sentence": "yes", "label": 1.0}
    options = ["--bundle", str(tiny_bundle), "--device", "cpu", "--precision", "fp32"]
    result = []
    for name, fields, add in (("bare", {}, []), ("taught", {"teacher": 7.5}, ["--add"]), ("none", {}, ["--add"])):
        source, output = tmp_path / f"{name}.jsonl", tmp_path / f"{name}.out.jsonl"
        source.write_text(json.dumps({**row, **fields}) + "\n")
        monkeypatch.setattr(sys, "argv", ["teacher_scores.py", str(source), "--output", str(output), *options, *add])
        status = MAIN()
        result += [row["teacher"] for _, row in read_json_lines(output)] if status == 0 else [status]
    assert result == [pytest.approx(result[1] - 7.5, abs=1e-3), result[1], 2]
    assert "none.jsonl:1: the teacher's score is missing" in capsys.readouterr().err


def test_bad_input(
    tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [str(tmp_path / "rows.jsonl"), "--output", str(tmp_path / "out.jsonl"), "--bundle", str(tiny_bundle)]
    (tmp_path / "rows.jsonl").write_text('{"id": "q", "question": "why", "sentence": "because"}\n')
    monkeypatch.setattr(sys, "argv", ["teacher_scores.py", *options, "--perspective", "magic"])
    assert MAIN() == 2
    assert "has no 'magic'" in capsys.readouterr().err


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


def test_scores_that_were_kept_teach_without_a_model(
    tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(rows: list[dict[str, Any]], *options: object) -> list[dict[str, Any]]:
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        arguments = [tmp_path / "rows.jsonl", "--output", tmp_path / "taught.jsonl", *options]
        monkeypatch.setattr(sys, "argv", ["teacher_scores.py", *map(str, arguments)])
        assert MAIN() == 0
        return [row for _, row in read_json_lines(tmp_path / "taught.jsonl")]

    def of(question: str, *texts: str) -> list[dict[str, Any]]:
        return [{"id": question, "question": question, "sentence": text, "label": 0.0} for text in texts]

    first, second = of("does aspirin thin blood", "yes", "no", "the cell"), of("heart attack", "risk", "gene")
    by_model = ["--bundle", tiny_bundle, "--device", "cpu", "--precision", "fp32", "--keep", tmp_path / "kept.npz"]
    taught = run(first, *by_model) + run(second, *by_model)
    retained = run([*second, *of("trial", "patients"), *first], "--kept", tmp_path / "kept.npz")
    assert [row["sentence"] for row in retained] == ["risk", "gene", "yes", "no", "the cell"]
    values = {row["sentence"]: row["teacher"] for row in taught}
    assert len(set(values.values())) == 5
    assert {row["sentence"]: row["teacher"] for row in retained} == pytest.approx(values, abs=2e-3)

    answered = [*first, {**first[0], "sentence": "blood", "label": 1.0}]
    assert {row["question"] for row in run([*answered, *second], "--kept", tmp_path / "kept.npz")} == {"heart attack"}

    gold = [{**row, "label": 1.0} for row in second]
    without_lower = [*gold, {**second[0], "sentence": "blood"}]
    result = {row["question"] for row in run([*first, *without_lower], "--kept", tmp_path / "kept.npz")}
    assert result == {"does aspirin thin blood"}, "a ranking loss would refuse gold rows alone"
    assert len(run([*first, *gold], "--kept", tmp_path / "kept.npz")) == 5, "a file that has no others keeps them"

    options = [tmp_path / "rows.jsonl", "--output", tmp_path / "taught.jsonl", "--kept", tmp_path / "kept.npz"]
    monkeypatch.setattr(sys, "argv", ["teacher_scores.py", *map(str, options)])
    (tmp_path / "rows.jsonl").write_text(json.dumps(of("trial", "patients")[0]))
    assert MAIN() == 2
    assert "kept.npz: has the score of none of the 1" in capsys.readouterr().err
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in without_lower))
    assert MAIN() == 2
    assert "kept.npz: of no question" in capsys.readouterr().err
    (tmp_path / "kept.npz").write_bytes(b"no scores")
    assert MAIN() == 2
    assert "kept.npz: holds no scores" in capsys.readouterr().err


def test_some_rows_of_each_question(
    tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"question": q, "sentence": text} for q in ("risk", "gene") for text in ("yes", "no", "the", "a")]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, rows[0]]))
    options = [tmp_path / "rows.jsonl", "--output", tmp_path / "taught.jsonl", "--bundle", tiny_bundle]
    options += ["--device", "cpu", "--per-question", 3]
    monkeypatch.setattr(sys, "argv", ["teacher_scores.py", *map(str, options)])
    assert MAIN() == 0
    result = [row["question"] for _, row in read_json_lines(tmp_path / "taught.jsonl")]
    assert (result.count("risk"), result.count("gene")) == (3, 3)
    labelled = [{**row, "label": float(row["sentence"] != "no")} for row in rows]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in labelled))
    monkeypatch.setattr(sys, "argv", ["teacher_scores.py", *map(str, options[:-1]), "2"])
    assert MAIN() == 0
    drawn = [row["sentence"] for _, row in read_json_lines(tmp_path / "taught.jsonl")]
    assert drawn.count("no") == 2 and len(drawn) == 4, "a ranking loss needs a row below the best, too"
    monkeypatch.setattr(sys, "argv", ["teacher_scores.py", *map(str, options[:-1]), "1"])
    assert MAIN() == 2
    assert "--per-question is 1" in capsys.readouterr().err


def test_questions_of_one_text_are_told_apart_by_their_ids() -> None:
    rows = [
        {"id": name, "question": "why", "sentence": f"{name}{i}", "label": float(i == 0)}
        for name in "ab"
        for i in range(4)
    ]
    result = SCRIPT["some_of_each"](rows, 2)
    assert [(row["id"], row["label"]) for row in result] == [("a", 1), ("a", 0), ("b", 1), ("b", 0)]
    assert SCRIPT["best_labels"]([*rows, {**rows[-1], "id": "c"}]) == {
        ("a", "why"): 1,
        ("b", "why"): 1,
        ("c", "why"): 0,
    }


@pytest.fixture
def refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run the script over rows.jsonl, which it refuses; gives its message."""

    def run(*options: object) -> str:
        arguments = [tmp_path / "rows.jsonl", "--output", tmp_path / "out.jsonl", *options]
        monkeypatch.setattr(sys, "argv", ["teacher_scores.py", *map(str, arguments)])
        assert MAIN() == 2
        assert not (tmp_path / "out.jsonl").exists()
        return capsys.readouterr().err

    return run


GOOD = {"question": "why", "sentence": "because", "label": 1.0, "teacher": 0.5}


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([GOOD, {**GOOD, "question": 5}], [], "rows.jsonl:3: the question is 5; expected a text in quotation marks."),
        ([{"question": "why"}], [], "rows.jsonl:1: the sentence is missing; expected a text"),
        ([{**GOOD, "sentence": None}], ["--encoders", "none"], "rows.jsonl:1: the sentence is missing; expected a"),
        ([{**GOOD, "label": "x"}], ["--per-question", "2"], "rows.jsonl:1: the label is 'x'; expected a number."),
        ([{**GOOD, "label": None}], ["--kept", "none.npz"], "rows.jsonl:1: the label is missing; expected a number."),
        ([{**GOOD, "teacher": None}], ["--add"], "rows.jsonl:1: the teacher's score is missing; expected a number to"),
        ([GOOD, {**GOOD, "teacher": "x"}], ["--add"], "rows.jsonl:3: the teacher's score is 'x'; expected a number to"),
        ([], [], "rows.jsonl: has no rows; give a training file."),
        ([], ["--encoders", "none"], "rows.jsonl: has no rows; give a training file."),
        ([GOOD], ["--keep", "{folder}/damaged.npz"], "damaged.npz: exists and was not written by --keep"),
    ],
)
def test_rows_are_refused_before_a_model_is_opened(
    tmp_path: Path, refusal: Callable[..., str], rows: list[dict[str, Any]], options: list[str], message: str
) -> None:
    (tmp_path / "rows.jsonl").write_text("\n\n".join(json.dumps(row) for row in rows) + "\n")
    (tmp_path / "damaged.npz").write_bytes(b"no scores")
    error = refusal("--bundle", tmp_path, *(item.format(folder=tmp_path) for item in options))
    assert message in error and error.count("\n") == 1


def test_a_bundles_cosine_is_as_steep_as_an_encoders(
    bi_encoder_bundle: Path, tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"question": "does aspirin thin blood", "sentence": "the cell", "label": 0.0}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    result = []
    for teacher in (["--bundle", bi_encoder_bundle, "--perspective", "vectors"], ["--encoders", tiny_checkpoint]):
        options = [tmp_path / "rows.jsonl", "--output", tmp_path / "out.jsonl", *teacher, "--device", "cpu"]
        monkeypatch.setattr(sys, "argv", ["teacher_scores.py", *map(str, options)])
        assert MAIN() == 0
        result += [row["teacher"] for _, row in read_json_lines(tmp_path / "out.jsonl")]
    assert result[0] == pytest.approx(result[1], abs=1e-3)


def test_a_scale_that_is_no_logits_is_refused_before_scoring(
    tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Callable[..., str]
) -> None:
    class Percent(Perspective):
        name, identity = "percent", {"name": "percent", "scale": "percent"}

        def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> Any:
            raise AssertionError("it was scored")

    (tmp_path / "rows.jsonl").write_text(json.dumps(GOOD) + "\n")
    monkeypatch.setattr(Bundle, "perspectives", lambda *_, **__: [Percent()])
    error = refusal("--bundle", tiny_bundle, "--perspective", "percent")
    assert "'percent' is 'percent'" in error


@pytest.mark.parametrize(
    "arrays",
    [
        {"rows": np.zeros(2, np.uint64), "scores": np.zeros(3)},
        {"rows": np.uint64(1), "scores": np.float16(1)},
        {"rows": np.zeros(1, np.uint64), "scores": np.array([np.nan])},
    ],
)
def test_kept_scores_that_fit_no_rows(tmp_path: Path, arrays: dict[str, Any]) -> None:
    np.savez(tmp_path / "kept.npz", **arrays)
    with pytest.raises(InputError, match=r"kept\.npz: .*a teacher"):
        SCRIPT["read_kept"](tmp_path / "kept.npz")


def test_an_array_is_no_file_of_kept_scores(tmp_path: Path) -> None:
    np.save(tmp_path / "kept.npy", np.zeros(3))
    with pytest.raises(InputError, match=r"kept\.npy: .*a teacher"):
        SCRIPT["read_kept"](tmp_path / "kept.npy")

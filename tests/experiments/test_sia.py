"""SIA's correlation with held-out grades: by hand, and through the script on a tiny bundle."""

import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from tests.experiments.conftest import RunScript

SCRIPT = Path(__file__).parents[2] / "experiments/perspectives/sia.py"
MODULE = runpy.run_path(str(SCRIPT))


def test_correlation_of_ranks_by_hand() -> None:
    rows = [np.arange(4)]
    labels = np.array([0.0, 1.0, 2.0, 4.0])
    assert MODULE["correlations"](np.array([1.0, 2.0, 3.0, 100.0]), labels, rows) == pytest.approx([1.0])
    assert MODULE["correlations"](np.array([2.0, 1.0, 3.0, 4.0]), labels, rows) == pytest.approx([0.8])


def test_a_sample_holds_whole_questions() -> None:
    samples = MODULE["resample"](["a", "a", "b"], np.random.default_rng(0))
    assert samples[0].tolist() == [0, 1, 2]
    assert all(np.count_nonzero(rows == 0) == np.count_nonzero(rows == 1) for rows in samples)
    assert {len(rows) for rows in samples[1:]} == {2, 3, 4}


def test_the_script_writes_every_perspective_for_each_file_and_the_mean(
    run_script: RunScript, tiny_bundle: Path, tmp_path: Path
) -> None:
    texts = [("q1", "aspirin"), ("q1", "no gene"), ("q2", "blood cell"), ("q2", "the trial")]
    paths = [tmp_path / "one.jsonl", tmp_path / "other.jsonl"]
    for path, grades in zip(paths, ([4, 0, 3, 1], [0, 4, 1, 2]), strict=True):
        rows = zip(texts, grades, strict=True)
        lines = (json.dumps({"id": i, "question": i, "sentence": text, "label": n}) for (i, text), n in rows)
        path.write_text("\n".join(lines))
    options = ["--rows", *paths, "--bundle", tiny_bundle, "--json", tmp_path / "out.json"]
    finished = run_script("experiments/perspectives/sia.py", *options)
    assert finished.returncode == 0, finished.stderr
    first, second, mean = json.loads((tmp_path / "out.json").read_text()).values()
    assert set(first) == {"relevance", "sts", "sia"} and all(-1 <= value <= 1 for value in first.values())
    assert mean == pytest.approx({name: (first[name] + second[name]) / 2 for name in first})


def write_annotated(folder: Path, label: str = "E") -> Path:
    """The three sets that people annotated, with two made-up pairs each."""
    for name in ("scitail", "trecqa_wang", "healthver"):
        (folder / name).mkdir(parents=True)
    pair = {"sentence2": "the trial", "sentence1": "blood  cell", "gold_label": label}
    lines = [pair, {**pair, "sentence1": "no gene", "gold_label": "N"}]
    (folder / "scitail/test.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (folder / "trecqa_wang/test.csv").write_text("qtext,label,atext\ngene,1,blood\ngene,0,aspirin\n")
    head = "id,evidence,claim,label,question"
    rows = ['1,"blood\ncell",the trial,Refutes,gene', "2,aspirin,the trial,Neutral,gene"]
    (folder / "healthver/healthver_test.csv").write_text("\n".join([head, *rows, rows[0]]))
    return folder


def test_what_people_judged_is_read_as_all_or_nothing(tmp_path: Path) -> None:
    result = MODULE["read_annotated"](write_annotated(tmp_path), "test")
    assert {name: [row.label for row in rows] for name, rows in result.items()} == {
        "SciTail": [4.0, 0.0],
        "TREC-QA": [4.0, 0.0],
        "HealthVer": [4.0, 0.0],
    }
    assert result["SciTail"][0].question == "the trial" and result["SciTail"][0].sentence == "blood cell"
    assert result["HealthVer"][0].sentence == "blood cell" and result["HealthVer"][0].group == "gene"


def test_the_script_measures_on_annotated_sets(run_script: RunScript, tiny_bundle: Path, tmp_path: Path) -> None:
    options = ["--annotated", write_annotated(tmp_path), "--bundle", tiny_bundle, "--json", tmp_path / "out.json"]
    finished = run_script("experiments/perspectives/sia.py", *options)
    assert finished.returncode == 0, finished.stderr
    assert list(json.loads((tmp_path / "out.json").read_text())) == ["SciTail", "TREC-QA", "HealthVer", "mean"]


def test_an_unknown_label_and_nothing_to_measure_on_are_one_sentence_each(
    run_script: RunScript, tiny_bundle: Path, tmp_path: Path
) -> None:
    folder = write_annotated(tmp_path / "data", "maybe")
    finished = run_script("experiments/perspectives/sia.py", "--annotated", folder, "--bundle", tiny_bundle)
    assert finished.returncode == 2
    path = tmp_path / "data/scitail/test.jsonl"
    assert finished.stderr.startswith(f"sia: {path}:1: gold_label is 'maybe';")
    nothing_given = run_script("experiments/perspectives/sia.py")
    assert nothing_given.returncode == 2 and "give --rows FILE" in nothing_given.stderr


@pytest.mark.parametrize(
    ("file", "content", "fault"),
    [
        ("scitail/test.jsonl", '{"sentence2": "x", "gold_label": "E"}', ":1: sentence1 is None"),
        ("trecqa_wang/test.csv", "qtext,label,atext\nwho,1", ": row 1: atext is None"),
        ("healthver/healthver_test.csv", "id,evidence,claim,label,question\n1,x, ,Neutral,q", ": row 1: claim is ' '"),
        ("scitail/test.jsonl", "", "SciTail has no"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, file: str, content: str, fault: str) -> None:
    (write_annotated(tmp_path) / file).write_text(content)
    with pytest.raises(ValueError, match=re.escape(fault)):
        MODULE["read_annotated"](tmp_path, "test")

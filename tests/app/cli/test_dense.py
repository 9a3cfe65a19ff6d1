"""``mpir index --dense`` and ``mpir search --mode``: scripts use these as they are."""

import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mpir.app.cli import main
from mpir.core.weights import Normalise, Weights
from mpir.files.checksum import read_json_with_checksum
from mpir.files.weights import write_weights
from mpir.search.dense import from_vectors
from mpir.tune.dataset import Dataset
from mpir.tune.space import Space

pytest.importorskip("faiss")
CORPUS = [
    {"id": "a", "title": "Aspirin", "abstract": "does aspirin thin blood"},
    {"id": "b", "title": "", "abstract": "heart attack risk of patients"},
    {"id": "c", "title": "", "abstract": "the gene in a cell"},
]


SUM = ("--set", "search.fusion=sum")


def pipe(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(corpu) + "\n" for corpu in CORPUS))
    return path


@pytest.fixture
def bundle(bi_encoder_bundle: Path) -> Path:
    return bi_encoder_bundle


@pytest.fixture
def index(corpus: Path, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    folder = tmp_path / "index"
    assert main(["index", str(corpus), "--index", str(folder), "--dense", "--encoder", str(bundle)]) == 0
    assert json.loads(capsys.readouterr().out) == {"index": str(folder), "documents": 3, "kept": False}
    return folder


@pytest.mark.parametrize("mode", ["bm25", "dense", "hybrid"])
def test_queries_on_standard_input(
    index: Path, mode: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe(monkeypatch, '{"id": "q7", "query": "aspirin blood"}\n{"query": "…"}\n')
    assert main(["search", "--index", str(index), "--mode", mode, "--k", "2", "--format", "jsonl"]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["id"], first["query"], second["id"]) == ("q7", "aspirin blood", "2")
    assert second["documents"] == []
    assert len(first["documents"]) == (1 if mode == "bm25" else 2)
    result = first["documents"][0]
    assert {"id", "title", "abstract", "score"} <= set(result)
    expected = {"bm25": set(), "dense": {"dense"}, "hybrid": {"bm25", "dense"}}[mode]
    assert set(result.get("scores", {})) == expected
    if mode != "dense":
        assert (result["id"], result["title"], result["abstract"]) == ("a", "Aspirin", "does aspirin thin blood")


def test_a_hybrid_search_is_reranked_in_a_pipe(
    index: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", "--index", str(index), "--mode", "hybrid", "aspirin blood", "--format", "jsonl"]) == 0
    pipe(monkeypatch, capsys.readouterr().out)
    assert main(["rerank", "--bundle", str(bundle), "--device", "cpu", "--format", "jsonl"]) == 0
    documents = json.loads(capsys.readouterr().out)["documents"]
    assert len(documents) == 3
    assert all({"bm25", "dense"} <= set(document["scores"]) for document in documents)


def test_vectors_are_kept_while_corpus_and_encoder_stay(
    corpus: Path, bundle: Path, index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["index", str(corpus), "--index", str(index), "--dense", "--encoder", str(bundle)]
    for extended, retained in (
        ([], True),
        (["--kind", "SQfp16"], False),
        (["--kind", "SQfp16"], True),
    ):
        assert main([*command, *extended]) == 0
        assert json.loads(capsys.readouterr().out)["kept"] is retained
    assert main(["search", "--index", str(index), "--mode", "dense", "aspirin", "--k", "5"]) == 0
    assert len(json.loads(capsys.readouterr().out)["documents"]) == 3


def test_another_index_of_words_takes_the_vectors_of_the_same_corpus_over(
    corpus: Path, index: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    created = (index / "dense/000000/index.faiss").stat().st_mtime_ns
    (index / "dense.part").mkdir()  # as an interrupted build of other vectors left it
    source = read_json_with_checksum(index / "manifest.json")["source"]
    (index / "dense.part/building.json").write_text(json.dumps({"settings": "x", "source": source}))
    assert main(["index", str(corpus), "--index", str(index), "--set", "index.stop_words=none"]) == 0
    assert json.loads(capsys.readouterr().out)["kept"] is False
    assert (index / "dense/000000/index.faiss").stat().st_mtime_ns == created
    assert (index / "dense.part/building.json").exists()
    assert main(["search", "--index", str(index), "--mode", "hybrid", "aspirin"]) == 0
    assert len(json.loads(capsys.readouterr().out)["documents"]) == 3
    assert not caplog.messages


def test_vectors_are_copied_where_a_file_has_one_name_only(
    corpus: Path, index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    assert main(["index", str(corpus), "--index", str(index), "--set", "index.stop_words=none", "--quiet"]) == 0
    assert main(["search", "--index", str(index), "--mode", "dense", "aspirin"]) == 0
    assert len(json.loads(capsys.readouterr().out)["documents"]) == 3


def test_vectors_of_another_corpus_go_with_a_word(
    corpus: Path, index: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    corpus.write_text(json.dumps(CORPUS[0]) + "\n")
    assert main(["index", str(corpus), "--index", str(index), "--quiet"]) == 0
    (message,) = caplog.messages
    assert message.startswith(f"{index / 'dense'}: its vectors were made from another corpus")
    assert main(["search", "--index", str(index), "--mode", "dense", "aspirin"]) == 2
    assert f"{index / 'dense'}: there is no" in capsys.readouterr().err


def test_another_path_to_the_encoder_is_the_same_encoder(
    corpus: Path, bundle: Path, index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(bundle.parent)
    for name in (bundle.name, str(bundle), f"../{bundle.parent.name}/{bundle.name}"):
        command = ["index", str(corpus), "--index", str(index), "--dense", "--encoder", name]
        assert main(command) == 0
        assert json.loads(capsys.readouterr().out)["kept"] is True
        assert read_json_with_checksum(index / "dense/dense.json")["source"]["encoder"] == name
        assert main(["search", "--index", str(index), "--mode", "dense", "--encoder", str(bundle), "aspirin"]) == 0
        capsys.readouterr()


def test_tuned_weights_fuse_the_first_stage(
    index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], bundle: Path
) -> None:
    """The weights of a point of the space that `mpir tune` with zscore searches are those of the sum."""
    space = Space.of(hybrid_scored(index, bundle, tmp_path).columns, normalise="zscore")
    shares = dict.fromkeys(space.names, 0.0) | {"relevance": 1.0, "bm25": 0.1, "dense": 0.3, "w1": 0.6}
    tuned = space.weights(space.coordinates(np.array(list(shares.values()))))
    write_weights(tmp_path / "tuned.json", tuned)
    expected = tuned.beta["dense"] / (tuned.beta["dense"] + tuned.beta["bm25"])
    capsys.readouterr()
    result = []
    for weight in (tmp_path / "tuned.json", expected):
        options = ["--mode", "hybrid", "--set", "search.fusion=sum", "--set", f"search.dense_weight={weight}"]
        assert main(["search", "--index", str(index), *options, "blood of patients"]) == 0
        result.append(json.loads(capsys.readouterr().out)["documents"])
    assert result[0] == result[1]


@pytest.mark.parametrize(
    ("beta", "normalise"),
    [({"bm25": 1.0, "dense": 1.0}, "none"), ({"bm25": 1.0}, "zscore"), ({"bm25": 0.0, "dense": 0.0}, "zscore")],
)
def test_weights_that_are_no_weights_of_both(
    beta: dict[str, float], normalise: Normalise, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_weights(tmp_path / "w.json", Weights({"relevance": 1.0}, beta=beta, normalise=normalise))
    weights = ["--set", "search.fusion=sum", "--set", f"search.dense_weight={tmp_path / 'w.json'}"]
    assert main(["search", "--index", str(tmp_path), "--mode", "hybrid", *weights, "aspirin"]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert "w.json: weighs bm25" in said
    assert "`mpir tune --set tune.normalise=zscore` found" in said


def test_fused_by_a_sum(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["search", "--index", str(index), "--mode", "hybrid", "--set", "search.fusion=sum", "gene"]
    for weight, column in (("0", "bm25"), ("1", "dense")):
        assert main([*options, "--set", f"search.dense_weight={weight}"]) == 0
        result = [item["scores"][column] for item in json.loads(capsys.readouterr().out)["documents"]]
        assert result == sorted(result, reverse=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["search", "--index", "{bare}", "--mode", "dense", "a"], "there is no dense index here; build it with"),
        (
            ["search", "--index", "{index}", "--mode", "hybrid", *SUM, "--set", "search.dense_weight=2", "a"],
            "search.dense_weight is 2.0",
        ),
        (
            ["search", "--index", "{index}", "--mode", "hybrid", "--set", "search.dense_weight=0.2", "a"],
            "search.dense_weight: needs search.fusion=sum",
        ),
        (
            ["search", "--index", "{index}", "--mode", "dense", "--k", "0", "a"],
            "--top-k is 0",
        ),
        (["search", "--index", "{index}", "--mode", "dense", "--encoder", "{other}", "a"], "made by another encoder"),
        (
            ["index", "-", "--index", "{index}", "--dense"],
            "--dense reads the corpus twice",
        ),
        (
            ["index", "{corpus}", "--index", "{index}", "--dense", "--encoder", "{tiny}"],
            "has no bi-encoder, so",
        ),
        (
            ["index", "{corpus}", "--index", "{index}", "--dense", "--kind", "X", "--encoder", "{bundle}"],
            "make",
        ),
        (["index", "{empty}", "--index", "{index}", "--dense", "--encoder", "{bundle}"], "no documents found"),
    ],
)
def test_mistakes_are_one_sentence(
    *,
    arguments: list[str],
    message: str,
    corpus: Path,
    bundle: Path,
    index: Path,
    tiny_bundle: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    positions = {"corpus": corpus, "bundle": bundle, "index": index, "tiny": tiny_bundle, "bare": tmp_path / "bare"}
    positions |= {"other": other_encoder(bundle, tmp_path)}
    positions["empty"] = tmp_path / "empty.jsonl"
    positions["empty"].write_text("\n")
    before = sorted(tmp_path.rglob("*"))
    assert main(["index", str(corpus), "--index", str(positions["bare"]), "--quiet"]) == 0
    assert main([argument.format(**positions) for argument in arguments]) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("mpir: ")]
    assert len(said) == 1
    assert message.format(**positions) in said[0]
    bare = [path for path in sorted(tmp_path.rglob("*")) if positions["bare"] not in (path, *path.parents)]
    assert bare == before  # nothing half-written, and what was there stays


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda dense: dense.rename(dense.with_name("dense.part")), "because its build was interrupted; run the same"),
        (lambda dense: (dense / "dense.json").unlink(), "has no dense.json, so it is half-built or not a dense index"),
        (lambda dense: (dense / "000000/index.faiss").write_bytes(b"x"), "(000000/index.faiss has 1 bytes instead of"),
        (lambda dense: (dense / "000000/ids.npy").unlink(), "is damaged (000000/ids.npy is missing); build it with"),
        (lambda dense: (dense / "removed.json").write_text('{"000000": [9]}'), "removed.json: is damaged"),
        (lambda dense: None, "the index has vectors of width 8 and cannot be searched for vectors of shape (1, 32)"),
    ],
)
def test_an_index_that_cannot_be_searched_is_one_sentence(
    damage: Callable[[Path], object],
    message: str,
    bundle: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from_vectors(np.eye(8, dtype=np.float32), list("abcdefgh"), tmp_path / "index/dense")
    damage(tmp_path / "index/dense")
    options = ["--index", str(tmp_path / "index"), "--mode", "dense", "--encoder", str(bundle)]
    assert main(["search", *options, "aspirin"]) == 2
    said = capsys.readouterr()
    assert (said.out, len(said.err.splitlines())) == ("", 1)
    assert message in said.err


def other_encoder(bundle: Path, folder: Path) -> Path:
    """The same encoder with other weights, as sentence-transformers saves one."""
    from transformers import AutoModelForSequenceClassification

    shutil.copytree(bundle / "model", folder / "other")
    model = AutoModelForSequenceClassification.from_pretrained(bundle / "model")
    model.bert.embeddings.word_embeddings.weight.data += 1.0
    model.bert.save_pretrained(folder / "other")
    (folder / "other/1_Pooling").mkdir()
    (folder / "other/1_Pooling/config.json").write_text(json.dumps({"pooling_mode": "mean"}))
    modules = [{"type": "models.Transformer", "path": ""}, {"type": "models.Pooling", "path": "1_Pooling"}]
    (folder / "other/modules.json").write_text(json.dumps(modules))
    return folder / "other"


def test_both_scores_are_columns_to_tune(index: Path, bundle: Path, tmp_path: Path) -> None:
    result = hybrid_scored(index, bundle, tmp_path)
    assert result.columns.layout.documents == ("bm25", "dense")
    assert len(result.columns.documents) == 6
    assert np.ptp(result.columns.document("dense")) > 0


def hybrid_scored(index: Path, bundle: Path, tmp_path: Path) -> Dataset:
    """Two questions whose candidates BM25 and vectors found."""
    query_text = {"q1": "aspirin", "q2": "blood"}
    questions = [
        {"id": item, "body": body, "type": "yesno", "documents": ["http://www.ncbi.nlm.nih.gov/pubmed/a"]}
        for item, body in query_text.items()
    ]
    (tmp_path / "questions.json").write_text(json.dumps({"questions": questions}))
    arguments = ["--questions", tmp_path / "questions.json", "--index", index, "--output", tmp_path / "scored"]
    options = ["--mode", "hybrid", "--bundle", str(bundle), "--device", "cpu"]
    assert main(["score", *map(str, arguments), *options]) == 0
    return Dataset.load(tmp_path / "scored")


def test_the_weight_of_the_vectors_is_an_option(
    index: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A weight beside which nothing else counts: the documents stand in the order of their vectors."""
    alpha = dict.fromkeys(("relevance", "sts", "sia", "vectors"), 0.1)
    write_weights(bundle.parent / "weights.json", Weights(alpha, beta={"bm25": 0.0}, context="document"))
    assert main(["search", "--index", str(index), "--mode", "hybrid", "the cell of patients", "--format", "jsonl"]) == 0
    result = capsys.readouterr().out
    dense = {item["id"]: item["scores"]["dense"] for item in json.loads(result)["documents"]}
    options = [
        "--bundle",
        str(bundle),
        "--weights",
        str(bundle.parent / "weights.json"),
        "--device",
        "cpu",
        "--format",
        "jsonl",
    ]
    pipe(monkeypatch, result)
    assert main(["rerank", *options, "--set", "beta.dense=10000", "--set", "beta.bm25=0"]) == 0
    ranked = [item["id"] for item in json.loads(capsys.readouterr().out)["documents"]]
    assert ranked == sorted(dense, key=lambda name: -dense[name])
    with pytest.raises(SystemExit):
        main(["rerank", "--set", "beta.dense", "a"])
    assert "'beta.dense' (expected NAME=VALUE" in capsys.readouterr().err


def test_the_nearest_sentence_says_why(
    corpus: Path, bundle: Path, index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "index",
        str(corpus),
        "--index",
        str(index),
        "--dense",
        "--encoder",
        str(bundle),
        "--set",
        "index.sentence_vectors=true",
    ]
    assert main([*command, "--quiet"]) == 0
    search = ["search", "--index", str(index), "--mode", "hybrid", "aspirin"]
    assert main([*search, "--format", "jsonl"]) == 0
    for item in json.loads(capsys.readouterr().out)["documents"]:
        sentence = item["sentence"]
        assert item[sentence["section"]][sentence["begin"] : sentence["end"]] == sentence["text"]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(search) == 0
    heads = capsys.readouterr().out.splitlines()[1].split()
    assert heads == ["score", "bm25", "dense", "id", "title", "nearest", "sentence"]

"""``mpir benchmark`` on local files, a run and a dataset of ir_datasets; ``mpir rerank --run``."""

import json
from pathlib import Path

import pytest

from mpir import NamedModels, Reranker
from mpir.app.cli import main
from mpir.evaluate.ir import evaluate_run
from mpir.files.corpora.trec import read_run

TEXTS = {
    "d1": "aspirin does thin the blood .",
    "d2": "a gene in a cell .",
    "d3": "the risk of heart attack is the risk of patients .",
    "d4": "patients of a trial of placebo and aspirin .",
}
QUERIES = {"q1": "does aspirin thin blood", "q2": "heart attack risk", "q3": "placebo trial"}
QRELS = "q1 0 d1 1\nq2 0 d3 2\nq3 0 d2 0\nq3 0 d4 1\n"
RUN = "".join(f"{query} Q0 {name} {rank} {9 - rank} x\n" for query in QUERIES for rank, name in enumerate(TEXTS, 1))


@pytest.fixture
def files(tmp_path: Path, tiny_bundle: Path) -> dict[str, str]:
    """The paths of a collection by option, and options for tiny models on the CPU."""
    texts = ({"id": name, "text": text} for name, text in TEXTS.items())
    queries = ({"_id": name, "text": text} for name, text in QUERIES.items())
    lines = {
        "corpus": "".join(json.dumps(record) + "\n" for record in texts),
        "queries": "".join(json.dumps(record) + "\n" for record in queries),
    }
    names = {"corpus": "corpus.jsonl", "queries": "queries.jsonl", "qrels": "test.qrels", "run": "bm25.trec"}
    for option, text in {**lines, "qrels": QRELS, "run": RUN}.items():
        (tmp_path / names[option]).write_text(text)
    return {option: str(tmp_path / name) for option, name in names.items()}


def command(files: dict[str, str], bundle: Path, *names: str) -> list[str]:
    local = [word for name in names for word in (f"--{name}", files[name])]
    return ["benchmark", *local, "--bundle", str(bundle), "--device", "cpu", "--precision", "fp32"]


def test_rows_are_orders_of_the_same_candidates(
    files: dict[str, str], tiny_bundle: Path, tiny_encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(tiny_bundle / "model")
    arguments = [*command(files, tiny_bundle, "corpus", "queries", "qrels", "run"), "--encoder", str(tiny_encoder)]
    arguments += ["--model", model, "--set", "model.output=1"]
    assert main([*command(files, tiny_bundle, "corpus", "queries", "qrels"), "--output", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    assert main([*arguments, "--output", str(tmp_path / "out"), "--format", "json"]) == 0  # replaces the first one's
    (result,) = json.loads(capsys.readouterr().out)
    assert json.loads((tmp_path / "out/benchmark.json").read_text()) == [result]
    rows = {row["order"]: row for row in result["rows"]}
    name = tiny_encoder.name
    assert list(rows) == ["first stage", "bundle", "model alone", "first stage + model", "bundle + model",
                          f"{name} alone", f"first stage + {name}", f"bundle + {name}"]  # fmt: skip
    qrels = {"q1": {"d1": 1}, "q2": {"d3": 2}, "q3": {"d4": 1, "d2": 0}}
    expected = evaluate_run(qrels, read_run(files["run"]), ["nDCG@10"])["nDCG@10"]
    assert rows["first stage"]["nDCG@10"] == pytest.approx(expected)
    reranker = Reranker(
        tiny_bundle, device="cpu", precision="fp32", models=NamedModels(names=(model,), options={"output": 1})
    )
    documents = [[{"id": d, "text": TEXTS[d], "score": 9 - rank} for rank, d in enumerate(TEXTS, 1)]] * 3
    rankings = reranker.rerank_batch(list(QUERIES.values()), documents)
    blended = {q: {d.id: d.score for d in ranking} for q, ranking in zip(QUERIES, rankings, strict=True)}
    assert rows["bundle + model"]["nDCG@10"] == pytest.approx(evaluate_run(qrels, blended, ["nDCG@10"])["nDCG@10"])
    alone = {q: {d.id: d.scores["model"] for d in ranking} for q, ranking in zip(QUERIES, rankings, strict=True)}
    assert rows["model alone"]["nDCG@10"] == pytest.approx(evaluate_run(qrels, alone, ["nDCG@10"])["nDCG@10"])
    low, high = rows["bundle"]["interval"]
    assert low <= rows["bundle"]["difference"] <= high
    assert rows["bundle"]["seconds"] > 0 == rows["first stage"]["seconds"]
    rate, seconds = (rows["bundle"][name] for name in ("candidates_per_second", "seconds"))
    assert abs(3 * len(TEXTS) - rate * seconds) <= 0.05 * seconds + 0.0005 * rate + 0.001  # both are rounded
    assert rows["first stage"]["candidates_per_second"] is None
    assert "| first stage | " in " ".join((tmp_path / "out/benchmark.md").read_text().split())


def test_bm25_finds_candidates_and_a_limit_takes_the_first_queries(
    files: dict[str, str], tiny_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command(files, tiny_bundle, "corpus", "queries", "qrels"), "--limit", "2", "--k", "3"]) == 0
    shown = capsys.readouterr().out
    assert "2 queries, candidates by BM25; depth 3" in shown
    first = next(line for line in shown.splitlines() if "first stage" in line)
    assert first.split("|")[2].strip() == "1.0000"


def test_a_dataset_of_ir_datasets(
    files: dict[str, str], tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ir_datasets = pytest.importorskip("ir_datasets")
    tables = {"docs": TEXTS, "queries": QUERIES}
    for name, texts in tables.items():
        (tmp_path / f"{name}.tsv").write_text("".join(f"{key}\t{text}\n" for key, text in texts.items()))
    paths = {f"{name}_tsv": str(tmp_path / f"{name}.tsv") for name in tables}
    dataset = ir_datasets.create_dataset(**paths, qrels_trec=files["qrels"])
    ir_datasets.registry.register("mpir-tiny", dataset)
    arguments = ["benchmark", "--bundle", str(tiny_bundle), "--device", "cpu", "--format", "json", "--dataset"]
    assert main([*arguments, "mpir-tiny"]) == 0
    (result,) = json.loads(capsys.readouterr().out)
    assert (result["collection"], result["queries"], result["rows"][0]["nDCG@10"]) == ("mpir-tiny", 3, 1.0)
    assert main([*arguments, "beir/no-such-set"]) == 2
    assert "'beir/no-such-set': ir_datasets has no" in capsys.readouterr().err


def test_a_run_is_reranked(
    files: dict[str, str], tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [
        "rerank",
        *command(files, tiny_bundle, "run", "queries")[1:],
        "--docs",
        files["corpus"],
        "--format",
        "trec",
    ]
    assert main(arguments) == 0
    (tmp_path / "new.trec").write_text(capsys.readouterr().out)
    run = read_run(tmp_path / "new.trec")
    assert {query: set(scores) for query, scores in run.items()} == {query: set(TEXTS) for query in QUERIES}
    assert main([*arguments[:-2], "--format", "trec", "a query"]) == 2
    assert "have queries of their own" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("names", "more", "message"),
    [
        (("corpus", "queries"), [], "--qrels is missing; give --corpus, --queries and --qrels, or a --dataset"),
        (("corpus",), ["--dataset", "beir/scifact/test"], "leave --corpus, --queries and --qrels out"),
        (
            ("queries", "qrels", "run"),
            ["--corpus", "{queries}"],
            "bm25.trec: the corpus lacks its documents d1, d2, d3",
        ),
    ],
)
def test_what_does_not_go_together_is_one_sentence(
    names: tuple[str, ...], more: list[str], message: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command(files, Path("default"), *names), *(word.format(**files) for word in more)]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1

"""The whole generation, through its command line and as a library."""

from __future__ import annotations

import importlib.util
import json
import resource
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mpir
from mpir.errors import InputError, OutputError
from mpir.lab.sia.collect import collect
from mpir.lab.sia.filters import Filters
from mpir.lab.sia.pipeline import Generation
from mpir.lab.sia.settings import GenerationSettings
from mpir.lab.sia.workspace import Workspace
from mpir.lab.sia.writer import Writer
from tests.damage import check_flips

from .conftest import ITEMS, Overlap, qasc_record, write_lines
from .test_writer import make_gpt2

ROOT = Path(mpir.__file__).parents[1]
Run = Any


def script(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "data_scripts" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def generate(qasc: Path, tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run generate_sia.py over the three items; gives the exit status."""
    main = script("generate_sia").main

    def run(*arguments: object, source: Path = qasc) -> int:
        fixed = ["--qasc", source, "--bundle", tiny_bundle, "--output", tmp_path / "out", "--set", "sia.threshold=0"]
        monkeypatch.setattr(sys, "argv", ["generate_sia", *map(str, [*fixed, *arguments])])
        return int(main())

    return run


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for name in ("train", "dev") for line in (folder / f"{name}.jsonl").open()]


@pytest.mark.slow
def test_every_output_is_there_and_agrees(generate: Run, vectors: Path, tmp_path: Path) -> None:
    assert generate("--vectors", vectors, "--set", "sia.probability=1") == 0
    created = rows(tmp_path / "out")
    assert {(row["sia_score"], row["method"]) for row in created} >= {(4, "combined"), (3, "swap-combined")}
    assert {row["query"] for row in created if row["sia_score"] == 4} == {item.question for item in ITEMS}
    report = json.loads((tmp_path / "out/report.json").read_text())
    assert sum(section["rows"] for section in report["rows"]) == len(created) == sum(report["splits"].values())
    assert report["leakage"]["queries in both splits"] == 0
    text = (tmp_path / "out/report.md").read_text()
    assert "### 4 · combined" in text and "**How do birds fly?** Birds fly with wings." in text


@pytest.mark.slow
def test_the_dataset_loads_with_datasets(generate: Run, tmp_path: Path) -> None:
    from datasets import load_dataset

    assert generate() == 0
    loaded = load_dataset(str(tmp_path / "out/dataset"), cache_dir=str(tmp_path / "cache"))
    assert [row for split in loaded.values() for row in split] == rows(tmp_path / "out")
    card = (tmp_path / "out/dataset/README.md").read_text()
    assert card.startswith("---\n") and "- 4: exactly the information" in card and "seed: 1" in card


def test_the_same_seed_gives_the_same_rows(generate: Run, vectors: Path, tmp_path: Path) -> None:
    result = []
    for seed in (1, 1, 2):
        assert generate("--vectors", vectors, "--seed", seed) == 0
        result.append([{**row, "seed": 0} for row in rows(tmp_path / "out")])
    assert result[0] == result[1] != result[2]


def test_methods_and_limit_choose(generate: Run, tmp_path: Path) -> None:
    assert generate("--methods", "combined", "--limit", "2") == 0
    assert [row["query"] for row in sorted(rows(tmp_path / "out"), key=lambda r: r["source_ids"])] == [
        item.question for item in ITEMS[:2]
    ]


WRITER = ("--writer", "w", "--sources", "s")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--writer", "w"], "writer has no effect without sources; give both, or leave it out"),
        (["--methods", "nonsense"], "method 'nonsense' is unknown; choose from combined, partial, similar"),
        (["--methods", "swap"], "method swap needs vectors"),
        (["--methods", "graded"], "method graded needs bioasq"),
        ([*WRITER, "--set", "sia.least_relevance=nan"], "sia.least_relevance is nan; expected a number"),
        ([*WRITER, "--set", "sia.least_grounded=60"], "sia.least_grounded is 60.0; expected a number, at most 1"),
        (["--vectors", "v", "--set", "sia.probability=2"], "sia.probability is 2.0; expected a number above 0"),
        (["--set", "sia.threshold=5.1"], "no pair reaches the similarity 5.1 of 5; try sia.threshold"),
        (["--bundle", "no-bundle"], "bundle 'no-bundle' not found"),
        (["--set", "batch.tokens=3"], "tokens_per_batch is 3, too small for one pair"),
        (["--vectors", "no-vectors"], "no-vectors: there are no word vectors"),
        ([*WRITER, "--set", "sia.epochs=0"], "sia.epochs is 0"),
        ([*WRITER, "--set", "sia.learning_rate=-1"], "sia.learning_rate is -1.0; expected a number above 0"),
        ([*WRITER, "--set", "sia.learning_rate=nan"], "sia.learning_rate is nan; expected a number above 0"),
        ([*WRITER, "--set", "sia.temperature=0"], "sia.temperature is 0.0; expected a number above 0"),
        ([*WRITER, "--set", "sia.top_p=7"], "sia.top_p is 7.0; expected a number above 0 and at most 1"),
        ([*WRITER, "--set", "sia.top_p=0"], "sia.top_p is 0.0; expected a number above 0 and at most 1"),
    ],
)
def test_a_mistake_is_one_sentence(
    generate: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], message: str
) -> None:
    assert generate(*arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("mpir: ") and message in error and error.count("\n") == 1
    assert not (tmp_path / "out/train.jsonl").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"questions": [{"body": "Which?"}]}, "q.json: question 1 has no id"),
        ({"questions": [5]}, "q.json: question 1 is 5; expected an object"),
        (
            {"questions": [{"id": "q", "body": "Which?", "type": "factoid", "exact_answer": 5}]},
            "q.json: question 'q': exact_answer is 5",
        ),
    ],
)
def test_bad_questions_are_refused_before_anything_is_made(
    generate: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path, content: object, message: str
) -> None:
    (tmp_path / "q.json").write_text(json.dumps(content))
    assert generate("--bioasq", tmp_path / "q.json", "--corpus", ROOT / "mpir/sample/documents.jsonl") == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_bad_rows_are_skipped_only_when_asked(
    generate: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    records = [qasc_record(item) for item in ITEMS]
    del records[1]["fact2"]
    bad = write_lines(tmp_path / "bad.jsonl", records)
    assert generate(source=bad) == 2
    assert "bad.jsonl: row 2: fact2 is missing" in capsys.readouterr().err
    assert generate("--set", "sia.skip_bad=true", "--methods", "combined", source=bad) == 0
    report = json.loads((tmp_path / "out/report.json").read_text())
    assert report["counts"]["items"] == {"bad row: no fact2": 1}


def test_a_folder_of_something_else_is_not_replaced(generate: Run, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/thesis.txt").write_text("years of work")
    assert generate() == 2
    assert (tmp_path / "out/thesis.txt").exists()


def test_files_of_the_users_among_the_steps_are_not_removed(tmp_path: Path) -> None:
    step = Workspace(tmp_path / "w").run("step", [1], lambda _: ([], {}), depends={})
    leftover = step.chunks[0].parent / ".model.0123456789ab"
    leftover.mkdir()
    (leftover / "config.json").write_text("of a killed process")
    notes = step.chunks[0].parent / "notes.txt"
    notes.write_text("years of work")
    with pytest.raises(OutputError, match=r"also contains step/notes\.txt"):
        Workspace(tmp_path / "w")
    repeated = Workspace(tmp_path / "w", resume=True)
    with pytest.raises(OutputError, match=r"step: .*also contains notes\.txt"):
        repeated.run("step", [1], lambda _: ([], {}), depends={"x": 2})
    assert notes.read_text() == "years of work"
    notes.unlink()
    Workspace(tmp_path / "w")
    assert not leftover.exists()


@pytest.mark.parametrize("name", ["train.jsonl", "report.json", ".steps/items/rows.jsonl", "dataset/rows.jsonl"])
def test_an_input_is_not_replaced(
    generate: Run, qasc: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    Workspace(tmp_path / "out")
    (tmp_path / "out" / name).parent.mkdir(parents=True, exist_ok=True)
    source = (tmp_path / "out" / name).write_bytes(qasc.read_bytes())
    assert generate(source=tmp_path / "out" / name) == 2
    assert "--qasc, which would be lost" in capsys.readouterr().err
    assert (tmp_path / "out" / name).stat().st_size == source


def test_graded_rows_leave_evaluation_questions_out(tiny_bundle: Path, tmp_path: Path) -> None:
    sample = ROOT / "mpir/sample"
    questions = json.loads((sample / "questions.json").read_text())["questions"]
    (tmp_path / "test.json").write_text(json.dumps({"questions": questions[:5]}))
    settings = GenerationSettings(
        bioasq=(str(sample / "questions.json"),),
        exclude=(str(tmp_path / "test.json"),),
        corpus=(str(sample / "documents.jsonl"),),
        bundle=str(tiny_bundle),
    )
    generation = Generation(settings, tmp_path / "out")
    result = generation.run()
    assert generation.steps.counts["bioasq"] == {
        "questions kept for evaluation, left out": 5,
        "questions": len(questions) - 5,
    }
    assert {score for score, _ in result.rows} == {0, 1, 2, 3, 4} or {score for score, _ in result.rows} >= {0, 1, 2, 4}
    assert not {row["query"] for row in rows(tmp_path / "out")} & {question["body"] for question in questions[:5]}


def test_a_generation_without_rows_writes_nothing(tiny_bundle: Path, tmp_path: Path) -> None:
    sample = ROOT / "mpir/sample"
    questions = (str(sample / "questions.json"),)
    corpus = (str(sample / "documents.jsonl"),)
    settings = GenerationSettings(bioasq=questions, exclude=questions, corpus=corpus, bundle=str(tiny_bundle))
    with pytest.raises(InputError, match=r"no rows .*out: 24\b"):
        Generation(settings, tmp_path / "out").run()
    assert not (tmp_path / "out/train.jsonl").exists()


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"qasc": "q", "bioasq": ("b",)}, "bioasq .* without corpus"),
        ({"qasc": "q", "corpus": ("c",)}, "corpus .* without bioasq"),
        ({"qasc": "q", "writer": "w"}, "writer .* without sources"),
        ({"qasc": "q", "sources": ("s",)}, "sources .* without writer"),
        ({"bioasq": ("b",), "corpus": ("c",), "vectors": "v"}, "vectors .* without qasc"),
        ({"qasc": "q", "exclude": ("e",)}, "exclude .* without bioasq"),
    ],
)
def test_an_input_without_its_partner_is_refused(inputs: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GenerationSettings(**inputs).chosen()


def test_inputs_beside_named_methods_may_stay() -> None:
    assert GenerationSettings(qasc="q", bioasq=("b",), vectors="v", steps=("combined",)).chosen() == ("combined",)
    assert GenerationSettings(qasc="q", bioasq=("b",), corpus=("c",), exclude=("e",)).chosen()[-1] == "coverage"


def test_generated_rows_bear_their_prefix(qasc: Path, tiny_bundle: Path, tmp_path: Path) -> None:
    words = " ".join(text for item in ITEMS for text in (item.question, item.full, *item.partial))
    corpus = write_lines(tmp_path / "c.jsonl", [{"id": "1", "text": "Insulin is a hormone. Birds fly with wings."}])
    settings = GenerationSettings(
        steps=("combined", "partial", "generated"),
        qasc=str(qasc),
        writer=make_gpt2(tmp_path, words.replace("?", " ").replace(".", " ")),
        sources=(str(corpus),),
        training={"epochs": 30, "batch_size": 3, "learning_rate": 0.01},
        decoding={"temperature": 0.1, "most_tokens": 8},
        filters=Filters(least_relevance=0.0),  # the bundle is random
        bundle=str(tiny_bundle),
        device="cpu",
        precision="fp32",
    )
    Generation(settings, tmp_path / "out").run()
    created = [row for row in rows(tmp_path / "out") if row["method"].startswith("generated-")]
    assert {row["method"] for row in created} <= {"generated-combined", "generated-partial"}
    assert {row["sentence"] for row in created if row["sia_score"] == 4} <= {
        "Insulin is a hormone.",
        "Birds fly with wings.",
    }
    assert created
    report = json.loads((tmp_path / "out/report.json").read_text())
    decoding = report["made_by"]["decoding"]
    assert decoding == {"temperature": 0.1, "most_tokens": 8, "top_p": 0.9, "precision": "float32"}
    assert report["counts"]["generated-items"]["sentences"] == 2
    stricter = replace(settings, filters=Filters(least_relevance=1.1), sentences=1)
    with pytest.raises(InputError, match=r"every query .*'sentences': 1, .*': 1\b"):
        Generation(stricter, tmp_path / "out", resume=True).run()  # what other filters had let pass is not kept


def test_writers_of_queries_learn_from_gold_sentences_too(qasc: Path, tiny_bundle: Path, tmp_path: Path) -> None:
    sample = ROOT / "mpir/sample"
    corpus = write_lines(tmp_path / "c.jsonl", [{"id": "1", "text": "Insulin is a hormone. Birds fly with wings."}])
    settings = GenerationSettings(
        qasc=str(qasc),
        bioasq=(str(sample / "questions.json"),),
        corpus=(str(sample / "documents.jsonl"),),
        limit=3,
        writer=make_gpt2(tmp_path, (sample / "questions.json").read_text()),
        sources=(str(corpus),),
        training={"epochs": 20, "batch_size": 3, "learning_rate": 0.01, "max_length": 60},
        decoding={"most_tokens": 8},
        bundle=str(tiny_bundle),
        device="cpu",
    )
    Generation(replace(settings, steps=("graded",)), tmp_path / "graded").run()
    gold = next(row for row in rows(tmp_path / "graded") if row["method"] == "golden")
    losses = []
    for steps in (("combined", "graded", "generated"), ("combined", "generated")):
        with suppress(InputError):  # what the small writer writes passes no filter; this is about what it learned
            Generation(replace(settings, steps=steps), tmp_path / "out", resume=True).run()
        writer = Writer(tmp_path / "out/.steps/writer-query/model", "query", max_length=60, device="cpu")
        losses.append(float(writer.loss([(gold["sentence"], gold["query"])]).detach()))
    assert losses[0] < losses[1] / 2


def test_resuming_keeps_what_is_finished(tmp_path: Path) -> None:
    recorded: list[int] = []

    def work(chunk: Any) -> Any:
        if 4 in chunk and len(recorded) < 5:
            recorded.append(-1)
            raise KeyboardInterrupt
        recorded.extend(chunk)
        return [{"value": value} for value in chunk], {"values": len(chunk)}

    with pytest.raises(KeyboardInterrupt):
        Workspace(tmp_path / "w").run("step", range(6), work, depends={"x": 1}, size=2)
    assert recorded == [0, 1, 2, 3, -1]
    step = Workspace(tmp_path / "w", resume=True).run("step", range(6), work, depends={"x": 1}, size=2)
    assert recorded == [0, 1, 2, 3, -1, 4, 5]
    assert [record["value"] for record in step.records()] == [0, 1, 2, 3, 4, 5]
    assert step.counts == {"values": 6}
    Workspace(tmp_path / "w", resume=True).run("step", range(6), work, depends={"x": 2}, size=2)
    assert recorded[7:] == [0, 1, 2, 3, 4, 5]


def test_every_changed_byte_of_a_step_is_refused_or_changes_nothing(tmp_path: Path) -> None:
    def work(chunk: Any) -> Any:
        return [{"value": value, "text": "sugar"} for value in chunk], {"values": len(chunk)}

    def read() -> Any:
        step = Workspace(tmp_path / "w", resume=True).run("step", range(4), work, depends={}, size=2)
        return [(record["value"], record["text"]) for record in step.records()], dict(step.counts)

    read()
    mark, *chunks = sorted((tmp_path / "w/.steps/step").iterdir(), reverse=True)
    assert check_flips(chunks, read) > 70
    check_flips([mark], read, number=20)


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "w")
    space.run("small", [1], lambda chunk: ([{"value": 1}], {}), depends={})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))  # writing beyond it fails as on a full disk
    try:
        with pytest.raises(OutputError, match=r"000000\.jsonl: .*written"):
            space.run("large", [1], lambda chunk: ([{"value": "x" * 20_000}], {}), depends={})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.parent.name for path in (tmp_path / "w/.steps").rglob("*jsonl*")] == ["small"]


def test_a_file_in_the_folders_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(OutputError, match=r"taken: .*a folder"):
        Workspace(tmp_path / "taken")


def test_a_pair_counts_once_and_the_first_method_decides(tmp_path: Path) -> None:
    def record(query: str, sentence: str, score: int) -> dict[str, Any]:
        return {"query": query, "sentence": sentence, "sia_score": score, "method": "m", "source_ids": [], "seed": 1}

    records = [record("Q?", "Yes.", 4), record("q", "yes", 4), record("Q?", "Yes!", 2), record("Q?", "No.", 0)]
    result = collect(records, tmp_path, seed=1)
    assert result.removed == {"repeated pair": 1, "repeated pair with another score": 1}
    assert [row["sia_score"] for row in rows(tmp_path)] == [4, 0]


def test_perspectives_that_the_bundle_lacks_are_named(qasc: Path, tmp_path: Path) -> None:
    generation = Generation(GenerationSettings(qasc=str(qasc), steps=("partial",)), tmp_path / "out")
    generation.steps._perspectives = {"dense": Overlap("dense")}
    with pytest.raises(InputError, match=r"perspective 'relevance' \(only dense\)"):
        generation.run()

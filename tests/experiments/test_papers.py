"""Scripts of docs/evidence/papers.md through their command lines: which rows they print, and the arithmetic behind."""

import json
import re
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

from experiments.perspectives.sia_sources import split
from experiments.tripclick import variants as tripclick
from experiments.tripclick.groups import Group
from experiments.tripclick.variants import RECIPES, of_groups, options_of, own_data, read_named
from experiments.tuning.ranks import variants
from mpir.core.weights import Weights
from mpir.errors import InputError
from mpir.files.weights import write_weights
from mpir.lab.train.examples import Example
from mpir.tune.dataset import Dataset
from mpir.tune.objective import Objective
from tests.experiments.conftest import RunScript
from tests.experiments.test_dense_grids import rows_of

TEXTS = ["aspirin does thin the blood", "a gene is in a cell", "no risk in the trial", "placebo and patients"]


def test_weights_by_rank_keep_their_sum_and_are_measured_on_the_questions(
    run_script: RunScript, learnable: Dataset, tmp_path: Path
) -> None:
    given = Weights({"a": 1.0, "b": 0.1}, beta={"bm25": 0.1}, w=(0.5, 0.125, 0.25), normalise="none")
    choices = {name.split(" (")[0]: weights.w for name, weights in variants(given).items()}
    assert choices == {
        "as tuned": (0.5, 0.125, 0.25),
        "falling": (0.5, 0.25, 0.125),
        "pooled": (0.5, 0.1875, 0.1875),
        "best alone": (0.875, 0.0, 0.0),
        "equal": (0.875 / 3,) * 3,
    }
    learnable.save(tmp_path / "scored")
    write_weights(tmp_path / "weights.json", given)
    options = ["--scored", tmp_path / "scored", "--weights", tmp_path / "weights.json"]
    finished = run_script("experiments/tuning/ranks.py", *options)
    assert finished.returncode == 0, finished.stderr
    rows = {name.split(" (")[0]: cells[0] for name, cells in rows_of(finished.stdout).items() if "(" in name}
    assert list(rows) == list(choices)
    values = Objective(learnable, "document-map").per_question(given)
    assert rows["as tuned"].startswith(f"{np.nanmean(values):.4f}")
    assert 0 < (without_gold := np.count_nonzero(np.isnan(values))) < values.size
    assert finished.stdout.startswith(f"{values.size - without_gold} questions\n") and "Holm" in finished.stdout


def test_sts_of_pairs_in_medstss_form(run_script: RunScript, tiny_bundle: Path, tmp_path: Path) -> None:
    path = tmp_path / "medsts.txt"
    path.write_text("".join(f"{TEXTS[i % 4]}\t{TEXTS[i % 3]}\t{i % 5}\n" for i in range(12)))
    finished = run_script("experiments/perspectives/sts.py", "--pairs", path, "--bundle", tiny_bundle)
    assert finished.returncode == 0, finished.stderr
    (row,) = (line.split() for line in finished.stdout.splitlines() if line.startswith("medsts.txt"))
    assert row[1] == "12" and float(row[3]) <= float(row[2]) <= float(row[5])
    path.write_text(f"{TEXTS[0]}\t{TEXTS[1]}\t3\n{TEXTS[0]}\tno score\n")
    finished = run_script("experiments/perspectives/sts.py", "--pairs", path, "--bundle", tiny_bundle)
    assert finished.returncode == 2
    assert f"{path}:2: found" in finished.stderr and "expected sentence⇥sentence⇥score" in finished.stderr


def test_sources_of_sia_rows_are_compared_on_the_same_held_rows(
    run_script: RunScript, tiny_checkpoint: Path, tmp_path: Path
) -> None:
    for name, labels in (("one", (0, 4)), ("all", (1, 3)), ("held", (4, 2, 0))):
        rows = [
            {
                "id": f"q{i % 6}",
                "question": TEXTS[i % 4],
                "sentence": TEXTS[i % 3],
                "label": labels[i // 6 % len(labels)],
            }
            for i in range(24)
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    sources = [f"{name}={tmp_path / name}.jsonl" for name in ("one", "all")]
    options = ["--rows", *sources, "--checkpoint", tiny_checkpoint, "--held", tmp_path / "held.jsonl", "--seeds", "1"]
    into = ["--output", tmp_path / "runs", "--train", "--set", "train.max_steps=1", "--device", "cpu"]
    finished = run_script("experiments/perspectives/sia_sources.py", *options, *into)
    assert finished.returncode == 0, finished.stderr
    rows_printed = rows_of(finished.stdout)
    assert list(rows_printed) == ["trained on", ":-----------", "one", "all"] or list(rows_printed)[-2:] == [
        "one",
        "all",
    ]
    assert rows_printed["trained on"] == ["held.jsonl"]
    assert all(re.match(r"-?\d\.\d", rows_printed[name][0]) for name in ("one", "all"))
    finished = run_script("experiments/perspectives/sia_sources.py", *options[:5], "--output", tmp_path / "runs")
    assert finished.returncode == 2 and "nothing to measure on" in finished.stderr


def test_the_rows_that_choose_a_checkpoint_are_of_other_questions() -> None:
    rows = [Example(group=f"q{i % 5}", question="q", sentence=f"s{i}", label=1.0) for i in range(20)]
    dev, training = split(rows, 7, seed=3)
    assert len(dev) == 4 and len(training) == 7
    assert len({row.group for row in dev}) == 1 and not {row.group for row in dev} & {row.group for row in training}
    with pytest.raises(InputError, match="rows of 1 questions"):
        split(rows[:1], 7, seed=3)


def test_a_steps_cost_has_seconds_and_bytes(run_script: RunScript, tiny_encoder: Path) -> None:
    finished = run_script("experiments/dense/cost.py", "--cell", tiny_encoder, "mean", "--steps", "2")
    assert finished.returncode == 0, finished.stderr
    cell = json.loads(finished.stdout)
    assert 0 < cell["seconds"] < 60 and cell["bytes"] > 50 * 2**20


@pytest.mark.slow
def test_each_poolings_cost_is_a_row_and_a_bar(run_script: RunScript, tiny_encoder: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "empty").mkdir()
    options = ["--poolings", "mean", "cls", "--steps", "1", "--output", tmp_path]
    finished = run_script("experiments/dense/cost.py", *options, "--checkpoints", tiny_encoder)
    assert finished.returncode == 0, finished.stderr
    lines = [line.split("|")[1:-1] for line in finished.stdout.splitlines() if line.startswith("| tiny")]
    assert [line[1].strip() for line in lines] == ["mean", "cls"]
    assert all(float(line[2]) > 0 and float(line[3].replace(",", "")) > 50 for line in lines)
    assert (tmp_path / "cost.png").stat().st_size > 1000 and (tmp_path / "cost.svg").is_file()
    finished = run_script("experiments/dense/cost.py", *options, "--checkpoints", tmp_path / "empty")
    assert finished.returncode != 0 and "empty, mean: could not" in finished.stderr


def test_variants_rows_from_runs_are_tested_with_the_others(tmp_path: Path) -> None:
    """Of four queries, the run ranks the relevant document first; the other system ranks it second."""
    groups = [Group(name, [], {f"{name}{i}": {"d1": 1} for i in range(2)}) for name in ("head", "tail")]
    path = tmp_path / "convknrm.trec"
    path.write_text("".join(f"{q} Q0 d1 1 2.5 x\n{q} Q0 d2 2 1.5 x\n" for group in groups for q in group.qrels))
    name, run = read_named(f"ConvKNRM={path}")
    worse = [{query: {"d1": 1.0, "d2": 2.0} for query in group.qrels} for group in groups]
    printed = tripclick.tested(groups, {name: of_groups(run, groups), "filtered": worse})
    (row,) = (line for line in printed.splitlines() if "| ConvKNRM" in line or "| filtered" in line)
    assert "4/0/0" in row and f"+{1 - 1 / np.log2(3):.4f}" in row
    with pytest.raises(InputError, match="--runs: 'ConvKNRM'"):
        read_named("ConvKNRM")


def test_each_variant_has_its_own_triples_and_shares_all_else(tmp_path: Path) -> None:
    for name in ("questions.tsv", "dev.jsonl"):
        (tmp_path / name).write_text(name)
    (tmp_path / "documents").mkdir()
    prepared = Namespace(data=tmp_path, index_folder=tmp_path / "index")
    for _ in range(2):  # links are made anew
        folder = own_data(prepared, tmp_path / "variants/random/data")  # type: ignore[arg-type]
    assert (folder / "questions.tsv").read_text() == "questions.tsv" and not (folder / "triples.tsv").exists()
    options = {recipe: options_of(recipe, prepared) for recipe in RECIPES}  # type: ignore[arg-type]
    assert options["above-click"][-1] == "triples.recipe=above-click" and "--random" in options["random"]

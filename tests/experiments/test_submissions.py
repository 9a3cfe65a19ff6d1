"""The comparison of submissions: joined sentences against the official code, and the tables from end to end."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.submissions.candidates import measured
from experiments.submissions.fusion import mean_z_scores, reciprocal, reciprocal_ranks, z_scores
from experiments.submissions.joined import joined_values
from experiments.submissions.titles import best_sentences, by_question
from experiments.submissions.two_bundles import fused, halved, renamed
from experiments.submissions.windows import Scores, submitted, windows_of
from experiments.submissions.windows import measured as measured_windows
from mpir.core.blend import blend
from mpir.core.cutoffs import Cutoff, Cutoffs
from mpir.core.weights import Weights
from mpir.files.weights import write_weights
from mpir.tune.dataset import Dataset
from mpir.tune.objective import Objective
from tests.experiments.conftest import RunScript
from tests.tune.conftest import random_pairs

WEIGHTS = Weights({"a": 0.5, "b": 0.5}, cutoffs=Cutoffs(snippets=Cutoff(share=0.5, maximum=8)))


@pytest.fixture
def scored() -> Dataset:
    return Dataset.collect(random_pairs(5, 12, touching=False), {"perspectives": {"a": "1", "b": "2"}})


@pytest.mark.parametrize("measure", ["document-map", "snippet-map", "snippet-f1"])
def test_a_share_that_joins_nothing_gives_the_measures_of_single_sentences(scored: Dataset, measure: str) -> None:
    rng = np.random.default_rng(0)
    columns = scored.columns
    shuffled = rng.random(columns.sentences.shape)  # no two sums are equal
    scored = replace(scored, columns=replace(columns, sentences=shuffled))
    objective = Objective(scored, measure)
    np.testing.assert_allclose(joined_values(objective, WEIGHTS, 1.0), objective.per_question(WEIGHTS), atol=1e-9)


def test_fusions_rank_by_all_columns_alike(scored: Dataset) -> None:
    pool = Objective(scored).pool
    for fuse in (mean_z_scores, reciprocal_ranks):
        whole, cut = fuse(pool), fuse(pool, Cutoffs(snippets=Cutoff(maximum=2)))
        assert (cut.snippets[:, :2] == whole.snippets[:, :2]).all()
        assert (cut.snippets[:, 2:] == -1).all()


def test_the_tables_have_every_system(scored: Dataset, tmp_path: Path, run_script: RunScript) -> None:
    scored.save(tmp_path / "dev")
    write_weights(tmp_path / "weights.json", Weights({"a": 0.5, "b": 0.5}))
    sets = ["--dev", tmp_path / "dev", "--test", tmp_path / "dev", "--weights", tmp_path / "weights.json"]
    result = run_script("experiments/submissions/compare.py", *sets, "--calls", "1", "--loops", "1")
    assert result.returncode == 0, result.stderr
    for name in ("BM25", "weights that ship, cut", "weights and cut-off tuned together", "mean of z-scores, cut"):
        assert result.stdout.count(f"| {name} ") == 4, name  # of dev and test: measures, and changes
    assert "dev: 12 questions, version 9" in result.stdout


def test_the_best_sentence_of_each_document() -> None:
    scores, of = np.array([0.5, 0.7, 0.7, 0.1]), np.array([0, 0, 0, 2])
    np.testing.assert_array_equal(best_sentences(scores, of), [1, -1, 3])
    np.testing.assert_array_equal(by_question(np.array([True, False, True]), np.array([0, 0, 2])), [0.5, 1.0])


def test_titles_behind_the_body(scored: Dataset, tmp_path: Path, run_script: RunScript) -> None:
    scored.save(tmp_path / "dev")
    write_weights(tmp_path / "weights.json", Weights({"a": 0.5, "b": 0.5}))
    sets = ["--scored", tmp_path / "dev", "--weights", tmp_path / "weights.json"]
    result = run_script("experiments/submissions/titles.py", *sets)
    assert result.returncode == 0, result.stderr
    as_blended, titles_last, _ = result.stdout.splitlines()[-2].split()[1:4]
    assert result.stdout.splitlines()[-2].startswith("snippet-map")
    assert (as_blended == titles_last) is ("0.0% of all" in result.stdout)


def test_sets_of_other_candidates_are_compared_over_their_common_questions(
    scored: Dataset, tmp_path: Path, run_script: RunScript
) -> None:
    scored.save(tmp_path / "all")
    scored.subset(np.arange(7, -1, -1)).save(tmp_path / "fewer")
    write_weights(tmp_path / "weights.json", Weights({"a": 0.5, "b": 0.5}))
    sets = [f"one={tmp_path / 'all'}", f"two={tmp_path / 'fewer'}"]
    result = run_script(
        "experiments/submissions/candidates.py", "--scored", *sets, "--weights", tmp_path / "weights.json"
    )
    assert result.returncode == 0, result.stderr
    title, _, _, _, one, two = result.stdout.splitlines()
    assert title == "8 questions, version 9"
    cells = [[cell.split(";")[0].strip() for cell in line.split("|")[2:-1]] for line in (one, two)]
    assert cells[0] == cells[1]
    assert two.count("; p 1") == 2


def test_recall_counts_gold_among_the_candidates(scored: Dataset) -> None:
    values = measured(scored, WEIGHTS, Cutoffs(), 9)
    for number, question in enumerate(scored.questions):
        documents = set(scored.documents[scored.columns.query_of == number].tolist())
        gold = set(question.documents or ())
        assert values["recall"][number] == pytest.approx(len(documents & gold) / len(gold))


def test_a_bundle_joined_with_itself_ranks_as_alone(scored: Dataset) -> None:
    joined = scored.join_columns(renamed(scored))
    assert joined.columns.layout.sentences == ("a", "b", "a (second)", "b (second)")
    weights = Weights({"a": 0.25, "b": 0.75})
    alone, both = blend(scored.columns, weights), blend(joined.columns, halved(weights, weights))
    np.testing.assert_allclose(both.documents, alone.documents)
    pool = Objective(scored).pool
    for scale in (z_scores, reciprocal):
        once, twice = fused([alone], scale)(pool, Cutoffs()), fused([alone, both], scale)(pool, Cutoffs())
        np.testing.assert_array_equal(once.documents, twice.documents)
        np.testing.assert_array_equal(once.snippets, twice.snippets)


def test_windows_are_neighbours_in_a_section_of_a_document(scored: Dataset) -> None:
    sections = np.asarray(scored.sections)
    for document in range(len(scored.documents)):
        rows = np.flatnonzero(scored.columns.document_of == document)
        expected = {
            (int(first), int(last))
            for first in rows
            for last in rows
            if 0 < last - first < 3 and len(set(sections[first : last + 1].tolist())) == 1
        }
        assert set(windows_of(scored, document)) == expected


def test_a_window_takes_the_place_of_its_sentences_where_it_scores_higher() -> None:
    windows = {(0, 1): 0.5, (1, 2): 0.9, (0, 2): 0.6}
    scores = Scores(
        blended=np.array([3.0, 2.0, 1.0]), relevance=np.full(3, 0.4), documents=np.array([[0]]), windows=windows
    )
    ranked = np.array([0, 1, 2])
    assert submitted(scores, ranked, None) == [(0, 0), (1, 1), (2, 2)]
    assert submitted(scores, ranked, 0.1) == [(0, 2)]
    assert submitted(scores, ranked, 0.3) == [(0, 0), (1, 2)]
    assert submitted(scores, ranked, 0.6) == [(0, 0), (1, 1), (2, 2)]


def test_single_sentences_have_the_measures_of_a_submission(scored: Dataset) -> None:
    rng = np.random.default_rng(0)
    shuffled = replace(scored.columns, sentences=rng.random(scored.columns.sentences.shape))
    scored = replace(scored, columns=shuffled)
    weights = replace(WEIGHTS, cutoffs=None)
    objective = Objective(scored, "snippet-f1")
    scores = Scores(
        blended=blend(shuffled, weights).sentences,
        relevance=np.zeros(len(shuffled.sentences)),
        documents=objective.pool.blended(weights).documents,
        windows={},
    )
    values = measured_windows(scored, scores, Cutoff(share=0.5), 0.0, 9)
    cut = replace(weights, cutoffs=Cutoffs(snippets=Cutoff(share=0.5)))
    np.testing.assert_allclose(values["F, ten"], objective.per_question(weights), atol=1e-9)
    np.testing.assert_allclose(values["F, cut"], objective.per_question(cut), atol=1e-9)

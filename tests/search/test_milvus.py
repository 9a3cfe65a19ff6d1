"""A first stage in Milvus, run in a file of milvus-lite: words and vectors are ranked as by mpir's own indexes."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mpir
from mpir.app.cli import main
from mpir.core.text.terms import terms
from mpir.errors import EndpointError, InputError
from mpir.files.corpora import read_collection
from mpir.search import DenseIndex, HybridRetriever, MemoryIndex, Retriever, build_dense
from mpir.search.engines.milvus import MilvusIndex
from mpir.search.memory import DEFAULT_B, DEFAULT_K1

pymilvus = pytest.importorskip("pymilvus")
pytest.importorskip("milvus_lite")
DOCUMENTS = [*read_collection([Path(mpir.__file__).parent / "sample/documents.jsonl"])][:150]
QUERIES = ("cancer treatment", "gene expression in mice", "does aspirin prevent stroke", "patients with diabetes")
WIDTH = 16


class Hashing:
    """A text's vector is the sum of its terms' random vectors, scaled to length 1."""

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"checkpoint": "hashing"}

    def vectors(self, texts: Sequence[str]) -> tuple[Any, Any]:
        return np.array([self._vector(text) for text in texts], np.float32), np.arange(len(texts))

    def _vector(self, text: str) -> Any:
        seeds = [int.from_bytes(term.encode()[:8], "little") for term in terms(text)]
        total = np.sum([np.random.default_rng(seed).standard_normal(WIDTH) for seed in seeds], axis=0)
        return total / np.linalg.norm(total)


def analysed(text: str) -> str:
    """mpir's terms, which milvus-lite's analyser, a splitter at white space and punctuation, leaves as they are."""
    return " ".join(terms(text))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    path, types = tmp_path_factory.mktemp("milvus") / "pubmed.db", pymilvus.DataType
    client = pymilvus.MilvusClient(str(path))
    schema = client.create_schema()
    schema.add_field("id", types.VARCHAR, is_primary=True, max_length=100)
    for name in ("title", "abstract"):
        schema.add_field(name, types.VARCHAR, max_length=65_535)
    schema.add_field("terms", types.VARCHAR, max_length=65_535, enable_analyzer=True)
    schema.add_field("words", types.SPARSE_FLOAT_VECTOR)
    schema.add_field("vector", types.FLOAT_VECTOR, dim=WIDTH)
    bm25 = pymilvus.FunctionType.BM25
    schema.add_function(pymilvus.Function("bm25", bm25, input_field_names=["terms"], output_field_names=["words"]))
    indexes, parameters = client.prepare_index_params(), {"params": {"bm25_k1": DEFAULT_K1, "bm25_b": DEFAULT_B}}
    indexes.add_index("words", "SPARSE_INVERTED_INDEX", metric_type="BM25", params=parameters)
    indexes.add_index("vector", "FLAT", metric_type="COSINE")
    client.create_collection("pubmed", schema=schema, index_params=indexes)
    vectors, _ = Hashing().vectors([document.text for document in DOCUMENTS])
    client.insert(
        "pubmed",
        [
            {
                "id": item.id,
                "title": item.title,
                "abstract": item.abstract,
                "terms": analysed(item.text),
                "vector": vector,
            }
            for item, vector in zip(DOCUMENTS, vectors.tolist(), strict=True)
        ],
    )
    client.close()
    return f"milvus+file://{path}/pubmed"


@pytest.fixture
def words(address: str) -> Iterator[MilvusIndex]:
    index = MilvusIndex(address)
    yield index
    index.close()


@pytest.fixture
def vectors(address: str) -> Iterator[MilvusIndex]:
    index = MilvusIndex(address, mode="dense", encoder=Hashing())
    yield index
    index.close()


def test_words_rank_as_in_memory(words: MilvusIndex) -> None:
    own = MemoryIndex([document.text for document in DOCUMENTS])
    assert isinstance(words, Retriever)
    assert len(words) == len(DOCUMENTS)
    for query in QUERIES:
        scores = dict(zip([item.id for item in DOCUMENTS], own.scores(query).tolist(), strict=True))
        hits = words.search(analysed(query), 10)
        # Milvus's formula has the constant factor k1 + 1, which Lucene leaves out.
        assert [hit.score for hit in hits] == pytest.approx([(DEFAULT_K1 + 1) * scores[hit.id] for hit in hits])
        assert [scores[hit.id] for hit in hits] == sorted(scores.values(), reverse=True)[:10]
        assert hits[0].scores == {"bm25": hits[0].score}


def test_vectors_rank_as_in_an_index_of_mpir(vectors: MilvusIndex, tmp_path: Path) -> None:
    build_dense(DOCUMENTS, tmp_path / "dense", Hashing())
    with DenseIndex(tmp_path / "dense", Hashing()) as own:
        for query in QUERIES:
            hits, expected = vectors.search(query, 10), own.search(query, 10)
            assert [hit.id for hit in hits] == [hit.id for hit in expected]
            assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in expected], abs=1e-5)


def test_stored_texts_and_scores_by_id(words: MilvusIndex, vectors: MilvusIndex) -> None:
    hits = words.search("cancer", 3)
    names = [hits[2].id, 'unknown "id"', hits[0].id]
    assert words.scores_of("cancer", names).tolist() == pytest.approx([hits[2].score, 0.0, hits[0].score])
    assert words.scores_of("…", names).tolist() == [0.0, 0.0, 0.0]
    assert words.search("…") == []
    document = next(document for document in DOCUMENTS if document.id == hits[0].id)
    assert (hits[0].title, hits[0].abstract) == (document.title, document.abstract)
    assert words.document(document.id).abstract == document.abstract
    with pytest.raises(InputError, match=r"document .*id 'x'"):
        words.document("x")
    assert len(HybridRetriever([words, vectors]).search("cancer treatment", 20)) == 20


def test_faults_are_one_sentence(address: str, words: MilvusIndex, tmp_path: Path) -> None:
    with pytest.raises(EndpointError, match=r"pubmeds: .*no such"):
        MilvusIndex(f"{address}s")
    with pytest.raises(InputError, match=r"none\.db: no such"):
        MilvusIndex(f"milvus+file://{tmp_path}/none.db/pubmed")
    with pytest.raises(EndpointError, match="cannot be reached"):
        MilvusIndex("milvus+http://127.0.0.1:1/pubmed", timeout=1)
    with pytest.raises(InputError, match=r"'milvus\+pubmed' .*no collection"):
        MilvusIndex("milvus+pubmed")
    with pytest.raises(InputError, match=r"/pubmed: .*needs .*encoder"):
        MilvusIndex(address, mode="dense")
    with pytest.raises(EndpointError, match=r"'missing' .*in schema"):
        MilvusIndex(address, fields=("title", "abstract", "missing", "vector")).search("cancer")


def test_the_command_searches_a_collection(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "--index", address, "--format", "jsonl", "--k", "3", "cancer"]) == 0
    assert len(json.loads(capsys.readouterr().out)["documents"]) == 3


def collection(path: Path, metric: str, titles: list[list[str]]) -> str:
    """The address of a new collection whose titles are lists, and whose abstracts are blank."""
    client = pymilvus.MilvusClient(str(path))
    schema, types = client.create_schema(), pymilvus.DataType
    schema.add_field("id", types.VARCHAR, is_primary=True, max_length=9)
    schema.add_field("title", types.ARRAY, element_type=types.VARCHAR, max_capacity=9, max_length=99)
    schema.add_field("abstract", types.VARCHAR, max_length=99)
    schema.add_field("vector", types.FLOAT_VECTOR, dim=WIDTH)
    indexes = client.prepare_index_params()
    indexes.add_index("vector", "FLAT", metric_type=metric)
    client.create_collection("pubmed", schema=schema, index_params=indexes)
    vectors, _ = Hashing().vectors([" ".join([*title, "heart"]) for title in titles])
    rows = enumerate(zip(titles, vectors.tolist(), strict=True))
    client.insert("pubmed", [{"id": str(id), "title": t, "abstract": "", "vector": vector} for id, (t, vector) in rows])
    client.close()
    return f"milvus+file://{path}/pubmed"


def test_lists_are_joined_and_what_is_no_result_is_refused(tmp_path: Path) -> None:
    titles = [["heart", "aspirin"], ["gene"], ["stroke"]]
    with MilvusIndex(collection(tmp_path / "a.db", "COSINE", titles), mode="dense", encoder=Hashing()) as index:
        joined = {"0": "heart aspirin", "1": "gene", "2": "stroke"}
        assert {hit.id: hit.title for hit in index.search("heart")} == joined
        assert index.scores_of("heart", ["0", "9"]).tolist() == [pytest.approx(index.search("heart")[0].score), 0.0]
        assert index.document("1").title == "gene"
    for address, message in (
        (collection(tmp_path / "b.db", "L2", titles), r"score \S+ after \S+ \("),
        (collection(tmp_path / "c.db", "COSINE", [[], ["gene"]]), "'0' .*no text .*title"),
    ):
        with (
            MilvusIndex(address, mode="dense", encoder=Hashing()) as index,
            pytest.raises(EndpointError, match=message),
        ):
            index.search("heart")


def small_collection(path: Path, key: str, ids: Sequence[Any]) -> str:
    """A collection of short texts with this primary key."""
    types, client = pymilvus.DataType, pymilvus.MilvusClient(str(path))
    schema = client.create_schema()
    options = {"max_length": 100} if isinstance(ids[0], str) else {}
    schema.add_field(key, types.VARCHAR if options else types.INT64, is_primary=True, **options)
    schema.add_field("title", types.VARCHAR, max_length=100)
    schema.add_field("abstract", types.VARCHAR, max_length=100, enable_analyzer=True)
    schema.add_field("words", types.SPARSE_FLOAT_VECTOR)
    bm25 = pymilvus.FunctionType.BM25
    schema.add_function(pymilvus.Function("bm25", bm25, input_field_names=["abstract"], output_field_names=["words"]))
    indexes = client.prepare_index_params()
    indexes.add_index("words", "SPARSE_INVERTED_INDEX", metric_type="BM25")
    client.create_collection("small", schema=schema, index_params=indexes)
    texts = [{key: identifier, "title": "", "abstract": f"aspirin {n}"} for n, identifier in enumerate(ids)]
    client.insert("small", texts)
    client.close()
    return f"milvus+file://{path}/small"


@pytest.mark.parametrize(
    ("key", "ids"),
    [("id", ["a'b", 'a"b', "a\\b", "é", "' or id != '"]), ("pmid", [11, 22, 33]), ("pmid", ["PMID 1", "2"])],
)
def test_ids_with_quotes_numbers_and_keys_of_other_names(tmp_path: Path, key: str, ids: list[Any]) -> None:
    index = MilvusIndex(small_collection(tmp_path / "small.db", key, ids))
    try:
        names = [str(identifier) for identifier in ids]
        assert {document.id for document in index.search("aspirin")} == {*names}
        scores = index.scores_of("aspirin", ["99999999999999999999", *names, "none"])
        assert [score > 0 for score in scores] == [False, *[True] * len(names), False]
        for number, name in enumerate(names):
            assert (index.document(name).id, index.document(name).abstract) == (name, f"aspirin {number}")
        with pytest.raises(InputError, match=r"document .*id 'none'"):
            index.document("none")
    finally:
        index.close()


def test_fields_have_one_name_each(address: str) -> None:
    with pytest.raises(InputError, match=r"fields is .*\b4 names"):
        MilvusIndex(address, fields=("title", "abstract", "vector"))

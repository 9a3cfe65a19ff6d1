"""What a caller may hand over as documents, in the forms that other rerankers and libraries use."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas
import pytest

from mpir import Reranker
from mpir.core.text import Document
from mpir.errors import InputError
from mpir.reranking.inputs import as_documents
from tests.reranking.letters import Count


@dataclass
class Haystack:
    """A document as Haystack has it."""

    content: str
    id: str
    meta: dict[str, Any] = field(default_factory=dict)
    score: float | None = 0.9


@pytest.mark.parametrize("key", ["abstract", "text", "contents", "content", "page_content", "body"])
def test_the_body_goes_by_many_names(key: str) -> None:
    (result,) = as_documents([{"id": 7, key: "Here.", "source": "web"}])
    assert (result.id, result.key, result.abstract, result.metadata) == ("7", 7, "Here.", {"source": "web"})


def test_every_key_that_is_not_read_is_metadata() -> None:
    both = {"pmid": 5, "id": "lib-7", "title": "T", "abstract": "Short.", "text": "Full.", "body": None}
    (result,) = as_documents([both])
    assert (result.key, result.title, result.abstract) == (5, "T", "Short.")
    assert result.metadata == {"id": "lib-7", "text": "Full."}
    (scored,) = as_documents([{"text": "Here.", "score": 3.0}])
    (several,) = as_documents([{"text": "Here.", "score": 3.0, "scores": {"dense": 0.5}}])
    assert (scored.score, scored.metadata) == (3.0, {})
    assert (several.scores, several.metadata) == ({"dense": 0.5}, {"score": 3.0})


def test_other_libraries_objects_are_read_by_their_attributes() -> None:
    langchain = SimpleNamespace(page_content="Here.", metadata={"source": "web", "title": "T"}, id=None)
    node = SimpleNamespace(text="Here.", metadata={"page": 3}, node_id="n1", id_="n1")
    llama = SimpleNamespace(node=node, score=0.4)
    result = as_documents([langchain, llama, Haystack("Here.", "h1", {"page": 4})])
    assert [item.abstract for item in result] == ["Here."] * 3
    assert [item.id for item in result] == ["0", "n1", "h1"]
    assert [item.title for item in result] == ["T", "", ""]
    assert [dict(item.metadata) for item in result] == [{"source": "web", "title": "T"}, {"page": 3}, {"page": 4}]
    assert [item.score for item in result] == [None] * 3  # a similarity is no BM25


def test_ranked_documents_are_read_as_they_were_given() -> None:
    docs = [
        {"id": 5, "title": "Salt", "text": "Of salt.", "content": "of a page", "year": 2015},
        {"text": "Of the sea."},
    ]
    ranking = Reranker(perspectives=[Count("x")]).rerank("salt", docs)
    for ranked in (ranking, list(ranking), ranking.top(2)):
        documents = {document.abstract: document for document in as_documents(ranked)}
        read = documents["Of salt."]
        assert (read.key, read.title, read.metadata) == (5, "Salt", {"content": "of a page", "year": 2015})
        assert documents["Of the sea."].title == ""


def test_an_object_may_have_its_title_as_an_attribute() -> None:
    objects = [
        SimpleNamespace(text="Of salt.", title="Salt"),
        SimpleNamespace(text="Of salt.", title=str.title),
        SimpleNamespace(text="Of salt.", title="A file", metadata={"title": "Salt"}),
    ]
    assert [document.title for document in as_documents(objects)] == ["Salt", "", "Salt"]


def test_rows_of_a_table_are_read_as_its_dictionaries_are() -> None:
    rows = {"pmid": [11, 12], "title": ["One", "Two"], "text": ["A heart.", "A gene."], "score": [1.0, 2.0]}
    table = pandas.DataFrame({**rows, "source": ["x", None]})
    expected = as_documents(table.to_dict("records"))
    assert as_documents(row for _, row in table.iterrows()) == expected
    assert as_documents(table.itertuples(index=False)) == expected
    assert (expected[1].key, expected[1].title, expected[1].score) == (12, "Two", 2.0)


@pytest.mark.parametrize("missing", [None, float("nan"), np.float64("nan"), pandas.NA, pandas.NaT])
def test_what_pandas_has_for_none_is_missing(missing: Any) -> None:
    rows = [
        {"id": missing, "title": missing, "abstract": missing, "text": "Here.", "score": missing, "scores": missing}
    ]
    assert as_documents(rows) == [Document("0", "", "Here.")]
    assert as_documents([{"id": "a", "text": missing}]) == [Document("a")]


@pytest.mark.parametrize("single", ["Here.", {"text": "Here."}, Document("0", abstract="Here.")])
def test_a_single_document_is_a_list_of_one(single: Any) -> None:
    assert as_documents(single) == as_documents(iter([single])) == [Document("0", abstract="Here.")]


def test_hits_of_search_engines_are_read_as_the_record_inside() -> None:
    source = {"title": "Aspirin", "abstract": "It thins blood.", "year": 2015}
    hit = {"_index": "pubmed", "_id": "7", "_score": 2.5, "_source": source, "highlight": {"abstract": ["<em>It</em>"]}}
    (document,) = as_documents([hit])
    assert (document.id, document.title, document.abstract) == ("7", "Aspirin", "It thins blood.")
    assert document.score is None  # engines' scales differ
    assert (document.metadata["year"], document.metadata["_score"]) == (2015, 2.5)
    several = [{**hit, "_id": "8", "_source": {"title": ["A"], "abstract": ["One.", "Two."]}}, {**hit, "_score": None}]
    assert [(item.title, item.abstract) for item in as_documents(several)] == [
        ("A", "One. Two."), ("Aspirin", "It thins blood."),
    ]  # fmt: skip
    (document,) = as_documents([{"_id": "7", "fields": {"title": ["Aspirin"], "abstract": ["It thins blood."]}}])
    assert (document.id, document.title, document.abstract) == ("7", "Aspirin", "It thins blood.")
    (document,) = as_documents({"id": 9, "distance": 0.5, "entity": source})
    assert (document.id, document.title, document.metadata["distance"]) == ("9", "Aspirin", 0.5)
    with pytest.raises(InputError, match=r"docs\[0\] .id '7'.: .*no text, .*_index, _score"):
        as_documents([{"_index": "pubmed", "_id": "7", "_score": 2.5}])


def test_the_keys_of_an_answer_with_hits_are_not_ranked_as_texts() -> None:
    class Response:
        """An answer as Elasticsearch's client returns it: not a dictionary, but with its methods."""

        body: ClassVar[dict[str, Any]] = {"took": 1, "timed_out": False, "hits": {"hits": []}}

        def keys(self) -> Any:
            return self.body.keys()

        def __getitem__(self, key: str) -> Any:
            return self.body[key]

        def __iter__(self) -> Any:
            return iter(self.body)

    with pytest.raises(InputError, match=r"docs\[0\] .*type Response"):
        as_documents(Response())
    with pytest.raises(InputError, match=r"docs\[0\]: .* took, timed_out, hits"):
        as_documents(Response.body)


def test_ids_and_metadata_may_come_beside_the_documents() -> None:
    result = as_documents(["a", {"id": "x", "text": "b", "k": 1}], doc_ids=[5, "y"], metadata=[{"s": 1}, {"k": 2}])
    assert [(item.id, item.key, dict(item.metadata)) for item in result] == [("5", 5, {"s": 1}), ("y", "y", {"k": 2})]
    retained = as_documents(["a", {"id": "x", "text": "b"}], doc_ids=[None, "y"])
    assert [item.id for item in retained] == ["0", "y"]


def test_a_place_never_takes_an_id_that_another_document_has() -> None:
    result = as_documents(["a", {"id": "0", "text": "b"}, {"id": "#0", "text": "c"}])
    assert [item.id for item in result] == ["##0", "0", "#0"]


@pytest.mark.parametrize(
    ("docs", "options", "message"),
    [
        ([{"id": 1, "text": "a"}, "b", {"id": "1", "text": "c"}], {}, r"docs\[2\] and docs\[0\] .*id '1'"),
        (["a", "b"], {"doc_ids": ["x", "x"]}, r"docs\[1\] and docs\[0\] .*id 'x'"),
        (["a"], {"doc_ids": ["x", "y"]}, r"doc_ids has 2 .*\b1\b"),
        (["a", "b"], {"doc_ids": "xy"}, r"doc_ids has 1 .*\b2\b"),
        (["a"], {"metadata": [5]}, "of metadata is 5"),
        (
            [{"id": "a", "text": "b", "score": 10**400}],
            {},
            r"docs\[0\] \(id 'a'\) .*score 10+…",
        ),
        ([{"id": "a", "text": "b", "score": 10**5000}], {}, "score int of"),
        ([{"id": "a", "text": "b", "scores": {"dense": "x"}}], {}, "score 'dense' 'x'"),
        ([{"id": "a", "text": "b", "scores": {1: 0.5}}], {}, r"name .*score is 1\b"),
        ([{"id": [1], "text": "b"}], {}, r"docs\[0\]: .*id is \[1\]"),
        ([{"id": 10**5000, "text": "b"}], {}, r"docs\[0\]: .* id .*int of"),
        (["b"], {"doc_ids": [-(10**5000)]}, r"docs\[0\]: .* id .*int of"),
        ([object()], {}, r"docs\[0\] .*type object"),
    ],
)
def test_what_is_refused_names_the_document(docs: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        as_documents(docs, **options)
    assert len(str(caught.value)) < 300

"""`rerank` from the caller's side: any documents in, a deterministic ranking of plain values out."""

import copy
import json
import os
import pickle
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mpir
from mpir import Document, Perspective, Reranker, RunOptions, Weights
from mpir.core.text.query import report_field_search
from mpir.errors import ArtefactError, InputError, OutputError
from mpir.files.checksum import read_json_with_checksum
from mpir.files.weights import write_weights
from mpir.models.bundles.bundle import seal
from mpir.models.perspectives.cache import SMALLEST, ScoreCache
from mpir.reranking import api as kept
from mpir.reranking.ranking import Ranking


class Count(Perspective):
    """How often the sentence has the letter of the perspective's name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        return np.array([text.count(self.name) for _, text in pairs], float)


class Known(Count):
    """One whose scores may be kept."""

    @property
    def identity(self) -> dict[str, Any]:
        return {"letter": self.name}


def at(level: Any, *, role: Any = "evidence", default_weight: Any = None) -> Count:
    """A perspective of such a level and role."""
    perspective = Count("y")
    perspective.level, perspective.role, perspective.default_weight = level, role, default_weight
    return perspective


LETTERS = Weights(
    {"x": 1.0, "y": 0.5}, alpha_context=0.1, beta={"bm25": 0.2}, beta_sentences=0.5, w=(1.0, 0.5), normalise="none"
)


@pytest.fixture(scope="module")
def reranker() -> Reranker:
    return Reranker(perspectives=[Count("x"), Count("y")], weights=LETTERS, run=RunOptions(cascade="all"))


def ids(ranking: Ranking) -> list[str]:
    return [document.id for document in ranking.documents]


def test_a_models_option_beside_perspectives_is_an_error_and_not_ignored() -> None:
    options: list[dict[str, Any]] = [
        {"device": "cpu"},
        {"precision": "fp32"},
        {"run": RunOptions(tokens_per_batch=512)},
    ]
    for name, option in zip(("device", "precision", "tokens_per_batch"), options, strict=True):
        with pytest.raises(InputError, match=f"{name} applies to a bundle's models, but the given perspectives"):
            Reranker(perspectives=[Count("x")], **option)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"cache": 5}, "cache is 5; expected the path of a folder or an open ScoreCache"),
        ({"weights": {"alpha": {"x": "y" * 999}}}, r"^weights: alpha\[x\] is 'y+.*; expected a finite number"),
        ({"weights": {"alpha": {"x": None}}}, r"^weights: alpha\[x\] is missing; expected a finite number"),
        ({"weights": 5}, "weights '5': no such file"),
        ({"weights": "y" * 9999}, "weights 'y+…: no such file"),
        ({"perspectives": 5}, "perspectives is 5; expected a list of perspectives"),
        ({"perspectives": [at("sentence", default_weight="2")]}, "default weight of 'y' is '2'; expected a finite"),
        ({"perspectives": [Count("x"), at("sentence", role="extra")]}, "'y': role is 'extra'; choose from evidence"),
        ({"perspectives": [None]}, "an entry of perspectives is missing; expected an instance of a subclass"),
        (
            {"perspectives": [Count("x"), at("documents")]},
            "column 'y': level is 'documents'; choose from sentence",
        ),
        ({"perspectives": [at("whole")]}, "column 'y': level is 'whole'; choose from sentence, document"),
        (
            {"perspectives": [Count("x"), at("document", role="ordering")]},
            "column 'y': a document column cannot have the role ordering",
        ),
    ],
)
def test_options_that_are_none_are_one_sentence(option: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Reranker(**{"perspectives": [Count("x")], **option})
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "option", [{"pairs_at_once": "5"}, {"tokens_per_batch": 0}, {"splitting": "novel"}, {"cascade": 2}], ids=str
)
def test_an_invalid_option_of_a_run_is_named_with_its_value(option: dict[str, Any]) -> None:
    ((name, value),) = option.items()
    with pytest.raises(InputError, match=f"{name} is {value!r}"):
        RunOptions(**option)


def test_weights_may_be_a_dictionary_and_top_k_any_whole_number(reranker: Reranker) -> None:
    same = Reranker(perspectives=[Count("x"), Count("y")], weights=LETTERS.to_dict())
    assert same.weights == LETTERS
    assert ids(same.rerank("q", ["a x.", "b y."], top_k=np.int64(1))) == ["0"]
    for top_k in (True, 0, 1.5, "2"):
        with pytest.raises(InputError, match="top_k is"):
            reranker.rerank("q", ["a"], top_k=top_k)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_reranker_is_closed_and_may_be_used_again(tiny_bundle: Path, tmp_path: Path) -> None:
    with Reranker(tiny_bundle, device="cpu,cpu", precision="fp32", cache=tmp_path) as reranker:
        first = reranker.rerank("does aspirin", ["It does. The heart."]).to_dict()
        backend = reranker.perspectives[0].encoder.backend  # type: ignore[attr-defined]
        assert len(backend.workers.alive) == 2
    assert backend.workers.alive == []
    assert reranker.rerank("does aspirin", ["It does. The heart."]).to_dict() == first
    reranker.close()


@pytest.mark.parametrize("made_again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_reranker_with_a_cache_is_pickled_and_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_again: Callable[[Reranker], Reranker]
) -> None:
    monkeypatch.chdir(tmp_path)
    first = Reranker(perspectives=[Known("x")], cache=ScoreCache("scores", limit=SMALLEST))
    docs = ["x and x", "y"]
    expected = first.rerank("x", docs)
    second = made_again(first)
    assert second.cache
    assert second.cache is not first.cache
    assert (second.cache.folder, second.cache.limit) == (tmp_path / "scores", SMALLEST)
    assert second.rerank("x", docs).to_dict() == expected.to_dict()
    assert (second.cache.hits, second.cache.misses) == (2, 0)
    first.close()
    assert second.rerank("x", docs).to_dict() == first.rerank("x", docs).to_dict()


@pytest.mark.slow
def test_another_process_takes_a_reranker_with_its_cache(tiny_bundle: Path, tmp_path: Path) -> None:
    docs = ["Aspirin thins the blood.", "Salt."]
    with Reranker(tiny_bundle, device="cpu", precision="fp32", cache=tmp_path / "scores") as reranker:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            result = pool.submit(reranker.rerank, "aspirin", docs).result(timeout=120)
        assert result.to_dict() == reranker.rerank("aspirin", docs).to_dict()
        assert reranker.cache
        assert reranker.cache.hits > 0


def test_a_cache_that_cannot_be_opened_again_is_one_sentence(tmp_path: Path) -> None:
    pickled = pickle.dumps(Reranker(perspectives=[Count("x")], cache=tmp_path / "scores"))
    shutil.rmtree(tmp_path / "scores")
    (tmp_path / "scores").touch()
    with pytest.raises(OutputError, match=r"scores: cannot be used as a score cache .*use no cache"):
        pickle.loads(pickled)


def test_a_bundle_that_changed_is_loaded_again(tiny_bundle: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_bundle, tmp_path / "bundle"))
    before = mpir.rerank("does aspirin", ["It does. The heart."], bundle=folder)
    assert mpir.rerank("does aspirin", ["It does. The heart."], bundle=folder) == before
    changed = Weights(
        {"relevance": 1.0, "sts": 0.0, "sia": 0.0},
        alpha_context=0.0,
        beta={"bm25": 0.0},
        beta_sentences=1.0,
        w=(1.0,),
        normalise="none",
    )
    write_weights(folder / "weights.json", changed)
    with pytest.raises(ArtefactError, match=r"weights\.json: the content has SHA-256"):
        mpir.rerank("does aspirin", ["It does. The heart."], bundle=folder)
    seal(folder)
    assert mpir.rerank("does aspirin", ["It does. The heart."], bundle=folder).weights != before.weights


def test_a_bundle_without_hashes_that_changed_is_loaded_again(tiny_bundle: Path, tmp_path: Path) -> None:
    folder, docs = Path(shutil.copytree(tiny_bundle, tmp_path / "bundle")), ["It does. The heart."]
    manifest = read_json_with_checksum(folder / "bundle.json")
    del manifest["files"]
    (folder / "bundle.json").write_text(json.dumps(manifest))
    before = mpir.rerank("does aspirin", docs, bundle=folder)
    second = Weights(
        {"relevance": 1.0, "sts": 0.0, "sia": 0.0},
        alpha_context=0.0,
        beta={"bm25": 0.0},
        beta_sentences=1.0,
        w=(1.0,),
        normalise="none",
    )
    write_weights(folder / "weights.json", second)
    assert mpir.rerank("does aspirin", docs, bundle=folder).weights == second != before.weights
    loaded = kept._reranker(folder, ())
    assert kept._reranker(folder, ()) is loaded
    (folder / "model/model.safetensors").touch()
    assert kept._reranker(folder, ()) is not loaded


def test_a_bundle_that_changed_at_equal_size_and_time_is_loaded_again(tiny_bundle: Path, tmp_path: Path) -> None:
    folder, docs = Path(shutil.copytree(tiny_bundle, tmp_path / "bundle")), ["It does. The heart."]
    manifest = read_json_with_checksum(folder / "bundle.json")
    del manifest["files"]
    (folder / "bundle.json").write_text(json.dumps(manifest))
    weights = {"alpha": {"relevance": 1.0, "sts": 0.0, "sia": 0.0}, "beta": {"bm25": 0.0}}
    (folder / "weights.json").write_text(json.dumps(weights))
    assert mpir.rerank("does aspirin", docs, bundle=folder).weights.alpha["relevance"] == 1.0
    status = (folder / "weights.json").stat()
    weights["alpha"]["relevance"] = 2.0
    (folder / "weights.json").write_text(json.dumps(weights))
    os.utime(folder / "weights.json", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert mpir.rerank("does aspirin", docs, bundle=folder).weights.alpha["relevance"] == 2.0


def test_strings_dictionaries_and_documents_rank_alike(reranker: Reranker) -> None:
    texts = ["Nothing here.", "One x. Two xx.", "A y."]
    forms: list[list[Any]] = [
        texts,
        [{"abstract": text} for text in texts],
        [{"id": str(i), "title": "", "text": text} for i, text in enumerate(texts)],
        [Document(str(i), abstract=text) for i, text in enumerate(texts)],
    ]
    results = [reranker.rerank("a query", docs).to_dict() for docs in forms]
    assert [document["id"] for document in results[0]["documents"]] == ["1", "2", "0"]
    assert all(result == results[0] for result in results)


def test_scores_by_hand(reranker: Reranker) -> None:
    ranking = reranker.rerank("q", [Document("d", "Title x.", "First y. Then xx.", score=3.0)])
    (document,) = ranking.documents
    assert [s.text for s in document.sentences] == ["Then xx.", "Title x.", "First y."]
    best = document.sentences[0]
    assert best.scores == {"x": 2.0, "y": 0.0}
    assert best.shares == pytest.approx({"x": 2.0, "y": 0.0, "context": 0.3})
    assert best.score == pytest.approx(2.3)
    assert document.score == pytest.approx(0.2 * 3 + 0.5 * (2.3 + 0.5 * 1.3))
    assert document.shares == pytest.approx({"bm25": 0.6, "sentence 1": 1.15, "sentence 2": 0.325})
    assert (document.index, document.scores["bm25"]) == (0, 3.0)


@given(
    texts=st.lists(st.text(alphabet="xy. A\n’é", max_size=40), max_size=6),
    context=st.sampled_from(["bm25", "document", "fixpoint"]),
    normalise=st.sampled_from(["none", "minmax"]),
)
def test_shares_add_up_and_offsets_hold(texts: list[str], context: Any, normalise: Any) -> None:
    weights = Weights(
        {"x": 0.3, "y": 0.2},
        alpha_context=0.1,
        beta={"bm25": 0.2},
        beta_sentences=0.5,
        w=(1.0, 0.5),
        context=context,
        normalise=normalise,
    )
    ranking = Reranker(perspectives=[Count("x"), Count("y")], weights=weights).rerank("xy A", texts)
    assert sorted(document.index for document in ranking.documents) == list(range(len(texts)))
    for document in ranking.documents:
        assert sum(document.shares.values()) == pytest.approx(document.score)
        for sentence in document.sentences:
            assert sum(sentence.shares.values()) == pytest.approx(sentence.score)
            assert texts[document.index][sentence.begin : sentence.end] == sentence.text


def test_first_stage_scores_are_kept_and_used(reranker: Reranker) -> None:
    docs = [{"id": "a", "text": "No.", "score": 1.0}, {"id": "b", "text": "No.", "score": 2.5}]
    ranking = reranker.rerank("q", docs)
    assert [(d.id, d.scores["bm25"]) for d in ranking.documents] == [("b", 2.5), ("a", 1.0)]


def test_without_scores_bm25_among_the_documents_counts(reranker: Reranker) -> None:
    ranking = reranker.rerank("heart attack", ["A kidney.", "A heart attack.", ""])
    assert ids(ranking)[0] == "1"
    assert [document.scores["bm25"] > 0 for document in ranking.documents] == [True, False, False]


def test_no_documents(reranker: Reranker) -> None:
    ranking = reranker.rerank("q", [])
    assert ranking.documents == ()
    assert "(no documents)" in str(ranking)
    assert ranking.to_trec() == ""
    assert len(ranking.to_pandas()) == 0


def test_blank_texts_have_no_sentences_and_keep_their_order(reranker: Reranker) -> None:
    ranking = reranker.rerank("q", ["", "  \n", Document("t", "", "")])
    assert ids(ranking) == ["0", "1", "t"]
    assert all(document.sentences == () and document.score == 0.0 for document in ranking.documents)


def test_the_same_text_twice_is_ranked_in_the_order_of_the_input(reranker: Reranker) -> None:
    ranking = reranker.rerank("q", [Document("a", abstract="An x."), "zzz", Document("b", abstract="An x.")])
    assert [(d.id, d.index) for d in ranking.documents] == [("a", 0), ("b", 2), ("1", 1)]
    assert ranking.documents[0].score == ranking.documents[1].score


def test_top_k_keeps_the_best(reranker: Reranker) -> None:
    docs = ["y.", "xx.", "x."]
    assert ids(reranker.rerank("q", docs, top_k=2)) == ids(reranker.rerank("q", docs))[:2] == ["1", "2"]
    assert len(reranker.rerank("q", docs, top_k=99)) == 3


def test_a_batch_ranks_as_single_calls_do(reranker: Reranker) -> None:
    queries, docs = ["a x", "b y", "c"], [["An x.", "A y."], [], ["yy", "A x.", "b y"]]
    together = reranker.rerank_batch(queries, docs)
    assert together == [reranker.rerank(query, doc) for query, doc in zip(queries, docs, strict=True)]


def test_what_pandas_and_numpy_hand_over(reranker: Reranker) -> None:
    frame = pandas.DataFrame({"id": [7, 8], "text": ["An x.", "y"], "score": np.array([1, 2], np.float32)})
    assert ids(reranker.rerank("q", frame["text"])) == ["0", "1"]
    ranking = reranker.rerank("q", frame.to_dict("records"))
    assert {(d.id, d.scores["bm25"]) for d in ranking.documents} == {(7, 1.0), (8, 2.0)}
    (document,) = reranker.rerank("q", [{"text": "x", "score": np.float32(0.5)}]).documents
    assert document.scores["bm25"] == 0.5


def test_the_input_is_not_changed(reranker: Reranker) -> None:
    docs = [{"id": 7, "text": "An x."}, {"id": 8, "text": "y"}]
    reranker.rerank("q", docs)
    assert docs == [{"id": 7, "text": "An x."}, {"id": 8, "text": "y"}]


@pytest.mark.parametrize(
    ("query", "docs", "message"),
    [
        ("q", [3], r"docs\[0\] is of type int"),
        ("q", ["a", None], r"docs\[1\] is missing; expected a string"),
        ("q", None, "docs is missing; expected a list"),
        ("q", pandas.DataFrame({"id": ["a"], "text": ["b"]}), "docs is of type DataFrame; expected a list"),
        ("q", [{"id": "a", "text": 5}], r"docs\[0\] \(id 'a'\): text is 5; expected a string"),
        ("q", [{"id": "a", "words": "x"}], r"docs\[0\] \(id 'a'\): the document has no text, but words"),
        ("q", [Document("a", title=None)], r"docs\[0\] \(id 'a'\): the title is missing"),  # type: ignore[arg-type]
        ("q", [Document("a", score=1.0), Document("b")], r"docs\[1\] \(id 'b'\) has no first-stage score"),
        ("q", [Document("a", score=float("nan"))], r"docs\[0\] \(id 'a'\) has the score nan"),
        (None, ["a"], "query 0 is missing; expected a string"),
    ],
)
def test_what_is_refused(reranker: Reranker, query: Any, docs: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        reranker.rerank(query, docs)


def test_top_k_below_one_and_uneven_batches_are_refused(reranker: Reranker) -> None:
    with pytest.raises(InputError, match="top_k is 0"):
        reranker.rerank("q", ["a"], top_k=0)
    with pytest.raises(InputError, match=r"top_k is 1\.5; expected a whole number"):
        reranker.rerank("q", ["a"], top_k=1.5)  # type: ignore[arg-type]
    for wrong in (len, type(reranker.perspectives[0])):
        with pytest.raises(InputError, match=r"an entry of perspectives is .*; expected an instance"):
            Reranker(perspectives=[wrong])  # type: ignore[list-item]
    with pytest.raises(InputError, match="got 2 queries and 1 lists"):
        reranker.rerank_batch(["a", "b"], [["c"]])


def test_weights_for_other_perspectives_are_refused() -> None:
    with pytest.raises(InputError, match="the weights are for the perspectives"):
        Reranker(perspectives=[Count("z")], weights=LETTERS)
    with pytest.raises(InputError, match="different names"):
        Reranker(perspectives=[Count("x"), Count("x")])


def test_forms_of_the_result(reranker: Reranker) -> None:
    ranking = reranker.rerank("q", [Document("a", "T", "An x. A y."), Document("b", abstract="Nothing.")])
    assert json.loads(ranking.to_json()) == json.loads(json.dumps(ranking.to_dict()))
    assert ranking.to_trec("7", "tag").splitlines()[0] == f"7 Q0 a 1 {ranking.documents[0].score!r} tag"
    frame = ranking.to_pandas("sentences")
    assert frame["text"].tolist() == [sentence.text for sentence in ranking.sentences]
    assert frame["x"].tolist() == [sentence.scores["x"] for sentence in ranking.sentences]
    assert ranking.to_pandas()["id"].tolist() == ["a", "b"]
    heads, _, first, evidence, second = str(ranking).splitlines()[2:]
    assert heads.split() == ["rank", "blended", "score", "document", "title", ">", "best", "sentence"]
    assert first.split()[2:] == ["a", "T"]
    assert evidence.split() == [">", "An", "x."]
    assert second.split()[2:] == ["b", "Nothing."]
    title = reranker.rerank("q", [Document("a", " ")])
    assert str(title).splitlines()[-1].split() == ["1", "0.0000", "a"]  # no sentence, and nothing read of one
    with pytest.raises(InputError, match="level is 'sentence'; choose from documents, sentences"):
        ranking.to_pandas("sentence")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'PMID 7' is not a valid id in a TREC file"):
        reranker.rerank("q", [Document("PMID 7")]).to_trec()


def test_a_part_of_the_ranking_knows_of_the_whole(reranker: Reranker) -> None:
    docs = [Document("a", abstract="Nothing.", score=2.0), Document("b", abstract="xxx.", score=1.0)]
    complete, section = reranker.rerank("q", docs), reranker.rerank("q", docs, top_k=1)
    assert section.documents == complete.documents[:1]
    assert section.candidates == section.to_dict()["candidates"] == len(docs)
    assert "b is ranked 1 of 2" in section.explain()
    assert "bm25 gave it 1.000, which would be rank 2." in section.explain()


def test_explain_names_the_sentence_whose_share_it_is() -> None:
    weights = Weights(
        {"x": 1.0}, alpha_context=0.0, beta={"bm25": 0.0}, beta_sentences=1.0, w=(0.0, 1.0), normalise="none"
    )
    text = Reranker(perspectives=[Count("x")], weights=weights).rerank("q", ["Best: xxx. Second: x."]).explain()
    assert "Sentence 2 (abstract 11-21): Second: x." in text
    assert "Best: xxx." not in text


def test_a_documents_best_sentences_are_found_where_another_column_puts_them() -> None:
    """What only orders sentences puts first the one that is not the best evidence."""
    weights = Weights(
        {"x": 1.0, "y": 1.0}, alpha_context=0.0, beta={"bm25": 0.0}, beta_sentences=1.0, w=(1.0, 0.5), normalise="none"
    )
    reranker = Reranker(perspectives=[Count("x"), at("sentence", role="ordering")], weights=weights)
    ranking = reranker.rerank("q", ["An x. Here yyy."])
    assert [sentence.text for sentence in ranking[0].sentences] == ["Here yyy.", "An x."]
    assert ranking[0].best == (1, 0)
    assert "Sentence 1 (abstract 0-5): An x." in ranking.explain()


def test_the_column_to_read_is_the_first_that_is_evidence_and_has_no_sign() -> None:
    said, orders = at("sentence"), at("sentence", role="ordering")
    said.name, said.signed, orders.name = "said", True, "orders"
    weights = Weights({"orders": 1.0, "said": 1.0, "x": 1.0}, normalise="none")
    assert Reranker(perspectives=[said, orders, Count("x")], weights=weights).rerank("q", ["An x."]).shown_columns == [
        "x"
    ]


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_explain_names_what_orders_sentences_where_it_weighs(weight: float) -> None:
    weights = Weights({"x": 1.0, "y": weight}, normalise="none")
    result = Reranker(perspectives=[Count("x"), at("sentence", role="ordering")], weights=weights).rerank("q", ["x."])
    assert ("Y only orders sentences; it is not part of a document's score." in result.explain()) is bool(weight)


def test_explain_says_why(reranker: Reranker) -> None:
    ranking = reranker.rerank("q", ["An x.", "Nothing."])
    text = ranking.explain(1)
    assert "0 is ranked 1 of 2" in text
    assert "An x." in text
    assert "above the next document, 1; most of that comes from sentence 1" in text
    assert "ranked 2 of 2" in ranking.explain(2)
    assert "no sentences" in reranker.rerank("q", [""]).explain()
    with pytest.raises(IndexError, match="rank 3 does not exist"):
        ranking.explain(3)
    with pytest.raises(InputError, match="rank is 'x'"):
        ranking.explain("x")  # type: ignore[arg-type]


def test_half_a_character_takes_no_part_and_shifts_nothing(tiny_bundle: Path) -> None:
    reranker = Reranker(tiny_bundle, device="cpu", precision="fp32")
    (document,) = reranker.rerank("does \ud83d aspirin", ["aspirin \ud83d. A gene."]).documents
    assert sorted((s.begin, s.end, s.text) for s in document.sentences) == [
        (0, 10, "aspirin \ud83d."),
        (11, 18, "A gene."),
    ]


def test_long_inputs_work_and_sentences_read_in_passages_are_reported(
    tiny_bundle: Path, caplog: pytest.LogCaptureFixture
) -> None:
    reranker = Reranker(tiny_bundle, device="cpu", precision="fp32", run=RunOptions(cascade="all"))
    sentence = "aspirin " * 2500
    big = "The heart is in a trial. " * 42_000
    ranking = reranker.rerank("does aspirin " * 300, [sentence, big, "", "aspirin"], top_k=None)
    assert len(ranking) == 4
    by_index = {document.index: document for document in ranking.documents}
    assert by_index[0].sentences[0].in_passages
    assert by_index[1].sentences[0].text == "The heart is in a trial."
    assert len(by_index[1].sentences) == 42_000
    assert "are longer than a model reads at once, and are scored by their best passage" in caplog.text
    assert ranking.in_passages > 0


class Asked(Count):
    """One that remembers what it was asked."""

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        self.question = pairs[0][0]
        return super().score_pairs(pairs)


@pytest.mark.parametrize(("word", "read"), [("what ", 3_999), ("肝" * 5, 4_000)])
def test_of_a_question_far_too_long_the_beginning_is_read_and_the_ranking_says_so(
    word: str, read: int, caplog: pytest.LogCaptureFixture
) -> None:
    item, complete = Asked("x"), Asked("y")
    complete.level = "document"
    reranker = Reranker(perspectives=[item, complete])
    question = word * 6_000
    ranking = reranker.rerank(question, ["a x. It is y."])
    assert item.question == complete.question == question[:read]
    assert ranking.query == question
    assert ranking.unread == ranking.to_dict()["unread"] == 30_000 - read
    assert f"a query has 30000 characters, and only the first {read} are read" in caplog.text
    assert f"The query is too long: its last {30_000 - read} characters were not read." in ranking.explain()
    caplog.clear()
    shorter = reranker.rerank("what " * 800, ["a x."])
    assert (shorter.unread, item.question, caplog.text) == (0, "what " * 800, "")
    assert "not read" not in shorter.explain()


def test_order_and_company_of_documents_do_not_change_the_ranking(tiny_bundle: Path) -> None:
    reranker = Reranker(tiny_bundle, device="cpu", precision="fp32")
    docs = [Document(str(i), abstract=f"aspirin {'blood ' * i}. heart attack.", score=float(i)) for i in range(8)]
    forward = reranker.rerank("does aspirin thin blood", docs)
    backward = reranker.rerank("does aspirin thin blood", docs[::-1])
    assert ids(forward) == ids(backward)
    scores = [[document.score for document in ranking.documents] for ranking in (forward, backward)]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-5)


def test_equal_sentences_keep_the_order_of_documents_and_text(reranker: Reranker) -> None:
    ranking = reranker.rerank("q", ["First. Second.", "Third.", "An x."])
    assert [sentence.text for sentence in ranking.sentences] == ["An x.", "First.", "Second.", "Third."]


def many(count: int) -> list[Document]:
    """Documents of 20 sentences: the first five have a word of the query, and the later, the more of the letter x."""

    def sentence(document: int, number: int) -> str:
        return f"Sentence {number} of {document} has a{' cat' * (number < 5)} and{' x' * number}."

    bodies = [" ".join(sentence(document, number) for number in range(20)) for document in range(count)]
    return [Document(str(number), abstract=body, score=float(-number)) for number, body in enumerate(bodies)]


class Seen(Count):
    """Keeps what it was asked to score."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.sentences: list[str] = []

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        self.sentences += [text for _, text in pairs]
        return super().score_pairs(pairs)


def test_a_cascade_out_of_bounds_is_refused() -> None:
    with pytest.raises(InputError, match="cascade is 0; choose from auto, all, first"):
        RunOptions(cascade=0)  # type: ignore[arg-type]


class Length(Perspective):
    """How long the text is, with a name of its own."""

    name = "length"

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        return np.array([len(text) for _, text in pairs], float)


def lengths(document_weight: float | None, sentence_weight: float | None) -> tuple[Length, Length]:
    """A document and a sentence perspective of the lengths of texts, with default weights."""
    complete, each = Length(), Length()
    complete.level, each.name = "document", "each"
    complete.default_weight, each.default_weight = document_weight, sentence_weight
    return complete, each


def test_default_weights_count_where_weights_name_no_such_column() -> None:
    perspectives = [Count("x"), Count("y"), *lengths(0.01, 0.1)]
    reranker = Reranker(perspectives=perspectives, weights=LETTERS)
    assert reranker.weights.beta == {"bm25": 0.2, "length": 0.01}
    assert reranker.weights.alpha == {"x": 1.0, "y": 0.5, "each": 0.1}
    (document,) = reranker.rerank("q", [Document("d", "", "An x.", score=3.0)]).documents
    assert document.shares["length"] == pytest.approx(0.05)
    assert document.sentences[0].shares["each"] == pytest.approx(0.5)
    named = Weights(
        {**LETTERS.alpha, "each": 0.7},
        alpha_context=0.1,
        beta={"bm25": 0.2, "length": 0.3},
        beta_sentences=0.5,
        w=(1.0,),
        normalise="none",
    )
    assert Reranker(perspectives=perspectives, weights=named).weights == named


def test_default_weights_have_no_part_in_equal_weights() -> None:
    reranker = Reranker(perspectives=[Count("x"), *lengths(2.0, 0.1)])
    assert reranker.weights.beta == {"bm25": 1.0, "length": 2.0}
    assert reranker.weights.alpha == {"x": 1.0, "each": 0.1}
    (document,) = reranker.rerank("q", [Document("d", "", "An x.", score=3.0)]).documents
    assert document.shares["length"] == pytest.approx(1.0)  # of a single document, every column is 0.5
    with pytest.raises(InputError, match="at least one of which reads sentences; got"):
        Reranker(perspectives=lengths(2.0, None)[:1])


def test_perspectives_are_added_to_a_named_bundle(
    tiny_bundle: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bundle = Path(shutil.copytree(tiny_bundle, tmp_path / "bundle"))
    manifest = json.loads((bundle / "bundle.json").read_text()) | {"weights": "w.json", "files": {}}
    (bundle / "bundle.json").write_text(json.dumps({k: value for k, value in manifest.items() if k != "checksum"}))
    write_weights(
        bundle / "w.json", Weights({"relevance": 1.0, "sts": -0.5, "sia": 0.0}, beta={"bm25": 0.2}, normalise="none")
    )
    single, both = Reranker(bundle), Reranker(bundle, perspectives=[*lengths(0.25, None), Count("x")])
    assert [perspective.name for perspective in both.perspectives] == ["relevance", "sts", "sia", "length", "each", "x"]
    assert both.weights.beta == {"length": 0.25, "bm25": 0.2}
    assert both.weights.alpha["each"] == pytest.approx(0.5)  # the mean of 1, 0.5 and 0
    assert "no weight is tuned for each; using the mean weight of its level, 0.5" in caplog.text
    (added,), (bare,) = (item.rerank("q", ["A gene, x."])[0].sentences for item in (both, single))
    assert added.scores.items() > bare.scores.items()


def test_words_of_a_printed_page_are_read_whole_and_shown_as_they_are(tiny_bundle: Path) -> None:
    clean, page = "It is rare. A significant effect.", "It is rare. A signiﬁ-\ncant eﬀect."
    of_clean, of_page = (mpir.rerank("effects", [text], bundle=tiny_bundle).documents[0] for text in (clean, page))
    assert of_page.scores == of_clean.scores
    assert sorted(sentence.score for sentence in of_page.sentences) == sorted(
        sentence.score for sentence in of_clean.sentences
    )
    assert {page[sentence.begin : sentence.end] for sentence in of_page.sentences} == {
        "It is rare.",
        "A signiﬁ-\ncant eﬀect.",
    }


def test_documents_are_split_as_asked() -> None:
    text = "The apex is x\n- No effusion"
    rerankers = [
        Reranker(perspectives=[Count("x")], run=RunOptions(splitting=splitting)) for splitting in ("abstract", "report")
    ]
    result = [item.rerank("q", [text]).documents[0].sentences for item in rerankers]
    assert rerankers[0].identity != rerankers[1].identity
    assert [len(sentences) for sentences in result] == [1, 2]
    assert {item.text for item in result[1]} == {"The apex is x", "- No effusion"}


def test_few_bundles_stay_loaded(tiny_bundle: Path, tmp_path: Path) -> None:
    for number in range(4):
        shutil.copytree(tiny_bundle, tmp_path / str(number))
        mpir.rerank("a gene", ["A gene."], bundle=tmp_path / str(number))
    assert len(kept._loaded) <= kept.MAX_LOADED


class Words(Perspective):
    """The share of four words that a text has."""

    def __init__(self, *, signed: bool = False) -> None:
        self.name, self.signed = "words", signed

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        return np.array([sum(word in text for word in ("cystic", "caused", "CFTR", "rare")) / 4 for _, text in pairs])


def test_a_search_in_field_syntax_is_read_as_words_and_kept_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    report_field_search.cache_clear()
    item = Asked("x")
    reranker, search = Reranker(perspectives=[item]), '("heart failure"[mh] OR hfref[tiab]) AND sglt2*'
    ranking = reranker.rerank(search, ["Of mh and tiab.", "Heart failure and SGLT2."])
    assert (item.question, ranking.query, ranking.unread) == ("heart failure hfref sglt2", search, 0)
    assert {document.text: document.scores["bm25"] > 0 for document in ranking.documents} == {
        "Of mh and tiab.": False,
        "Heart failure and SGLT2.": True,
    }
    reranker.rerank(search, ["Of mh."])
    assert caplog.text.count("a query is in a database's field syntax") == 1

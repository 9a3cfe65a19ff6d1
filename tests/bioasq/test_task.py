"""Questions scored together: the same scores, in order, and nothing twice after an interrupt."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from mpir import Document, Perspective, Reranker, RunOptions, Weights
from mpir.bioasq.task import System, added_up, answer, score_questions, select, systems
from mpir.core.candidates import Candidates
from mpir.core.columns import Columns, Layout
from mpir.core.cutoffs import Cutoff, Cutoffs
from mpir.core.text import Question, Sentence
from mpir.errors import ArtefactError
from mpir.files.journal import Journal
from mpir.reranking.prepare import unscored_candidates
from mpir.search import LuceneIndex, build_index
from tests.damage import check_flips

SUBJECTS = ["heart", "blood", "gene", "cell", "risk", "trial"]
QUESTIONS = [Question(f"q{number}", f"does aspirin risk the {subject}") for number, subject in enumerate(SUBJECTS)]
SENTENCES = 4
"""Of each question: two documents with two different sentences."""


class Words(Perspective):
    """How many words of the question a sentence has; remembers the questions, and may be interrupted at one."""

    name = "words"

    def __init__(self, stop_at: str = "") -> None:
        self.asked: list[str] = []
        self.stop_at = stop_at

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        queries = list(dict.fromkeys(query for query, _ in pairs))
        if any(query.endswith(self.stop_at or "?") for query in queries):
            raise KeyboardInterrupt
        self.asked += queries
        return np.array([len(set(query.split()) & set(text.lower().strip(".").split())) for query, text in pairs])


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> LuceneIndex:
    texts = [
        f"The {word} is in a {second}. No {word} of patients {second} is."
        for word in SUBJECTS
        for second in ("placebo", "attack")
    ]
    folder = tmp_path_factory.mktemp("corpus") / "index"
    build_index([Document(str(number), abstract=text) for number, text in enumerate(texts)], folder)
    return LuceneIndex(folder)


def score(
    index: LuceneIndex, journal: Path, perspective: Words, questions: Sequence[Question] = QUESTIONS, at_once: int = 8
) -> list[tuple[Question, Candidates]]:
    reranker = Reranker(perspectives=[perspective], run=RunOptions(pairs_at_once=at_once))
    with Journal(journal, {}) as opened:
        return list(score_questions(questions, index, reranker, opened, candidates=2))


@pytest.mark.slow
def test_questions_together_and_one_by_one_give_the_same(index: LuceneIndex, tiny_bundle: Path, tmp_path: Path) -> None:
    result = {}
    for at_once in (1, 3 * SENTENCES, 1000):
        reranker = Reranker(tiny_bundle, device="cpu", precision="fp32", run=RunOptions(pairs_at_once=at_once))
        journal = Journal(tmp_path / str(at_once), {})
        result[at_once] = list(score_questions(QUESTIONS, index, reranker, journal, candidates=2))
        assert [question for question, _ in result[at_once]] == QUESTIONS
        assert list(journal.records) == [question.id for question in QUESTIONS]
    for at_once in (3 * SENTENCES, 1000):
        for (question, together), (_, single) in zip(result[at_once], result[1], strict=True):
            assert together.query == question.body
            assert together.documents == single.documents
            assert together.sentences == single.sentences
            assert len(together.sentences) == SENTENCES
            np.testing.assert_allclose(together.columns.sentences, single.columns.sentences, rtol=0, atol=1e-5)


def test_a_result_comes_as_soon_as_its_questions_are_scored(index: LuceneIndex, tmp_path: Path) -> None:
    words = Words()
    reranker = Reranker(perspectives=[words], run=RunOptions(pairs_at_once=2 * SENTENCES))
    journal = Journal(tmp_path / "journal", {})
    for number, _ in enumerate(score_questions(QUESTIONS, index, reranker, journal, candidates=2)):
        assert len(words.asked) == number // 2 * 2 + 2
        assert len(journal.path.read_text().splitlines()) == 1 + number + 1


def test_an_interrupt_loses_only_the_questions_in_flight(index: LuceneIndex, tmp_path: Path) -> None:
    complete = score(index, tmp_path / "whole", Words())
    with pytest.raises(KeyboardInterrupt):
        score(index, tmp_path / "journal", Words(stop_at="cell"))
    with Journal(tmp_path / "journal", {}) as journal:
        assert list(journal.records) == ["q0", "q1"]
    with open(tmp_path / "journal", "a") as stream:
        stream.write('{"id": "q2", "query"')  # killed in the middle of a line
    words = Words()
    repeated = score(index, tmp_path / "journal", words)
    assert sorted(words.asked) == sorted(question.body for question in QUESTIONS[2:])
    assert [(question, item.to_record()) for question, item in repeated] == [
        (q, item.to_record()) for q, item in complete
    ]


def test_questions_in_the_journal_are_not_scored_wherever_they_stand(index: LuceneIndex, tmp_path: Path) -> None:
    score(index, tmp_path / "journal", Words(), [QUESTIONS[4], QUESTIONS[1]])
    changed = [*QUESTIONS[:4], Question("q4", "is placebo in a cell"), QUESTIONS[5]]
    words = Words()
    result = score(index, tmp_path / "journal", words, changed, at_once=100)
    assert [question for question, _ in result] == changed
    assert [item.query for _, item in result] == [question.body for question in changed]
    assert sorted(words.asked) == sorted(question.body for question in changed if question.id != "q1")


def test_what_the_journal_gives_back_is_what_was_scored(index: LuceneIndex, tiny_bundle: Path, tmp_path: Path) -> None:
    reranker = Reranker(tiny_bundle, device="cpu", precision="fp32")
    result = []
    for _ in range(2):
        with Journal(tmp_path / "journal", {}) as journal:
            result.append(list(score_questions(QUESTIONS, index, reranker, journal, candidates=2)))
    first, repeated = result
    for (_, item), (_, second) in zip(first, repeated, strict=True):
        assert item.sentences == second.sentences
        assert item.columns.sentences.tobytes() == second.columns.sentences.tobytes()
        assert item.lexical.tobytes() == second.lexical.tobytes()
        assert item.columns.documents.tobytes() == second.columns.documents.tobytes()


def test_every_changed_byte_of_the_journal_is_computed_anew(index: LuceneIndex, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    score(index, path, Words())

    def read() -> list[Any]:
        before = path.read_bytes()
        result = [(question, item.to_record()) for question, item in score(index, path, Words())]
        path.write_bytes(before)
        return result

    check_flips([path], read)


def test_a_record_that_lacks_something_is_one_sentence(index: LuceneIndex, tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", {}) as journal:
        ((_, scored),) = score_questions(QUESTIONS[:1], index, Reranker(perspectives=[Words()]), journal, candidates=2)
        record = scored.to_record()
        for change in ({"spans": []}, {"columns": {}}, {"document_of": [7] * SENTENCES}, {"sentence_scores": None}):
            with pytest.raises(ArtefactError, match=r"^the record of 'does aspirin risk the heart'"):
                Candidates.from_record(record | change, scored.documents)


def test_systems_have_every_column_but_bm25_alone_wherever_it_stands() -> None:
    first = Weights({"o": 1.0}, beta={"bm25": 0.5, "dense": 0.25})
    for weights in (first, replace(first, beta={"dense": 0.25, "bm25": 0.5})):
        bm25, sentences, documents, blend = systems(weights)
        names = [system.name for system in (bm25, sentences, documents, blend)]
        assert names == ["BM25 alone", "o alone", "dense alone", "blend"]
        assert bm25.weights is None
        assert documents.weights is not None
        assert documents.weights.beta == {"bm25": 0.0, "dense": 1.0}
        assert blend.weights == weights
        assert sentences.weights == Weights(
            {"o": 1.0}, alpha_context=0.0, beta={"bm25": 0.0, "dense": 0.0}, beta_sentences=1.0, context="document"
        )


def test_columns_are_added_up_in_z_scores_and_sentences_follow_their_documents() -> None:
    assert added_up(Weights({"o": 1.0})) is None
    assert added_up(Weights({"o": 1.0}, beta={"dense": 1.0, "long": 1.0}, context="document")) is None
    both = added_up(Weights({"o": 1.0}, alpha_context=0.5, beta={"dense": 0.3, "bm25": 0.1}))
    assert both is not None
    assert both.name == "BM25 + dense"
    layout = Layout.of(("bm25", "dense"), ("o",))
    documents = np.array([[4.0, 0.0], [2.0, 0.9], [0.0, 0.0]])  # z-scores √1.5, 0, -√1.5 and -√.5, √2, -√.5
    columns = Columns(
        layout=layout,
        documents=documents,
        sentences=np.ones((3, 1)),
        query_of=np.zeros(3, int),
        document_of=np.arange(3),
    )
    ranked, sentences = both.scores(cast(Candidates, SimpleNamespace(columns=columns)))
    np.testing.assert_allclose(ranked, [1.5**0.5 - 0.5**0.5, 2**0.5, -(1.5**0.5) - 0.5**0.5])
    assert sentences.tolist() == [0.0, 0.0, 0.0]


def test_snippets_are_the_best_sentences_of_the_best_documents_by_hand() -> None:
    """Equal sentences come in the order of their documents, and inside one in that of its text."""
    documents = [Document(name, abstract="One. Two.") for name in "abc"]
    sentences = [
        Sentence(document=item.id, section="abstract", begin=begin, end=end, text="")
        for item in documents
        for begin, end in ((0, 4), (5, 9))
    ]
    scores = np.array([[1.0, 1.0, 2.0, 1.0, 9.0, 9.0]]).T  # of a, b and c
    columns = Columns(
        layout=Layout.of(("bm25",), ("o",)),
        documents=np.array([[2.0], [3.0], [1.0]]),
        sentences=scores,
        query_of=np.zeros(3, int),
        document_of=np.repeat(np.arange(3), 2),
    )
    scored = unscored_candidates("?", documents, sentences=sentences, columns=columns, lexical=np.zeros(6))
    by_first = System("first", Weights({"o": 1.0}, alpha_context=0.0, beta_sentences=0.0, normalise="none"))
    by_number = Cutoffs(documents=Cutoff(maximum=2), snippets=Cutoff(maximum=3))
    result = answer(Question("q", "?"), scored, replace(by_first, cutoffs=by_number))
    assert result.documents == ("b", "a")
    assert [(item.document, item.begin, item.end) for item in result.snippets or ()] == [
        ("b", 0, 4),
        ("b", 5, 9),
        ("a", 0, 4),
    ]
    # the lowest sentence of the submitted documents is 1, the best 2: half-way is 1.5
    by_share = Cutoffs(documents=Cutoff(score=2.0), snippets=Cutoff(share=0.5))
    result = answer(Question("q", "?"), scored, replace(by_first, cutoffs=by_share))
    assert result.documents == ("b", "a")
    assert [(item.document, item.begin) for item in result.snippets or ()] == [("b", 0)]


def test_a_cut_off_that_leaves_nothing_submits_its_minimum_and_says_so() -> None:
    documents = [Document(name, abstract="One.") for name in "ab"]
    sentences = [Sentence(document=item.id, section="abstract", begin=0, end=4, text="One.") for item in documents]
    columns = Columns(
        layout=Layout.of(("bm25",), ("o",)),
        documents=np.array([[2.0], [3.0]]),
        sentences=np.array([[0.5], [0.25]]),
        query_of=np.zeros(2, int),
        document_of=np.arange(2),
    )
    scored = unscored_candidates("?", documents, sentences=sentences, columns=columns, lexical=np.zeros(2))
    weights = Weights({"o": 1.0}, alpha_context=0.0, beta_sentences=0.0, normalise="none")
    none_reach = Cutoffs(documents=Cutoff(score=9.0), snippets=Cutoff(score=9.0))
    selection = select(scored, System("blend", weights, none_reach))
    assert (selection.documents.tolist(), selection.snippets.tolist()) == ([1], [1])
    assert selection.unreached == ("documents", "snippets")
    assert select(scored, System("blend", weights)).unreached == ()
    bare = replace(columns, sentences=np.zeros((0, 1)), document_of=np.zeros(0, int))
    scored = unscored_candidates("?", documents, sentences=[], columns=bare, lexical=np.zeros(0))
    assert select(scored, System("blend", weights, none_reach)).snippets.tolist() == []

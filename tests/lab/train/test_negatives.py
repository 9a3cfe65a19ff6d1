"""Hard negatives, with arithmetic on a few sentences: never a likely answer, never an evaluation text, none twice."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.core.text import Document, Question, Snippet
from mpir.core.text.characters import normalise
from mpir.errors import InputError
from mpir.lab.train.leakage import EvaluationQuestions
from mpir.lab.train.mined_negatives import candidate_sentences, choose_negatives
from mpir.lab.train.negative_inputs import NegativeInputs, NegativeSettings
from mpir.lab.train.sentence_pool import AnswerFilter, SentencePool
from mpir.lab.train.topic_negatives import TopicNegatives, nearest_rows, title_groups
from mpir.search.memory import MemoryIndex
from mpir.types import F32, I64

OUTPUT = Path("negatives.jsonl")
QUESTION = Question("q", "?")


def candidates(**options: Any) -> NegativeSettings:
    return NegativeSettings(source="candidates", output=OUTPUT, questions=Path("q.json"), index="index", **options)


def topics(**options: Any) -> NegativeSettings:
    return NegativeSettings(source="topics", output=OUTPUT, questions=Path("q.json"), **options)


def inputs(*questions: Question, held: Sequence[str] = (), **options: Any) -> NegativeInputs:
    sentences = frozenset(map(normalise, held))
    evaluation = EvaluationQuestions([("e", "what is kept for evaluation")])
    return NegativeInputs(questions=list(questions), evaluation=evaluation, excluded_sentences=sentences, **options)


def test_the_threshold_is_a_share_of_the_mean_gold_score() -> None:
    scored = [["low", 0.1], ["high", 0.7], ["best", 0.9], ["close", 0.78], ["middle", 0.5]]
    record = {"gold": [["yes", 1.0], ["also", 0.6]], "candidates": scored}  # 0.95 of the mean, 0.8, is 0.76
    rows = choose_negatives(QUESTION, record, candidates(negatives=2))  # the best is skipped, the close one too high
    assert [(row["sentence"], row["label"], row["kind"]) for row in rows] == [
        ("yes", 1.0, "golden"),
        ("also", 1.0, "golden"),
        ("high", 0.0, "mined"),
        ("middle", 0.0, "mined"),
    ]
    assert choose_negatives(QUESTION, {**record, "gold": []}, candidates()) == []


def test_the_threshold_of_a_negative_mean_lies_below_it() -> None:
    scored = [["above the mean", -1.95], ["nearly the mean", -2.05], ["lower", -2.2], ["low", -3.0]]
    rows = choose_negatives(QUESTION, {"gold": [["yes", -2.0]], "candidates": scored}, candidates(skip=0))
    assert [row["sentence"] for row in rows] == ["yes", "lower", "low"]  # the threshold is -2.1


THIN, CLUMP = "Aspirin makes the blood of most adults thin.", "Under salicylates, platelets clump less in trials."
PUMPS, CATS = "The heart pumps the blood through all vessels.", "Cats have four legs and a long tail."
HELD = "Statins lower the cholesterol of most adults."
RESULT = Document("9", "", " ".join([f"As is known, {THIN}", CLUMP, HELD, PUMPS, CATS, CATS]))


def question_of(name: str, body: str, gold: str, *documents: str) -> Question:
    snippet = Snippet(document="1", begin_section="abstract", end_section="abstract", begin=0, end=len(gold), text=gold)
    return Question(name, body, documents=documents, snippets=(snippet,))


def test_candidate_sentences_are_of_the_best_results_that_are_not_gold() -> None:
    question = question_of("a", "does aspirin thin blood", THIN, "gold")
    hits = [Document("gold", "", "Gold documents are no candidates at all."), RESULT, Document("8", "", PUMPS * 2)]
    texts = candidate_sentences(question, hits, candidates(documents=1), inputs(held=[HELD]))
    assert texts == [CLUMP, PUMPS, CATS]  # not the sentence that holds the gold one, nor one gold for evaluation


def test_what_says_the_same_or_answers_a_similar_question_is_refused() -> None:
    texts = ["aspirin thins blood", "aspirin makes blood thin", "a gene is in a cell", "the heart is at risk"]
    vectors = np.array([[1, 0], [0.9, 0.44], [0, 1], [0, 1]], np.float32)
    pool = SentencePool(texts, [{"a"}, {"b"}, {"c"}, {"d"}], MemoryIndex(texts), vectors)
    allowed = AnswerFilter.of(0.85, texts[:1], pool, frozenset({"a", "d"}))
    assert [allowed.allows(number, pool) for number in range(4)] == [False, False, True, False]


def test_a_sentence_that_both_rankings_find_is_there_once() -> None:
    texts = ["aspirin thins blood", "blood is red", "a gene is in a cell"]
    pool = SentencePool(texts, [{"a"}, {"b"}, {"c"}], MemoryIndex(texts), np.eye(3, 2, dtype=np.float32))
    allowed = AnswerFilter(0.85, [], pool.vectors[:0], frozenset({"a"}))
    question, vector = Question("a", "does aspirin thin blood"), np.array([0, 1], np.float32)
    rows = nearest_rows(question, vector, pool, allowed, subset="topic", limit=1)
    assert [(row["kind"], row["sentence"]) for row in rows] == [("topic-bm25", texts[1]), ("topic-vector", texts[2])]


class AspirinEncoder:
    """Texts about aspirin have one vector, of length 2, and all others another."""

    def vectors(self, texts: Sequence[str], *, progress: bool = False) -> tuple[F32, I64]:
        about = [any(word in text.lower() for word in ("aspirin", "salicylates")) for text in texts]
        return np.array([[2, 0] if is_about else [0, 2] for is_about in about], np.float32), np.arange(len(texts))

    query_vectors = vectors


class OneResult:
    """A first stage that has the same document for every question."""

    name = "bm25"

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Document]]:
        return [[RESULT] for _ in queries]


def topic_rows(**options: Any) -> list[dict[str, Any]]:
    """The rows of two questions, with a result that has a sentence of every sort."""
    questions = [question_of("a", "does aspirin thin blood", THIN), question_of("h", "what does the heart pump", PUMPS)]
    negatives = TopicNegatives(topics(**options), inputs(*questions, held=[HELD]), AspirinEncoder())  # type: ignore[arg-type]
    return [row for group in negatives.groups(OneResult()) for row in group]  # type: ignore[arg-type]


def test_each_question_gets_the_gold_sentences_of_the_other() -> None:
    rows = {(row["id"], row["kind"], row["label"], row["sentence"]) for row in topic_rows()}
    assert {("a", "golden", 1.0, THIN), ("h", "golden", 1.0, PUMPS)} <= rows
    assert {("a", "topic-bm25", 0.0, PUMPS), ("h", "topic-vector", 0.0, THIN)} <= rows


def test_results_that_are_likely_answers_or_gold_for_evaluation_are_no_negatives() -> None:
    rows = topic_rows()
    assert {row["sentence"] for row in rows if row["id"] == "a" and row["kind"] == "bm25"} == {CATS}
    assert not any(row["sentence"] == HELD for row in rows)
    unfiltered = {row["sentence"] for row in topic_rows(same=1.1) if row["id"] == "a" and row["kind"] == "bm25"}
    assert unfiltered == {CATS, CLUMP}


def test_no_negative_is_twice_in_a_question() -> None:
    result = [(row["id"], row["sentence"]) for row in topic_rows()]
    assert ("a", PUMPS) in result
    assert len(result) == len(set(result))


def test_a_question_keeps_its_draws_when_others_are_left_out() -> None:
    """Gold sentences are sampled by the question alone."""
    texts = [f"Aspirin thins the blood of group {number}." for number in range(20)]
    question = question_of("a", "does aspirin thin blood", " ".join(texts))
    other = question_of("h", "what does the heart pump", PUMPS)

    def gold(*questions: Question) -> list[str]:
        groups = TopicNegatives(topics(), inputs(*questions), AspirinEncoder()).groups()  # type: ignore[arg-type]
        return [row["sentence"] for row in list(groups)[-1] if row["label"] == 1.0]

    assert gold(question) == gold(other, question)
    assert len(gold(question)) == 12


def abstract(number: int, title: str, conclusion: str) -> Document:
    too_short = "We looked at adults. " * 20  # each for a conclusion
    return Document(str(number), title, f"{too_short}{conclusion}")


def test_titles_ask_for_their_own_conclusions(tmp_path: Path) -> None:
    conclusion = "In conclusion, aspirin makes the blood of adults thin."
    pumps = "The heart pumps the blood through all of its vessels."
    documents = [
        abstract(1, "Aspirin and the blood of adults", conclusion),
        abstract(2, "The heart and its blood vessels", pumps),
        abstract(3, "Too short", "In conclusion, titles of two words ask for nothing."),
        abstract(4, "Gold documents of questions for evaluation", "In conclusion, they lend no titles at all."),
        Document("5", "A long title without an abstract", "In conclusion, it is short."),
    ]
    lines = [f'{{"id": "{d.id}", "title": "{d.title}", "abstract": "{d.abstract}"}}\n' for d in documents]
    (tmp_path / "docs.jsonl").write_text("".join(lines))
    settings = NegativeSettings(source="titles", output=OUTPUT, corpus=[str(tmp_path / "docs.jsonl")])
    held = inputs(excluded_documents=frozenset({"4"}))
    groups = list(title_groups(settings, held, AspirinEncoder()))  # type: ignore[arg-type]
    assert {group[0]["id"] for group in groups} == {"title-1", "title-2"}
    rows = {(row["id"], row["kind"], row["sentence"]) for group in groups for row in group}
    assert ("title-1", "title", conclusion) in rows
    assert ("title-1", "title-bm25", pumps) in rows
    assert ("title-2", "title-bm25", conclusion) in rows
    assert len(rows) == sum(map(len, groups))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "candidates", "questions": Path("q")}, "candidates needs index"),
        ({"source": "titles"}, "titles needs corpus"),
        ({"below": 0.0}, "negatives.below is 0.0"),
        ({"same": float("nan")}, "negatives.same is nan"),
        ({"skip": -1}, "skip is -1"),
        ({"negatives": 0}, "negatives is 0"),
        (
            {"dev": Path("d"), "limit": 100},
            "negatives.dev_titles is 100",
        ),
    ],
)
def test_settings_that_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        NegativeSettings(**{"source": "topics", "output": OUTPUT, "questions": Path("q"), **options})

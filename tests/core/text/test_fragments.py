"""Fragments are short texts without two words."""

import pytest

from mpir.core.results import RankedDocument, RankedSentence
from mpir.core.text.split import is_fragment


@pytest.mark.parametrize("text", ["I", "0, 8.", "B", "(n=12)", "p < 0.05", "CFTR.", ""])
def test_fragments(text: str) -> None:
    assert is_fragment(text)


@pytest.mark.parametrize(
    "text", ["Aspirin helps.", "It was CFTR.", "アスピリンは血液をさらさらにする薬として使われます。"]
)
def test_sentences(text: str) -> None:
    assert not is_fragment(text)


def ranked(*texts: str) -> RankedDocument:
    sentences = tuple(
        RankedSentence(
            document="1",
            text=text,
            section="abstract",
            begin=0,
            end=len(text),
            score=1.0,
            scores={},
            shares={},
            in_passages=False,
        )
        for text in texts
    )
    return RankedDocument(
        id="1", index=0, title="", score=1.0, scores={}, ranks={}, shares={}, best=(0,), sentences=sentences
    )


def test_a_fragment_is_the_best_sentence_only_of_a_document_without_another() -> None:
    best = ranked("I", "Aspirin helps.").best_sentence
    assert best is not None and best.text == "Aspirin helps."
    single = ranked("KRAS").best_sentence
    assert single is not None and single.text == "KRAS"
    assert ranked().best_sentence is None

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir import Perspective, Reranker, Weights
from mpir.core.weights import Normalise
from mpir.errors import InputError
from mpir.lab.annotate import Lexicon
from mpir.lab.annotate.negation_perspective import NegationPerspective
from mpir.models.bundles.bundle import open_bundle
from tests.models.query_scores import query_scores


class Length(Perspective):
    """The number of characters."""

    name = "length"

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        return np.array([len(text) for _, text in pairs], float)


LEXICON = Lexicon.of({"effusion": ["pleural effusion", "effusion*"], "edema": ["edema"]})
PERSPECTIVE = NegationPerspective(LEXICON)
TEXTS = ["Pleural effusion.", "No effusions.", "There may be an effusion.", "History of effusion.", "Clear."]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("pleural effusion", [1, -1, 0.5, 0.5, 0]),
        ("no pleural effusion", [-1, 1, -0.5, -0.5, 0]),
        ("possible effusion", [0.5, -0.5, 0.25, 0.25, 0]),
        ("effusion and no edema", [0.5, -0.5, 0.25, 0.25, 0]),
        ("pneumothorax", [0, 0, 0, 0, 0]),
        ("", [0, 0, 0, 0, 0]),
    ],
)
def test_polarities_agree_or_not(question: str, expected: list[float]) -> None:
    assert query_scores(PERSPECTIVE, question, TEXTS).tolist() == expected


def test_what_it_adds_to_a_document_does_not_depend_on_the_others() -> None:
    perspective = NegationPerspective(LEXICON)
    perspective.level = "document"
    expected = dict(zip(TEXTS, [2.0, -2.0, 1.0, 1.0, 0.0], strict=True))
    for normalise in get_args(Normalise):
        weights = Weights({"length": 0.0}, alpha_context=0.0, beta={"bm25": 0.0, "negation": 2.0}, normalise=normalise)
        reranker = Reranker(perspectives=[Length(), perspective], weights=weights)
        for texts in (TEXTS, TEXTS[:2], TEXTS[1:]):
            shares = {item.text: item.shares["negation"] for item in reranker.rerank("pleural effusion", texts)}
            assert shares == {text: expected[text] for text in texts}


def test_no_texts_have_no_scores() -> None:
    assert query_scores(PERSPECTIVE, "effusion", []).shape == (0,)


@pytest.mark.parametrize(("several", "expected"), [("any", 1.0), ("mean", 1 / 3), ("last", -1.0)])
def test_several_mentions_follow_the_rule(several: str, expected: float) -> None:
    report = "Left effusion.Right effusion. 1. No effusion."
    perspective = NegationPerspective(LEXICON, several=several)  # type: ignore[arg-type]
    assert query_scores(perspective, "effusion", [report]).tolist() == pytest.approx([expected])
    assert query_scores(perspective, "no effusion", [report]).tolist() == pytest.approx([-expected])


def test_words_that_are_alike_count_from_a_likeness_on() -> None:
    nearly = ["effused, pleurally"]
    assert query_scores(PERSPECTIVE, "pleural effusion", nearly).tolist() == [0]
    assert query_scores(NegationPerspective(LEXICON, likeness=0.5), "pleural effusion", nearly).tolist() == [1]


def test_it_says_why() -> None:
    text = "No effusion. Edema, but no effusion, still a pleural effusion is possible."
    assert PERSPECTIVE.explain("pleural effusion", text) == [
        'effusion: negated by "No"',
        'effusion: negated by "no"',
        'effusion: possible by "is possible"',
    ]
    assert PERSPECTIVE.explain("edema?", text) == ["edema: affirmed"]


@given(st.permutations(TEXTS))
def test_the_order_of_texts_does_not_matter(texts: list[str]) -> None:
    by_text = dict(zip(TEXTS, query_scores(PERSPECTIVE, "no effusion", TEXTS), strict=True))
    assert np.array_equal(query_scores(PERSPECTIVE, "no effusion", texts), [by_text[text] for text in texts])


def test_offsets_are_into_the_whole_text() -> None:
    text = "Clear.No effusion.  Edema"
    assert [text[mention.begin : mention.end] for mention in PERSPECTIVE.mentions(text)] == ["effusion", "Edema"]


def test_the_fingerprint_knows_the_lexicon_and_the_rules() -> None:
    alternatives = [
        NegationPerspective(Lexicon.of({"edema": ["edema"]})),
        NegationPerspective(LEXICON, several="last"),
        NegationPerspective(LEXICON, likeness=0.7),
    ]
    assert len({item.fingerprint for item in (PERSPECTIVE, *alternatives)}) == 4
    assert PERSPECTIVE.fingerprint == NegationPerspective(LEXICON).fingerprint


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(InputError, match="several is 'most'"):
        NegationPerspective(LEXICON, several="most")  # type: ignore[arg-type]


def test_a_bundle_can_declare_it(tmp_path: Path) -> None:
    LEXICON.save(tmp_path / "lexicon.tsv")
    (tmp_path / "own.txt").write_text("lacking\t[PREN]\n", encoding="utf-8")
    entry = {"name": "polarity", "kind": "negation", "lexicon": "lexicon.tsv", "triggers": ["own.txt"]}
    (tmp_path / "bundle.json").write_text(json.dumps({"format": 1, "perspectives": [entry]}), encoding="utf-8")
    (perspective,) = open_bundle(tmp_path).perspectives()
    assert perspective.name == "polarity"
    assert query_scores(perspective, "effusion", ["lacking effusion", "no effusion"]).tolist() == [-1, 1]

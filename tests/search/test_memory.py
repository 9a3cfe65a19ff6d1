import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.core.text.terms import terms
from mpir.errors import InputError
from mpir.search import MemoryIndex, bm25_scores

TEXTS = ["Gene gene protein.", "The protein", "", "?!", "vitamin D deficiencies"]


def test_scores_are_bm25_by_hand() -> None:
    scores = bm25_scores("genes", TEXTS, k1=1.2, b=0.75)
    lengths = [3, 1, 0, 0, 3]
    idf = math.log(1 + (5 - 1 + 0.5) / (1 + 0.5))
    expected = idf * 2 / (2 + 1.2 * (1 - 0.75 + 0.75 * 3 / (sum(lengths) / 5)))
    assert scores == pytest.approx([expected, 0, 0, 0, 0])


def test_more_of_the_query_scores_higher() -> None:
    scores = bm25_scores("protein of the gene", TEXTS)
    assert list(np.argsort(-scores, kind="stable")[:2]) == [0, 1]
    assert scores[2:].tolist() == [0, 0, 0]


@pytest.mark.parametrize("query", ["", "the", "?!", "unknown"])
def test_a_query_without_known_terms_scores_nothing(query: str) -> None:
    assert bm25_scores(query, TEXTS).tolist() == [0] * 5


@pytest.mark.parametrize("texts", [[], [""], ["", "the", "!"]])
def test_texts_without_terms_score_zero(texts: list[str]) -> None:
    scores = bm25_scores("gene", texts)
    assert scores.shape == (len(texts),)
    assert not scores.any()


def test_parameters_out_of_bounds_are_refused() -> None:
    with pytest.raises(InputError, match="k1 is -1"):
        bm25_scores("gene", TEXTS, k1=-1)
    with pytest.raises(InputError, match="b is 2"):
        MemoryIndex([], b=2)


@given(st.lists(st.text(alphabet="ab c", max_size=12), max_size=8), st.text(alphabet="abc ", max_size=8))
def test_scores_are_finite_never_negative_and_follow_the_texts(texts: list[str], query: str) -> None:
    index = MemoryIndex(texts)
    scores = index.scores(query)
    assert scores.shape == (len(index),)
    assert np.isfinite(scores).all()
    assert (scores >= 0).all()
    assert np.allclose(bm25_scores(query, texts[::-1]), scores[::-1])


def test_nothing_is_printed_and_no_java_is_loaded() -> None:
    program = (
        "import logging, sys; logging.basicConfig(); from mpir.search import bm25_scores\n"
        "bm25_scores('a gene', ['a gene']); assert 'jpype' not in sys.modules"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (finished.stdout, finished.stderr) == ("", "")


@pytest.mark.parametrize("query", ["Alzheimer's s", "s", "es us is"])
def test_a_possessive_s_is_a_term_like_any_other(query: str) -> None:
    assert "" not in terms(query)
    assert bm25_scores(query, ["dementia of the Alzheimer type", "nothing"]).shape == (2,)


def test_the_weights_of_a_text_by_hand() -> None:
    result = MemoryIndex(["gene gene cell", "", "gene"], k1=1.2, b=0.0).weights()
    gene, cell = math.log(1 + 1.5 / 2.5) * 2 / 3.2, math.log(1 + 2.5 / 1.5) / 2.2
    length = math.hypot(gene, cell)
    weights = {(text, round(weight, 5)) for text, _, weight in zip(*result, strict=True)}
    assert weights == {(0, round(gene / length, 5)), (0, round(cell / length, 5)), (2, 1.0)}


BYTES = """
import hashlib, random
from mpir.search.memory import MemoryIndex
draw = random.Random(7)
texts = [" ".join(draw.choices([f"word{n}" for n in range(90)], k=draw.randrange(3, 30))) for _ in range(200)]
index = MemoryIndex(texts)
print(hashlib.sha256(index.scores("word1 word7 word33").tobytes()).hexdigest())
"""


def test_another_process_computes_the_same_bytes() -> None:
    result = [
        subprocess.run(
            [sys.executable, "-c", BYTES], capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2", "3")
    ]
    assert len(set(result)) == 1


def test_stop_words_are_a_choice() -> None:
    texts = ["No effusion is seen.", "An effusion is seen."]
    assert len(set(bm25_scores("no effusion", texts).tolist())) == 1
    retained = bm25_scores("no effusion", texts, stop_words="not-no")
    assert retained[0] > retained[1]
    everything = bm25_scores("is", texts, stop_words="none")
    assert everything.min() > 0
    with pytest.raises(InputError, match="stop_words is 'german'"):
        MemoryIndex(texts, stop_words="german")  # type: ignore[arg-type]


FORMS = [
    "Nurses gave thrombolysis.",
    "Nursing of a nurse.",
    "Thrombolytic colour.",
    "Color of tears.",
    "Hyperglycaemia.",
]


@pytest.mark.parametrize(
    ("search", "texts"),
    [
        ("nurs*[tiab]", [0, 1]),
        ("thrombol$.ti. and nurses*.ti.", [0, 1, 2]),
        ("colo?r.ti,ab.", [2, 3]),
        ("TS=*glyc$mia", [4]),
        ("(tear* OR thrombolysis) NOT (colo*)", [0, 3]),
    ],
)
def test_a_truncated_word_finds_words_that_begin_so(search: str, texts: list[int]) -> None:
    assert np.flatnonzero(bm25_scores(search, FORMS)).tolist() == texts


def test_forms_of_a_truncated_word_are_as_rare_as_the_commonest() -> None:
    texts = ["nurse b c", "nurse d e", "nursing f g", "h j k"]
    truncated, commonest = bm25_scores("nurs*[tiab]", texts), bm25_scores("nurse", texts)
    assert truncated[[0, 2]] == pytest.approx(commonest[0])
    assert truncated[3] == 0


def test_a_mark_outside_a_search_is_no_truncation() -> None:
    assert bm25_scores("thromb* of nurs*", FORMS).tolist() == [0] * 5


@pytest.mark.parametrize("query", ["Behçet", "behcet", "Behc\u0327et", "behçe*[ti]"])
def test_accents_make_no_other_word(query: str) -> None:
    assert (bm25_scores(query, ["Behcet", "Tears are salty.", "Behçet"]) > 0).tolist() == [True, False, True]

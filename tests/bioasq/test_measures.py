"""The official measures: figures the official program printed, and each of its oddities by hand."""

import math
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.bioasq.measures import DIVISORS, GMAP_EPSILON, evaluate, question_measures
from mpir.core.text import Question, Snippet
from mpir.errors import InputError
from mpir.files.corpora.bioasq import read_questions

DATA = Path(os.environ.get("MPIR_DATA", Path(__file__).parents[3] / "shared" / "data")) / "bioasq"
NAMES = ("mean_precision", "mean_recall", "mean_f1", "map", "gmap")

# Printed by BioASQ's own program: batch, version, documents, snippets.
OFFICIAL = [
    (
        "6B2",
        5,
        [
            0.18353174603174602,
            0.25966127098959574,
            0.1715368532681971,
            0.07035476190476189,
            0.001531589881324851,
        ],
        [
            0.42333729695933464,
            0.33369257615286296,
            0.2868037987528591,
            0.15221192839992118,
            0.020326014683367123,
        ],
    ),
    (
        "7B1",
        8,
        [
            0.16243253968253968,
            0.29210714285714284,
            0.169401331012917,
            0.16136289682539684,
            0.0011022441393427735,
        ],
        [
            0.394580117337163,
            0.48663295396343303,
            0.38363551459800244,
            0.40337249237385264,
            0.0554175838419146,
        ],
    ),
    (
        "9B1",
        9,
        [
            0.23146031746031745,
            0.24523063353055607,
            0.15900158478860232,
            0.13002301587301587,
            0.00235909572556905,
        ],
        [
            0.47621270001012633,
            0.4085257103637223,
            0.37678874921616917,
            0.3924093856659847,
            0.05198685791854717,
        ],
    ),
    (
        "10B6",
        9,
        [
            0.2907329598506068,
            0.15172893522465183,
            0.1728460470911755,
            0.13031833566760034,
            0.0036571808679436496,
        ],
        [
            0.4267004462763951,
            0.2516385584119077,
            0.262465120669726,
            0.23517124981470436,
            0.026931002336673372,
        ],
    ),
    (
        "5B3",
        5,
        [
            0.19309126984126979,
            0.25349299719887947,
            0.1696997695287169,
            0.05300436507936508,
            0.0011199638724429207,
        ],
        [
            0.43058312202625193,
            0.4377214216054128,
            0.38698855747290795,
            0.1535421647092582,
            0.03050876746056113,
        ],
    ),
]


def snippet(document, begin, end, section="abstract"):
    return Snippet(document=document, begin_section=section, end_section=section, begin=begin, end=end, text="")


def question(name="q", documents=(), snippets=()):
    return Question(name, "Which?", documents=tuple(documents), snippets=tuple(snippets))


def snippet_measures(gold, returned, version=8):
    rows = question_measures([question(snippets=gold)], [question(snippets=returned)], version=version)["snippets"]
    return rows.precision[0], rows.recall[0], rows.f1[0], rows.average_precision[0]


@pytest.mark.skipif(not (DATA / "measures").is_dir(), reason=f"the shared submissions are not in {DATA}")
@pytest.mark.parametrize(("batch", "version", "documents", "snippets"), OFFICIAL)
def test_figures_of_the_official_program(batch, version, documents, snippets):
    gold, submission = (
        read_questions(DATA / f"{batch}_golden.json"),
        read_questions(DATA / "measures" / f"{batch}.submission.json"),
    )
    start = time.process_time()
    figures = evaluate(gold, submission, version=version)
    assert time.process_time() - start < 1
    assert [figures["documents"][name] for name in NAMES] == pytest.approx(documents, abs=1e-9, rel=0)
    assert [figures["snippets"][name] for name in NAMES] == pytest.approx(snippets, abs=1e-9, rel=0)


@pytest.mark.parametrize(("version", "divisor"), [(2, 12), (3, 10), (5, 10), (8, 10), (9, 10)])
def test_average_precision_of_many_gold_documents(version, divisor):
    gold = question(documents=[f"d{number}" for number in range(12)])
    rows = question_measures([gold], [question(documents=["d0", "x", "d1"])], version=version)["documents"]
    assert rows.average_precision[0] == pytest.approx((1 / 1 + 2 / 3) / divisor)
    assert (rows.precision[0], rows.recall[0]) == pytest.approx((2 / 3, 2 / 12))
    assert rows.f1[0] == pytest.approx(2 * (2 / 3) * (2 / 12) / (2 / 3 + 2 / 12))
    assert rows.gold[0] == 12


@pytest.mark.parametrize(("version", "divisor"), [(2, 2), (3, 10), (5, 10), (8, 2), (9, 2)])
def test_average_precision_of_few_gold_documents(version, divisor):
    figures = evaluate([question(documents=["a", "b"])], [question(documents=["x", "b"])], version=version)
    assert figures["documents"]["map"] == pytest.approx(0.5 / divisor)
    assert figures["documents"]["gmap"] == pytest.approx(0.5 / divisor + GMAP_EPSILON)


def test_a_repeated_document_counts_once():
    once = evaluate([question(documents=["a", "b"])], [question(documents=["a", "x"])])
    assert evaluate([question(documents=["a", "b", "a"])], [question(documents=["a", "a", "x", "x"])]) == once


def test_an_omitted_question_is_skipped_and_zero_under_its_own_name():
    gold = [question("1", ["a"], [snippet("a", 0, 9)]), question("2", ["b"], [snippet("b", 0, 9)])]
    official = evaluate(gold, gold[:1])
    sane = evaluate(gold, gold[:1], omitted="zero")
    for section in ("documents", "snippets"):
        assert [official[section][name] for name in NAMES] == pytest.approx([1, 1, 1, 1, 1 + GMAP_EPSILON])
        gmap = math.sqrt((1 + GMAP_EPSILON) * GMAP_EPSILON)
        assert [sane[section][name] for name in NAMES] == pytest.approx([0.5, 0.5, 0.5, 0.5, gmap])


def test_an_empty_answer_is_zero_and_not_skipped():
    gold = [question("1", ["a"]), question("2", ["b"])]
    figures = evaluate(gold, [gold[0], question("2")])
    assert figures["documents"]["map"] == 0.5


def test_version_9_skips_questions_without_gold_items():
    gold = [question("1", ["a"], [snippet("a", 0, 9)]), question("2", ["b"]), question("3", [], [snippet("c", 0, 9)])]
    answers = [question(name, ["a"], [snippet("a", 0, 9)]) for name in "123"]
    new, old = question_measures(gold, answers, version=9), question_measures(gold, answers, version=8)
    assert new["documents"].questions == ("1", "2")
    assert new["snippets"].questions == ("1", "3")
    assert old["documents"].questions == old["snippets"].questions == ("1", "2", "3")
    assert old["snippets"].average_precision.tolist() == [1, 0, 0]


@pytest.mark.parametrize(("version", "second_factor"), [(2, 1), (3, 1e-5), (5, 1e-5), (8, 1), (9, None)])
def test_gmap_of_a_question_without_gold_snippets(version, second_factor):
    gold = [question("1", ["a"], [snippet("a", 0, 9)]), question("2", ["b"])]
    answers = [question("1", ["a"], [snippet("a", 0, 9)]), question("2", ["b"], [snippet("b", 0, 9)])]
    first = 1 / DIVISORS[version](1) + GMAP_EPSILON
    expected = first if second_factor is None else math.sqrt(first * second_factor)
    assert evaluate(gold, answers, version=version)["snippets"]["gmap"] == pytest.approx(expected)
    if version != 9:
        zero = evaluate(gold, answers, version=version, omitted="zero")["snippets"]["gmap"]
        assert zero == pytest.approx(math.sqrt(first * GMAP_EPSILON))


def test_sizes_include_the_end():
    # 10–20 is 11 positions, 15–30 is 16, and they share 15–20.
    precision, recall, f1, average = snippet_measures([snippet("a", 10, 20)], [snippet("a", 15, 30)])
    assert (precision, recall, average) == pytest.approx((6 / 16, 6 / 11, 6 / 16))
    assert f1 == pytest.approx(2 * (6 / 16) * (6 / 11) / (6 / 16 + 6 / 11))


def test_snippets_that_touch_are_merged_in_gold_and_submission():
    # 0–10 and 10–20 become 0–20; 21–30 begins one later and stays.
    gold = [snippet("a", 0, 10), snippet("b", 0, 9), snippet("a", 10, 20), snippet("a", 21, 30)]
    returned = [snippet("a", 5, 20), snippet("a", 0, 5)]
    precision, recall, _, average = snippet_measures(gold, returned)
    assert (precision, recall) == pytest.approx((1, 21 / (21 + 10 + 10)))
    assert average == pytest.approx(1 / 3)


def test_merging_keeps_documents_and_sections_apart_and_the_first_place():
    gold = [snippet("a", 0, 9)]
    returned = [snippet("b", 0, 9), snippet("a", 0, 4), snippet("a", 0, 9, "title"), snippet("b", 9, 19)]
    # Merged: b 0–19 (20 positions) first, then a 0–4, then the title of a.
    _, _, _, average = snippet_measures(gold, returned)
    assert average == pytest.approx(5 / 25 + 5 / 35)


def test_a_snippet_of_a_gold_document_counts_as_relevant_without_overlap():
    gold = [snippet("a", 0, 9), snippet("b", 0, 9)]
    returned = [snippet("a", 0, 9), snippet("b", 50, 59), snippet("c", 0, 9)]
    # Relevant by document: 10/10 at rank 1, 10/20 at rank 2; rank 3 is of no gold document.
    assert snippet_measures(gold, returned)[3] == pytest.approx((1 + 0.5) / 2)


def test_a_span_of_another_section_is_not_shared():
    assert snippet_measures([snippet("a", 0, 9)], [snippet("a", 0, 9, "title")])[:2] == (0, 0)


@pytest.mark.parametrize(("begin", "end"), [(None, None), (0, None), (5, 4)])
def test_gold_snippets_without_usable_offsets_are_left_out_with_a_warning(begin, end, caplog):
    gold = question("1", ["a"], [snippet("a", 0, 9), snippet("a", begin, end)])
    assert evaluate([gold], [question("1", ["a"], [snippet("a", 0, 9)])])["snippets"]["mean_recall"] == 1
    assert "1 of 2 gold snippets" in caplog.text


def test_no_question_with_gold_snippets_gives_zeros():
    figures = evaluate([question(documents=["a"])], [question(documents=["a"])], version=9)
    assert set(figures["snippets"].values()) == {0.0}
    assert figures["documents"]["map"] == 1


def test_lists_that_a_file_does_not_have_are_empty():
    figures = evaluate([question(documents=["a"], snippets=[snippet("a", 0, 9)])], [Question("q", "Which?")])
    assert figures["documents"]["mean_f1"] == figures["snippets"]["mean_f1"] == 0


GOLD = question("1", ["a"], [snippet("a", 0, 9)])


@pytest.mark.parametrize(
    ("gold", "submission", "options", "message"),
    [
        ([GOLD], [GOLD], {"version": 4}, "measures is 4"),
        ([GOLD], [GOLD], {"omitted": "drop"}, "omitted is 'drop'"),
        ([GOLD, GOLD], [GOLD], {}, "gold question 2 .*'1'"),
        ([GOLD], [GOLD, GOLD], {}, "submitted question 2 .*'1'"),
        ([GOLD], [question("2")], {}, r"\b1 submitted questions"),
        ([GOLD], [], {"omitted": "zero"}, r"\b0 submitted questions"),
        ([Question("1", "Which?")], [GOLD], {}, r"\b1 gold questions .*test"),
        ([GOLD], [question("1", [], [snippet("a", None, None)])], {}, "question 1: .* a .*no offsets"),
        ([GOLD], [question("1", [], [snippet("a", 9, 3)])], {}, r"at 3, .*\b9\b"),
    ],
)
def test_bad_input_is_refused(gold, submission, options, message):
    with pytest.raises(InputError, match=message):
        evaluate(gold, submission, **options)


SNIPPETS = st.lists(
    st.builds(
        lambda document, begin, length, section: snippet(document, begin, begin + length, section),
        st.sampled_from("ab"),
        st.integers(0, 40),
        st.integers(0, 15),
        st.sampled_from(["title", "abstract"]),
    ),
    min_size=1,
    max_size=8,
)


@given(gold=SNIPPETS, returned=SNIPPETS)
def test_precision_and_recall_are_those_of_sets_of_positions(gold, returned):
    def positions(items):
        return {(s.document, s.begin_section, position) for s in items for position in range(s.begin, s.end + 1)}

    shared = len(positions(gold) & positions(returned))
    precision, recall, _, _ = snippet_measures(gold, returned)
    assert precision == pytest.approx(shared / len(positions(returned)))
    assert recall == pytest.approx(shared / len(positions(gold)))


@given(gold=SNIPPETS, version=st.sampled_from([2, 8, 9]))
def test_the_gold_answer_is_perfect(gold, version):
    # At most 8 gold snippets, so these versions all divide by their number.
    assert snippet_measures(gold, gold, version) == pytest.approx((1, 1, 1, 1))

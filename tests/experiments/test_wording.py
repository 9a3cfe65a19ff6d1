"""The experiment on wording: forms of a query, and measures worked out by hand."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from experiments.wording import forms, measures, spread
from mpir.core.text import Document


def test_brands_become_generic_names_and_stand_once() -> None:
    assert forms.generic_names("Does Tylenol relieve pain?") == "Does acetaminophen relieve pain?"
    assert forms.generic_names("sertraline Zoloft adverse effects") == "sertraline adverse effects"
    assert forms.generic_names("What is Eteplirsen (Exondys 51)?") == "What is Eteplirsen?"
    assert forms.generic_names("Which  bacteria cause plague ?") == "Which  bacteria cause plague ?"


@pytest.mark.parametrize(
    ("british", "american"),
    [
        ("Oesophageal tumours and anaemia", "Esophageal tumors and anemia"),
        ("haemoglobin in leukaemia", "hemoglobin in leukemia"),
        ("neutralised by randomisation", "neutralized by randomization"),
        ("a raised and advised promise arises, exercised", "a raised and advised promise arises, exercised"),
        ("aemia in Israel", "emia in Israel"),
    ],
)
def test_spellings(british: str, american: str) -> None:
    assert forms.american(british) == american


def test_content_words_lack_question_words() -> None:
    assert forms.content_words("What does Humira block?") == "Humira block"
    assert forms.content_words("What is it?")


def test_names_are_in_one_row_each() -> None:
    rows = [line.split("\t") for line in forms.NAMES.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    names = [name.strip().lower() for generic, others in rows for name in [generic, *others.split(",")]]
    assert len(names) == len(set(names))
    assert [generic for generic, _ in rows] == sorted(generic for generic, _ in rows)


def test_every_need_has_four_wordings() -> None:
    rows = [json.loads(line) for line in spread.NEEDS.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == len({row["id"] for row in rows}) == 100
    for row in rows:
        assert len({row[name] for name in spread.WORDINGS}) == 4
        assert all(re.fullmatch(r"\d+", name) for name in row["relevant"])


def test_order_agreement_by_hand() -> None:
    same = np.array([[3.0, 2.0, 1.0], [6.0, 5.0, 4.0]])
    assert measures.order_agreement(same) == pytest.approx((1.0, 1.0, 1.0))
    reverse = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
    # Depths 1 to 3 share 0, 1 and 3 documents.
    expected = 1 * 0.9**3 + 0.1 / 0.9 * (0 * 0.9 + 0.5 * 0.81 + 1 * 0.729)
    assert measures.order_agreement(reverse) == pytest.approx((-1.0, 1.0, expected))


def test_overlap_of_the_first_documents() -> None:
    assert measures.overlap([0, 1, 2], [2, 0, 1], top=2) == 0.5


def test_spread_and_width_by_hand() -> None:
    values = np.array([[1.0, 0.0], [3.0, 0.0]])
    assert measures.spread(values) == pytest.approx(0.5)
    assert measures.width(values) == pytest.approx(1.0)


def test_log_odds_are_finite_at_the_ends() -> None:
    assert measures.log_odds(np.array([0.5, 0.0, 1.0])) == pytest.approx([0.0, -13.8155, 13.8155], abs=1e-3)


def test_ndcg_by_hand() -> None:
    assert measures.ndcg(np.array([1.0, 3.0, 2.0]), np.array([1.0, 0.0, 0.0])) == pytest.approx(0.5)


def test_candidates_are_relevant_ones_and_the_best_of_each_list_in_turn() -> None:
    a, b, c, d = (Document(name, "", name) for name in "abcd")
    chosen = spread.candidates_of([d], [[a, b], [c, a]], 3, {"d"})
    assert [document.id for document in chosen] == ["d", "a", "c"]
    assert [document.id for document in spread.candidates_of([], [[d, a]], 3, {"d"})] == ["a"]


def test_change_of_spread_by_hand() -> None:
    base, calmer = [np.array([[0.0], [4.0]])] * 2, [np.array([[0.0], [2.0]])] * 2
    assert spread.change_of(calmer, base) == {"change": -1.0, "low": -1.0, "high": -1.0}


def test_a_file_without_needs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "needs.jsonl").write_text("")
    with pytest.raises(Exception, match=r"needs\.jsonl"):
        spread.read_needs(tmp_path / "needs.jsonl", tmp_path, 3, None)

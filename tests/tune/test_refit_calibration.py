"""Refitting probabilities to a user's judgements: by hand arithmetic, and without a change of any order."""

import numpy as np
import pytest
from scipy.special import expit, logit

from mpir.core.calibration import Calibration, Line
from mpir.core.weights import Weights
from mpir.errors import InputError
from mpir.tune.refit_calibration import Fit, held_out, refit, with_refit

QUESTIONS = np.arange(60) % 6


def judged(slope: float, intercept: float, count: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds of texts that are relevant with the probability of a line over them."""
    generator = np.random.default_rng(1)
    log_odds = generator.normal(0.0, 2.0, count)
    return log_odds, generator.random(count) < expit(slope * log_odds + intercept)


def test_the_errors_are_those_of_hand_arithmetic() -> None:
    """Two texts of 0.9, of which one is relevant, and two of 0.2, of which none is."""
    fit = Fit.of(np.array([0.9, 0.9, 0.2, 0.2]), np.array([True, False, False, False]))
    assert fit.calibration_error == pytest.approx((2 * 0.4 + 2 * 0.2) / 4)
    assert fit.brier == pytest.approx((0.01 + 0.81 + 0.04 + 0.04) / 4)


def test_the_auc_is_the_share_of_pairs_in_order() -> None:
    log_odds = np.array([5.0, 4.0, 3.0, 2.0, 0.5, 1.0, 0.0, -1.0, -2.0, -3.0])
    relevant = np.array([True] * 5 + [False] * 5)
    outcome = refit(log_odds, relevant, np.zeros(10, int))
    assert outcome.auc == pytest.approx(24 / 25)  # one relevant text is below one other
    assert outcome.separates


def test_probabilities_that_are_too_high_are_lowered_to_the_judged_share() -> None:
    log_odds, relevant = judged(0.8, -2.0)
    outcome = refit(log_odds, relevant, QUESTIONS)
    assert outcome.line is not None and outcome.is_better
    assert outcome.after.calibration_error < outcome.before.calibration_error / 2
    probabilities = expit(outcome.line.slope * log_odds + outcome.line.intercept)
    assert probabilities.mean() == pytest.approx(relevant.mean(), abs=0.02)


def test_texts_are_held_out_with_their_whole_question() -> None:
    """The odd question's texts have labels turned round, which none of its own folds may learn."""
    log_odds, relevant = judged(1.0, 0.0)
    turned = np.where(QUESTIONS == 0, ~relevant, relevant)
    other = np.where(QUESTIONS == 0, relevant, turned)
    rows = QUESTIONS == 0
    assert held_out(log_odds, turned, QUESTIONS)[rows] == pytest.approx(held_out(log_odds, other, QUESTIONS)[rows])


def test_what_nothing_separates_changes_nothing() -> None:
    log_odds, _ = judged(1.0, 0.0)
    relevant = np.random.default_rng(5).random(60) < 0.4
    outcome = refit(log_odds, relevant, QUESTIONS)
    assert (outcome.separates, outcome.is_better, outcome.line) == (False, False, None)
    falling = refit(-log_odds, judged(2.0, 0.0)[1], QUESTIONS)
    assert falling.line is None and falling.auc < 0.5
    assert with_refit(CALIBRATION, falling) is CALIBRATION


def test_probabilities_that_fit_already_stay() -> None:
    log_odds, relevant = judged(1.0, 0.0, 600)
    outcome = refit(log_odds, relevant, np.arange(600) % 60)
    assert outcome.separates
    assert not outcome.is_better


CALIBRATION = Calibration(
    Weights({"relevance": 1.0}, beta={"words": 1.0}, context="words", normalise="none"),
    {"whole": Line(2.0, -1.0), "in_part": Line(1.0, -2.0), "unread": Line(0.5, -4.0)},
    {"whole": Line(1.5, -3.0)},
    made_by={"perspectives": {"relevance": "x"}},
)


def test_the_new_lines_keep_every_order_and_the_sentences() -> None:
    log_odds, relevant = judged(0.8, -2.0)
    outcome = refit(log_odds, relevant, QUESTIONS)
    after = with_refit(CALIBRATION, outcome)
    assert outcome.line is not None
    slope, intercept = outcome.line.slope, outcome.line.intercept
    assert after.documents["in_part"] == Line(slope, slope * -2.0 + intercept)
    assert after.sentences == CALIBRATION.sentences
    assert after.models == CALIBRATION.models and after.is_of(CALIBRATION.weights)
    sums = np.linspace(-5, 5, 7)
    both = [
        np.concatenate([line.slope * sums + line.intercept for line in calibration.documents.values()])
        for calibration in (CALIBRATION, after)
    ]
    assert np.argsort(both[0]).tolist() == np.argsort(both[1]).tolist()
    assert Calibration.from_dict(after.to_dict()).documents == after.documents


@pytest.mark.parametrize(("hits", "others"), [(4, 40), (40, 4), (0, 50)])
def test_few_judgements_are_refused(hits: int, others: int) -> None:
    relevant = np.array([True] * hits + [False] * others)
    with pytest.raises(InputError, match=f"{hits} relevant and {others} others"):
        refit(logit(np.linspace(0.01, 0.99, len(relevant))), relevant, np.zeros(len(relevant), int))

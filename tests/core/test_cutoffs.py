"""Cut-offs by hand: which of the ranked candidates pass, and what is refused."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from mpir.core.cutoffs import Cutoff, Cutoffs, parse_cutoff
from mpir.core.weights import Weights
from mpir.errors import InputError
from mpir.files.weights import read_weights, write_weights

RANKED = np.array([[4.0, 3.0, 2.0, 1.0, 0.0], [1.0, 1.0, -np.inf, -np.inf, -np.inf], [-np.inf] * 5])
LOWEST = np.array([0.0, 1.0, 0.0])


@pytest.mark.parametrize(
    ("cutoff", "counts"),
    [
        (Cutoff(), [5, 2, 0]),
        (Cutoff(maximum=3), [3, 2, 0]),
        (Cutoff(score=2.0), [3, 1, 0]),
        (Cutoff(score=2.0, minimum=4), [4, 2, 0]),
        (Cutoff(share=0.75), [2, 2, 0]),
        (Cutoff(share=1.0), [1, 2, 0]),
        (Cutoff(share=0.25, score=3.0, minimum=2), [2, 2, 0]),
        (Cutoff(score=99.0), [1, 1, 0]),
    ],
)
def test_how_many_are_submitted(cutoff: Cutoff, counts: list[int]) -> None:
    assert cutoff.submitted(RANKED, LOWEST).sum(axis=1).tolist() == counts


def test_a_share_is_the_same_under_any_positive_scale_and_offset() -> None:
    scores = -np.sort(-np.random.default_rng(0).random((20, 10)))
    lowest = scores[:, -1]
    for share in (0.0, 0.3, 0.8, 1.0):
        expected = Cutoff(share=share).submitted(scores, lowest)
        assert (Cutoff(share=share).submitted(7 * scores - 3, 7 * lowest - 3) == expected).all()


def test_they_are_stored_with_the_weights_and_change_no_score(tmp_path: Path) -> None:
    weights = Weights({"a": 1.0}, cutoffs=Cutoffs(snippets=Cutoff(share=0.4, maximum=8)))
    write_weights(tmp_path / "weights.json", weights)
    loaded = read_weights(tmp_path / "weights.json")
    assert loaded == weights == pickle.loads(pickle.dumps(weights))
    assert hash(loaded) == hash(weights)
    assert loaded.cutoffs is not None
    assert loaded.cutoffs.snippets == Cutoff(share=0.4, maximum=8)
    assert loaded != Weights({"a": 1.0})
    assert loaded.fingerprint == Weights({"a": 1.0}).fingerprint
    assert "cutoffs" not in Weights({"a": 1.0}).to_dict()


def test_forms_on_the_command_line() -> None:
    assert parse_cutoff("7") == Cutoff(maximum=7)
    assert parse_cutoff("share=0.6, minimum=2,maximum=8") == Cutoff(share=0.6, minimum=2, maximum=8)
    assert parse_cutoff(str(Cutoff(score=-1.5, share=0.25))) == Cutoff(score=-1.5, share=0.25)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0", "cut-off: maximum is 0"),
        ("11", "cut-off: maximum is 11"),
        ("share=1.5", r"cut-off: share is 1\.5"),
        ("score=nan", "cut-off: score is nan"),
        ("probability=0.3", "cut-off: unknown key 'probability'"),
        ("minimum=3,maximum=2", r"cut-off: maximum is 2; .*\b3 to 10"),
        ("half", "cut-off 'half': invalid entry 'half'"),
        ("least=2", "cut-off: unknown key 'least'"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        parse_cutoff(text)


def test_a_file_with_other_cut_offs_is_refused() -> None:
    for cutoffs in (3, {"snippets": 3}, {"sentences": {}}, {"snippets": {"best": 3}}, {"snippets": {"share": "x"}}):
        with pytest.raises(InputError, match=r"^weights\.json: .*cut"):
            Weights.from_dict({"alpha": {"a": 1.0}, "cutoffs": cutoffs}, "weights.json")

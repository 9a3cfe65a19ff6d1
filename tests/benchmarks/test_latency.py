"""The benchmark of latency: what is left out, counted and summed up. `benchmarks/smoke.py` runs it whole."""

from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def latency(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    import latency

    return latency


@pytest.mark.parametrize(("seconds", "notes"), [(9, 0), (11, 1)])
def test_a_contender_slower_than_a_tenth_of_the_fastest_is_left_out(
    latency: ModuleType, seconds: int, notes: int
) -> None:
    workers = {
        name: SimpleNamespace(call=lambda *_, taken=taken: SimpleNamespace(seconds=taken, value=0.0))
        for name, taken in (("fast", 1.0), ("slow", seconds))
    }
    chosen, said = latency.fast_enough(workers, "a question", [])
    assert ("slow" in chosen) is (not notes)
    assert said == [f"slow is left out: {seconds:.1f} s in the probe, the fastest 1.0 s"] * notes


def test_ratios_are_taken_round_by_round(latency: ModuleType) -> None:
    turns = {latency.PEER: [(4.0, 4.0, 9.0), (8.0, 8.0, 9.0)], "default": [(2.0, 1.0, 3.0), (2.0, 1.0, 3.0)]}
    row = latency.summary(turns)["default"]
    assert (row["times_peer"], row["times_peer_warm"], row["cold_p50"], row["gflop"]) == (3.0, 6.0, 2.0, 3.0)


def test_work_is_counted_and_vectors_are_made_once(latency: ModuleType, bi_encoder_bundle: Path) -> None:
    call = latency.mpir_call(str(bi_encoder_bundle), {}, "fp32")
    texts = ["yes aspirin does thin the blood .", "the heart"]
    cold, again = call("does aspirin thin blood", texts, True), call("is a gene in a cell", texts, False)
    assert 0 < again < cold
    assert call("does aspirin thin blood", texts, True) == cold
    config = SimpleNamespace(hidden_size=2, intermediate_size=4, num_hidden_layers=3)
    assert latency.operations(config, [1, 2]) == 3 * (2 * (16 + 16) * 3 + 8 * 5)

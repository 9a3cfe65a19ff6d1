"""The cross-encoder: same scores in any batch and order, cut pairs reported, scales fixed by mpir."""

from pathlib import Path

import numpy as np
import pytest
import torch

from mpir.errors import ArtefactError, InputError
from mpir.perspectives import cross_encoder
from mpir.perspectives.cross_encoder import CrossEncoder, CrossEncoderPerspective, batches
from mpir.perspectives.scale import to_scale

PAIRS = [
    ("does aspirin thin blood", "yes aspirin does thin the blood ."),
    ("does aspirin thin blood", "the heart"),
    ("is a gene in a cell", "the gene is in the cell and the cell is in the heart of the patients ."),
    ("risk of heart attack", ""),
]


@pytest.fixture(scope="module")
def encoder(tiny_checkpoint: Path) -> CrossEncoder:
    return CrossEncoder(tiny_checkpoint, device="cpu", precision="fp32")


def test_agrees_with_transformers_pair_by_pair(encoder: CrossEncoder) -> None:
    values, _ = encoder.outputs(PAIRS)
    for (question, sentence), row in zip(PAIRS, values, strict=True):
        with torch.no_grad():
            inputs = encoder.tokenizer([question], [sentence], return_tensors="pt")
            expected = encoder.model(**inputs).logits[0].numpy()
        np.testing.assert_allclose(row, expected, atol=1e-5)


@pytest.mark.parametrize("tokens", [1, 30, 10_000])
@pytest.mark.parametrize("window", [1, 3, 100])
def test_batches_windows_and_order_do_not_change_scores(
    encoder: CrossEncoder, monkeypatch: pytest.MonkeyPatch, tokens: int, window: int
) -> None:
    expected, _ = encoder.outputs(PAIRS)
    monkeypatch.setitem(cross_encoder.TOKENS_PER_BATCH, "cpu", tokens)
    monkeypatch.setattr(cross_encoder, "PAIRS_PER_WINDOW", window)
    values, _ = encoder.outputs(PAIRS[::-1])
    np.testing.assert_allclose(values[::-1], expected, atol=1e-5)


def test_pairs_longer_than_the_model_are_cut_and_reported(encoder: CrossEncoder) -> None:
    long = "aspirin " * 500
    _, cut = encoder.outputs([*PAIRS, ("does aspirin thin blood", long), (long, long)])
    assert cut.tolist() == [False] * len(PAIRS) + [True, True]


def test_bfloat16_stays_near(tiny_checkpoint: Path, encoder: CrossEncoder) -> None:
    exact, _ = encoder.outputs(PAIRS)
    values, _ = CrossEncoder(tiny_checkpoint, device="cpu", precision="bf16").outputs(PAIRS)
    np.testing.assert_allclose(values, exact, atol=0.3)


def test_nothing_to_score(encoder: CrossEncoder) -> None:
    values, cut = encoder.outputs([])
    assert values.shape == (0, 3)
    assert cut.shape == (0,)


def test_perspectives_read_their_own_output_on_their_scale(encoder: CrossEncoder) -> None:
    raw, _ = encoder.outputs(PAIRS)
    sts = CrossEncoderPerspective("sts", encoder, output=1, scale="0-5")
    np.testing.assert_allclose(sts.read(raw), 5 / (1 + np.exp(-raw[:, 1].astype(float))), rtol=1e-6)
    two_class = CrossEncoderPerspective("relevance", encoder, output=1, against=0, scale="probability")
    softmax = np.exp(raw[:, 1]) / (np.exp(raw[:, 0]) + np.exp(raw[:, 1]))
    np.testing.assert_allclose(two_class.read(raw), softmax, rtol=1e-5)
    np.testing.assert_allclose(sts.score(PAIRS[0][0], [PAIRS[0][1]]), sts.read(raw)[:1], atol=1e-5)


def test_scales_hold_their_bounds_and_do_not_overflow() -> None:
    extreme = np.array([-1e4, 0.0, 1e4], np.float32)
    assert to_scale(extreme, "0-4").tolist() == [0.0, 2.0, 4.0]
    assert to_scale(extreme, "0-5", linear=True).tolist() == [0.0, 0.0, 5.0]
    assert to_scale(extreme, "logit").tolist() == extreme.tolist()


def test_fingerprints_tell_outputs_and_weights_apart(encoder: CrossEncoder, tiny_checkpoint: Path) -> None:
    first, same = (CrossEncoderPerspective("a", encoder, output=0) for _ in range(2))
    other = CrossEncoderPerspective("a", encoder, output=1)
    lower = CrossEncoderPerspective("a", CrossEncoder(tiny_checkpoint, device="cpu", precision="bf16"))
    assert first.fingerprint == same.fingerprint
    assert len({first.fingerprint, other.fingerprint, lower.fingerprint}) == 3


def test_batches_cover_every_row_once_within_the_budget() -> None:
    lengths = np.random.default_rng(0).integers(1, 60, 200)
    found = list(batches(lengths, 128))
    assert sorted(np.concatenate(found)) == list(range(200))
    assert all(len(rows) == 1 or len(rows) * lengths[rows].max() <= 128 for rows in found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"device": "cuda:77"}, "cuda:77"), ({"device": "toaster"}, "toaster"), ({"precision": "fp12"}, "fp12")],
)
def test_unknown_hardware_is_one_sentence(tiny_checkpoint: Path, arguments: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CrossEncoder(tiny_checkpoint, **arguments)


def test_a_missing_checkpoint_says_so(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="cannot be loaded"):
        CrossEncoder(tmp_path)


def test_a_checkpoint_without_a_trained_head_is_refused(tiny_checkpoint: Path, tmp_path: Path) -> None:
    from transformers import BertModel

    for file in tiny_checkpoint.glob("*token*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    BertModel.from_pretrained(tiny_checkpoint).save_pretrained(tmp_path)
    with pytest.raises(ArtefactError, match="would be random"):
        CrossEncoder(tmp_path)


def test_an_output_that_does_not_exist_is_refused(encoder: CrossEncoder) -> None:
    with pytest.raises(InputError, match="output 3 does not exist"):
        CrossEncoderPerspective("sts", encoder, output=3)
    with pytest.raises(InputError, match="unknown scale"):
        CrossEncoderPerspective("sts", encoder, scale="0-7")

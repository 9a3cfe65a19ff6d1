"""The cross-encoder: same scores in any batch and order, long pairs read in passages, scales fixed by mpir."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mpir.errors import ArtefactError, DeviceError, InputError
from mpir.models import encoder as encoder_module
from mpir.models.devices import torch_backend
from mpir.models.encoder import Encoder
from mpir.models.loading.checkpoint import TransformersCheckpoint
from mpir.models.perspectives.base import to_scale
from mpir.models.perspectives.cross_encoder import CrossEncoderPerspective
from mpir.models.tokens.pair_spans import spans
from tests.models.query_scores import query_scores

WORDS = "does aspirin thin blood heart attack risk yes no the of a in is and trial patients placebo gene cell ."
LONG = ("does aspirin thin blood", " ".join(WORDS.split() * 9))

PAIRS = [
    ("does aspirin thin blood", "yes aspirin does thin the blood ."),
    ("does aspirin thin blood", "the heart"),
    ("is a gene in a cell", "the gene is in the cell and the cell is in the heart of the patients ."),
    ("risk of heart attack", ""),
]


@pytest.fixture(scope="module")
def encoder(tiny_checkpoint: Path) -> Encoder:
    return Encoder(tiny_checkpoint, device="cpu", precision="fp32")


@pytest.fixture(scope="module")
def by_transformers(tiny_checkpoint: Path) -> TransformersCheckpoint:
    return TransformersCheckpoint(str(tiny_checkpoint), None)


def test_agrees_with_transformers_pair_by_pair(encoder: Encoder, by_transformers: TransformersCheckpoint) -> None:
    values, _ = encoder.outputs(PAIRS)
    model, tokenizer = by_transformers.load()[0], by_transformers.tokenizer
    for (question, sentence), row in zip(PAIRS, values, strict=True):
        with torch.no_grad():
            inputs = tokenizer([question], [sentence], return_tensors="pt")
            expected = model(**inputs).logits[0].numpy()
        np.testing.assert_allclose(row, expected, atol=1e-5)


@pytest.mark.parametrize("tokens", [64, 100, 10_000])
@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_batches_passes_order_and_company_do_not_change_scores(
    tiny_checkpoint: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch, tokens: int, at_once: int
) -> None:
    pairs = [*PAIRS, LONG]
    expected, in_passages = encoder.outputs(pairs)
    monkeypatch.setattr(encoder_module, "PAIRS_PER_PASS", at_once)
    second = Encoder(tiny_checkpoint, device="cpu", precision="fp32", tokens_per_batch=tokens)
    values, same = second.outputs(pairs[::-1])
    np.testing.assert_allclose(values[::-1], expected, atol=1e-5)
    assert same[::-1].tolist() == in_passages.tolist() == [False] * len(PAIRS) + [True]
    np.testing.assert_allclose(second.outputs([LONG])[0], expected[-1:], atol=1e-5)


def test_a_pair_longer_than_the_model_counts_with_its_best_passage(tiny_checkpoint: Path) -> None:
    encoder = Encoder(tiny_checkpoint, device="cpu", precision="fp32")
    difference = encoder.column(2, against=0)
    (result,), (in_passages,) = encoder.outputs([LONG])
    question, words = LONG[0], LONG[1].split()
    room = 64 - 3 - len(question.split())
    each = [" ".join(words[begin:end]) for begin, end in spans(len(words), room)]
    assert len(each) > 2
    values, complete = encoder.outputs([(question, passage) for passage in each])
    assert in_passages
    assert not complete.any()
    np.testing.assert_allclose(result, values.max(axis=0), atol=1e-5)
    np.testing.assert_allclose(result[difference], (values[:, 2] - values[:, 0]).max(), atol=1e-5)


class Narrow(torch.nn.Module):
    """A model that has memory for `rows` sequences at most, and remembers how many it was given."""

    config = None

    def __init__(self, model: torch.nn.Module, rows: int) -> None:
        super().__init__()
        self.model, self.rows, self.given = model, rows, list[int]()

    def forward(self, **inputs: torch.Tensor) -> object:
        self.given.append(len(inputs["input_ids"]))
        if self.given[-1] > self.rows:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return self.model(**inputs)


def test_a_batch_without_memory_is_halved(
    tiny_checkpoint: Path,
    encoder: Encoder,
    by_transformers: TransformersCheckpoint,
    caplog: pytest.LogCaptureFixture,
) -> None:
    pairs = [("does aspirin thin blood", f"{word} {word}") for word in WORDS.split()] * 8
    narrow = Encoder(tiny_checkpoint, device="cpu", precision="fp32")
    narrow.backend.device_model.model = Narrow(by_transformers.load()[0], rows=20)
    values, _ = narrow.outputs(pairs)
    np.testing.assert_allclose(values, encoder.outputs(pairs)[0], atol=1e-5)
    assert max(narrow.backend.device_model.model.given) == len(pairs) > 100
    assert "batches are halved" in caplog.text
    tried = len(narrow.backend.device_model.model.given)
    narrow.outputs(pairs)
    assert max(narrow.backend.device_model.model.given[tried:]) <= 20  # what does not fit is not tried again


@pytest.mark.parametrize(("rows", "tries"), [(0, 9), (-1, 9)])
def test_no_memory_at_all_is_one_sentence(tiny_checkpoint: Path, rows: int, tries: int) -> None:
    narrow = Encoder(tiny_checkpoint, device="cpu", precision="fp32", tokens_per_batch=100_000)
    narrow.backend.device_model.model = Narrow(torch.nn.Identity(), rows)
    with pytest.raises(DeviceError, match=r"'cpu' .*\d+ × \d+ tokens; .*\(now 100000\)"):
        narrow.outputs([("a", "b")] * 2000)
    assert len(narrow.backend.device_model.model.given) == tries


def test_other_faults_of_a_model_are_not_taken_for_memory(tiny_checkpoint: Path) -> None:
    class Broken(torch.nn.Module):
        config = None

        def forward(self, **inputs: torch.Tensor) -> object:
            raise RuntimeError("shapes do not match")

    encoder = Encoder(tiny_checkpoint, device="cpu")
    encoder.backend.device_model.model = Broken()
    with pytest.raises(RuntimeError, match="not match"):
        encoder.outputs(PAIRS)


def test_bfloat16_stays_near(tiny_checkpoint: Path, encoder: Encoder) -> None:
    exact, _ = encoder.outputs(PAIRS)
    values, _ = Encoder(tiny_checkpoint, device="cpu", precision="bf16").outputs(PAIRS)
    np.testing.assert_allclose(values, exact, atol=0.3)


def test_nothing_to_score(tiny_checkpoint: Path) -> None:
    values, in_passages = Encoder(tiny_checkpoint, device="cpu").outputs([])
    assert values.shape == (0, 3)
    assert in_passages.shape == (0,)


def test_perspectives_read_their_own_output_on_their_scale(tiny_checkpoint: Path) -> None:
    encoder = Encoder(tiny_checkpoint, device="cpu", precision="fp32")
    two_class = CrossEncoderPerspective("relevance", encoder, output=1, against=0, scale="probability")
    raw, _ = encoder.outputs(PAIRS)
    sts = CrossEncoderPerspective("sts", encoder, output=1, scale="0-5")
    np.testing.assert_allclose(sts.read(raw), 5 / (1 + np.exp(-raw[:, 1].astype(float))), rtol=1e-6)
    softmax = np.exp(raw[:, 1]) / (np.exp(raw[:, 0]) + np.exp(raw[:, 1]))
    np.testing.assert_allclose(two_class.read(raw), softmax, rtol=1e-5)
    np.testing.assert_allclose(query_scores(sts, PAIRS[0][0], [PAIRS[0][1]]), sts.read(raw)[:1], atol=1e-5)


def test_scales_hold_their_bounds_and_do_not_overflow() -> None:
    extreme = np.array([-1e4, 0.0, 1e4], np.float32)
    assert to_scale(extreme, "0-4").tolist() == [0.0, 2.0, 4.0]
    assert to_scale(extreme, "0-5", linear=True).tolist() == [0.0, 0.0, 5.0]
    assert to_scale(extreme, "logit").tolist() == extreme.tolist()


def test_fingerprints_tell_outputs_and_weights_apart(encoder: Encoder, tiny_checkpoint: Path) -> None:
    first, same = (CrossEncoderPerspective("a", encoder, output=0) for _ in range(2))
    second = CrossEncoderPerspective("a", encoder, output=1)
    lower = CrossEncoderPerspective("a", Encoder(tiny_checkpoint, device="cpu", precision="bf16"))
    assert first.fingerprint == same.fingerprint
    assert len({first.fingerprint, second.fingerprint, lower.fingerprint}) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"device": "cuda:77"}, "device 'cuda:77'"),
        ({"device": "cpu,toaster"}, "'toaster' .*no such kind"),
        ({"device": "cpu,"}, "'' .*no such kind"),
        ({"tokens_per_batch": 63}, r"\b63, .*\b64 tokens"),
        ({"max_length": 18}, r"max_length is 18 .*\b19\b"),
    ],
)
def test_impossible_settings_are_one_sentence(tiny_checkpoint: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Encoder(tiny_checkpoint, **arguments).outputs(PAIRS)


def test_a_missing_checkpoint_says_so(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="cannot be loaded"):
        Encoder(tmp_path)


def test_a_checkpoint_without_a_trained_head_is_refused(tiny_checkpoint: Path, tmp_path: Path) -> None:
    from transformers import BertModel

    for file in tiny_checkpoint.glob("*token*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    BertModel.from_pretrained(tiny_checkpoint).save_pretrained(tmp_path)
    with pytest.raises(ArtefactError, match="would be random"):
        Encoder(tmp_path).outputs(PAIRS)


def test_an_output_that_does_not_exist_is_refused(encoder: Encoder) -> None:
    with pytest.raises(InputError, match="output 3 does"):
        CrossEncoderPerspective("sts", encoder, output=3)
    with pytest.raises(InputError, match="scale is '0-7'"):
        CrossEncoderPerspective("sts", encoder, scale="0-7")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"output": 1.0}, r"'sts': output is 1\.0"),
        ({"output": True}, "output is True"),
        ({"output": "0"}, "output '0' .*LABEL_0, LABEL_1, LABEL_2"),
        ({"output": -1}, "output is -1"),
        ({"against": 1.0}, r"against is 1\.0"),
        ({"against": False}, "against is False"),
        ({"linear": "no"}, "'sts': linear is 'no'"),
    ],
)
def test_options_of_another_kind_are_refused_before_anything_is_scored(
    encoder: Encoder, option: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        CrossEncoderPerspective("sts", encoder, **option)


def test_memory_is_handed_back_after_so_much_is_read(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(torch_backend, "trim_memory", lambda: calls.append(1))
    monkeypatch.setattr(torch_backend, "TRIMMED_FROM", 3)
    encoder = Encoder(tiny_checkpoint, device="cpu", precision="fp32")
    encoder.outputs([("gene", "cell")] * 2)
    assert not calls
    encoder.outputs([("gene", "cell")] * 2)
    assert calls == [1]
    encoder.vectors(["gene", "cell"])
    assert calls == [1]
    encoder.outputs([("gene", "cell")])
    assert calls == [1, 1]

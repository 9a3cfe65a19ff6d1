"""The bi-encoder: the cosine of means of last states, in any batch and company, long texts read in passages."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModel,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    BertModel,
)

from mpir.errors import ArtefactError, InputError
from mpir.models.bert.bert import UnpaddedBert
from mpir.models.encoder import Encoder
from mpir.models.perspectives import Loading, ScoreCache, bi_encoder, score_pairs
from mpir.models.perspectives.bi_encoder import BiEncoderPerspective
from mpir.models.perspectives.registration import build
from mpir.models.tokens.single_texts import read_single
from mpir.models.tokens.tokenise import TokenSequence
from mpir.models.vectors.embedding import padded_vectors
from tests.models.query_scores import query_scores

WORDS = "does aspirin thin blood heart attack risk yes no the of a in is and trial patients placebo gene cell ."
LONG = " ".join(WORDS.split() * 7)
PAIRS = [
    ("does aspirin thin blood", "yes aspirin does thin the blood ."),
    ("does aspirin thin blood", "the heart"),
    ("risk of heart attack", ""),
    ("is a gene in a cell", "is a gene in a cell"),
]


def loaded(checkpoint: Path, **options: object) -> BiEncoderPerspective:
    loading = Loading(folder=checkpoint.parent, device="cpu", precision="fp32")
    result = build({"kind": "bi-encoder", "name": "sts", "checkpoint": checkpoint.name, **options}, loading)
    assert isinstance(result, BiEncoderPerspective)
    return result


def cosine(checkpoint: Path, one: str, other: str) -> float:
    """The figure by transformers alone."""
    model, tokenizer = AutoModel.from_pretrained(checkpoint).eval(), AutoTokenizer.from_pretrained(checkpoint)
    with torch.no_grad():
        first, second = (
            model(**tokenizer([t], return_tensors="pt")).last_hidden_state[0].mean(0) for t in (one, other)
        )
    return float(torch.cosine_similarity(first, second, dim=0))


def test_it_is_the_cosine_of_mean_states(tiny_checkpoint: Path) -> None:
    result, in_passages = loaded(tiny_checkpoint, scale="cosine").score_pairs(PAIRS)
    np.testing.assert_allclose(result, [cosine(tiny_checkpoint, *pair) for pair in PAIRS], atol=1e-5)
    assert result[3] == pytest.approx(1.0)
    assert not in_passages.any()
    encoder = Encoder(tiny_checkpoint, device="cpu", precision="fp32")
    shares = BiEncoderPerspective("sts", encoder).score_pairs(PAIRS)[0]
    np.testing.assert_allclose(shares, 5 * result.clip(0, 1), atol=1e-5)


@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_company_order_and_passes_do_not_change_scores(
    tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    item = loaded(tiny_checkpoint, scale="cosine")
    pairs = [*PAIRS, (LONG, "the heart")]
    expected, in_passages = item.score_pairs(pairs)
    monkeypatch.setattr(bi_encoder, "PAIRS_PER_PASS", at_once)
    values, same = item.score_pairs(pairs[::-1])
    np.testing.assert_allclose(values[::-1], expected, atol=1e-5)
    assert same[::-1].tolist() == in_passages.tolist() == [False] * len(PAIRS) + [True]
    np.testing.assert_allclose(query_scores(item, PAIRS[1][0], [PAIRS[1][1]]), expected[1:2], atol=1e-5)
    assert query_scores(item, "q", []).shape == (0,)


def test_a_long_text_counts_with_its_best_passage(tiny_checkpoint: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint)
    tokens = read_single(tokenizer, 64, ["the heart", LONG])
    passages = [
        tokenizer.decode(sequence.ids[1:-1]) for sequence in tokens.sequences(np.arange(1, len(tokens.lengths)))
    ]
    assert len(passages) > 2
    assert max(tokens.lengths) <= 64
    assert passages[0].split()[31:] == passages[1].split()[:31]  # they overlap by half
    each = [cosine(tiny_checkpoint, "the heart", passage) for passage in passages]
    sequence = loaded(tiny_checkpoint, scale="cosine")
    assert query_scores(sequence, "the heart", [LONG])[0] == pytest.approx(max(each), abs=1e-5)
    assert query_scores(sequence, LONG, ["the heart"])[0] == pytest.approx(max(each), abs=1e-5)


def test_unpadded_vectors_are_those_of_the_padded_pass(tiny_checkpoint: Path) -> None:
    model = BertForSequenceClassification.from_pretrained(tiny_checkpoint, dtype=torch.float32).eval()
    generator, result = np.random.default_rng(0), []
    sequences = [
        TokenSequence(generator.integers(1, 20, n, dtype=np.int32), np.zeros(n, np.int32)) for n in (9, 3, 6, 3, 1)
    ]
    longest = max(len(sequence.ids) for sequence in sequences)
    ids = torch.tensor([[*sequence.ids.tolist(), *[0] * (longest - len(sequence.ids))] for sequence in sequences])
    mask = torch.tensor([[1] * len(sequence.ids) + [0] * (longest - len(sequence.ids)) for sequence in sequences])
    for vectors in (
        UnpaddedBert(model, trains=True).vectors(sequences),
        padded_vectors(model, {"input_ids": ids, "attention_mask": mask}),
    ):
        model.zero_grad()
        (vectors[0] @ vectors[1] + vectors[2] @ vectors[3]).backward()
        result.append((vectors.detach(), model.bert.encoder.layer[0].output.dense.weight.grad.clone()))
    torch.testing.assert_close(result[0], result[1], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(result[0][0].norm(dim=1), torch.ones(5))


@pytest.mark.slow
def test_several_processes_and_other_architectures(tiny_checkpoint: Path, tmp_path: Path) -> None:
    expected = Encoder(tiny_checkpoint, device="cpu", precision="fp32").vectors([LONG, "the heart", "a gene"])
    two = Encoder(tiny_checkpoint, device="cpu,cpu", precision="fp32", tokens_per_batch=64)
    try:
        for vector, second in zip(two.vectors([LONG, "the heart", "a gene"]), expected, strict=True):
            np.testing.assert_allclose(vector, second, atol=1e-5)
        assert two.outputs([("a gene", "the heart")])[0].shape == (1, 3)  # the same workers read pairs, too
    finally:
        two.close()
    config = BertConfig.from_pretrained(tiny_checkpoint, hidden_act="relu", num_labels=1)
    BertForSequenceClassification(config).save_pretrained(tmp_path / "relu")
    AutoTokenizer.from_pretrained(tiny_checkpoint).save_pretrained(tmp_path / "relu")
    result = loaded(tmp_path / "relu", scale="cosine").score_pairs(PAIRS)[0]
    np.testing.assert_allclose(result, [cosine(tmp_path / "relu", *pair) for pair in PAIRS], atol=1e-5)


def test_it_shares_the_cross_encoders_model_and_has_an_identity_of_its_own(
    tiny_checkpoint: Path, tmp_path: Path
) -> None:
    loading = Loading(folder=tiny_checkpoint.parent, device="cpu", precision="fp32")
    options = {"checkpoint": tiny_checkpoint.name, "scale": "0-5"}
    kinds = "bi-encoder", "cross-encoder"
    separated, together = (build({"kind": kind, "name": "sts", **options}, loading) for kind in kinds)
    assert separated.encoder is together.encoder  # type: ignore[attr-defined]
    assert separated.fingerprint != together.fingerprint
    cache = ScoreCache(tmp_path)
    first = score_pairs([separated, together], [*PAIRS, (LONG, "a gene")], cache=cache)
    repeated = score_pairs([separated, together], [*PAIRS, (LONG, "a gene")], cache=cache)
    np.testing.assert_array_equal(first.values, repeated.values)
    assert repeated.in_passages.tolist() == first.in_passages.tolist() == [False] * len(PAIRS) + [True]
    assert (first.values[:, 0] != first.values[:, 1]).any()


def test_a_plain_sentence_encoder_will_do(tiny_checkpoint: Path, tmp_path: Path) -> None:
    """Such checkpoints, as of sentence-transformers, have no classifier, and some no pooler."""
    model = BertModel.from_pretrained(tiny_checkpoint, add_pooling_layer=False)
    model.save_pretrained(tmp_path / "plain")
    AutoTokenizer.from_pretrained(tiny_checkpoint).save_pretrained(tmp_path / "plain")
    result = loaded(tmp_path / "plain", scale="cosine").score_pairs(PAIRS)[0]
    np.testing.assert_allclose(result, loaded(tiny_checkpoint, scale="cosine").score_pairs(PAIRS)[0], atol=1e-5)
    with pytest.raises(ArtefactError, match=r"random; .*for sequence"):
        Encoder(tmp_path / "plain", device="cpu").outputs(PAIRS)
    weights = load_file(tmp_path / "plain/model.safetensors")
    retained = {name: value for name, value in weights.items() if "layer.1.output" not in name}
    save_file(retained, tmp_path / "plain/model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ArtefactError, match=r"layer\.1\.output.*random; .*sentence encoding"):
        loaded(tmp_path / "plain").score_pairs(PAIRS)


def test_what_it_cannot_be(tiny_checkpoint: Path) -> None:
    with pytest.raises(InputError, match="scale is 'stars'"):
        loaded(tiny_checkpoint, scale="stars")

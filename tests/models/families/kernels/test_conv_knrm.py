"""Conv-KNRM: n-grams and kernels by hand, texts in any company, and a checkpoint that a bundle reads."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from mpir.lab.train.tk_init import make_conv_knrm
from mpir.models.families.kernels.conv_knrm import ConvKNRMConfig, ConvKNRMModel
from mpir.models.families.kernels.tk import MUS
from mpir.types import F64
from tests.models.families.kernels.test_tk import PAIRS, WIDTH, WORDS, loaded
from tests.models.families.kernels.test_tk import vectors as vectors

GRAMS, FILTERS = 2, 5


@pytest.fixture(scope="session")
def checkpoint(vectors: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_conv_knrm(vectors, tmp_path_factory.mktemp("knrm") / "start", grams=GRAMS, filters=FILTERS)


def grams_by_hand(model: ConvKNRMModel, ids: list[int]) -> list[F64]:
    """For one and two words: relu(W·(words side by side) + b) of each word, scaled to length 1."""
    words = model.encoder.words.weight.numpy(force=True).astype(np.float64)[ids]
    words = np.concatenate([words, np.zeros((GRAMS, words.shape[1]))])  # a text is followed by zeros
    result = []
    for size, layer in enumerate(model.encoder.convolutions, 1):
        weight, bias = layer.weight.numpy(force=True), layer.bias.numpy(force=True)  # (F, W, size)
        rows = [np.maximum(sum(weight[:, :, n] @ words[i + n] for n in range(size)) + bias, 0) for i in range(len(ids))]
        result.append(np.array([row / np.linalg.norm(row) for row in rows]))
    return result


def test_the_kernels_of_each_pair_of_lengths_by_hand(checkpoint: Path) -> None:
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint).eval()
    with torch.no_grad():  # n-grams of which no product is 0, and weights of which none is
        for layer in model.encoder.convolutions:
            layer.weight.normal_(generator=torch.Generator().manual_seed(3))
            layer.bias.fill_(0.5)
        for number, kernels in enumerate(model.interaction.pairs):
            kernels.weight.copy_(torch.arange(len(MUS)) / 10 - 0.1 * number)
            kernels.scale.fill_(1.0 + number)
    query, document = [3, 4, 5], [6, 3, 4, 4]
    of_query, of_document = (grams_by_hand(model, ids) for ids in (query, document))
    expected = 0.0
    for a in range(GRAMS):
        for b in range(GRAMS):
            number = GRAMS * a + b
            for row in of_query[a] @ of_document[b].T:
                for k, mu in enumerate(MUS):
                    count = sum(np.exp(-((x - mu) ** 2) / (2 * (0.1 if k else 0.001) ** 2)) for x in row)
                    expected += (k / 10 - 0.1 * number) * np.log(max((1.0 + number) * count, 1e-10))
    with torch.no_grad():
        left, right = (
            model.encoder(torch.tensor([ids]), torch.ones(1, len(ids))).last_hidden_state[0]
            for ids in (query, document)
        )
        np.testing.assert_allclose(left, np.concatenate(of_query, axis=1), atol=1e-6)
        score = model.interaction(left, right, torch.tensor([len(document)])).sum()
    assert float(score) == pytest.approx(expected, rel=1e-4)


def test_equal_words_alone_are_in_the_first_kernel(checkpoint: Path) -> None:
    kernels = AutoModelForSequenceClassification.from_pretrained(checkpoint).interaction.pairs[0]
    with torch.no_grad():
        kernels.weight.zero_()[0] = 1.0
        texts = torch.nn.functional.normalize(torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.6, 0.8]]))
        result = kernels(texts[:1], texts, torch.tensor([1, 1, 1]))
    assert result[0, 0] == pytest.approx(0.0, abs=1e-6)  # ln 1
    assert (result[1:] < -10).all()


def test_company_changes_no_score_and_the_checkpoint_is_read_as_any_other(checkpoint: Path) -> None:
    model, tokenizer = (
        AutoModelForSequenceClassification.from_pretrained(checkpoint).eval(),
        AutoTokenizer.from_pretrained(checkpoint),
    )
    assert isinstance(model, ConvKNRMModel) and isinstance(model.config, ConvKNRMConfig)
    assert (model.config.hidden_size, model.config.word_size) == (GRAMS * FILTERS, WIDTH)
    values = loaded(checkpoint).score_pairs(PAIRS)[0]
    single = [loaded(checkpoint).score_pairs([pair])[0][0] for pair in PAIRS]
    np.testing.assert_allclose(values, single, rtol=1e-4)
    with torch.no_grad():
        states = [model.encoder(**tokenizer([text], return_tensors="pt")).last_hidden_state[0] for text in PAIRS[0]]
        expected = model.interaction(*states, torch.tensor([len(states[1])])).sum()
    assert values[0] == pytest.approx(float(expected), rel=1e-4)
    assert tokenizer.vocab_size == len(WORDS) + 2

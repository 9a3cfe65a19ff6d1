"""Pooling by hand, and the same vectors with and without padding, in a forward pass and in a backward one."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import tensor
from transformers import BertForSequenceClassification

from mpir.errors import InputError
from mpir.models.bert.bert import UnpaddedBert
from mpir.models.tokens.tokenise import TokenSequence
from mpir.models.vectors.embedding import POOLINGS, SIMILARITIES, Pooling, padded_vectors

STATES = tensor([[[3.0, -4.0], [1.0, 8.0], [9.0, 9.0]], [[-3.0, -4.0], [9.0, 9.0], [9.0, 9.0]]])
MASK = tensor([[True, True, False], [True, False, False]])


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("mean", [[2, 2], [-3, -4]]), ("cls", [[3, -4], [-3, -4]]), ("max", [[3, 8], [-3, -4]])],
)
def test_what_is_padding_does_not_count(kind: str, expected: list[list[float]]) -> None:
    dots, cosines = (Pooling(kind, similarity)(STATES, MASK) for similarity in ("dot", "cosine"))
    torch.testing.assert_close(dots, tensor(expected, dtype=torch.float32))
    torch.testing.assert_close(cosines, dots / dots.norm(dim=1, keepdim=True))


@pytest.mark.parametrize("kind", POOLINGS)
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_the_unpadded_pass_has_the_same_vectors_and_gradients(
    tiny_checkpoint: Path, kind: str, similarity: str
) -> None:
    model = BertForSequenceClassification.from_pretrained(tiny_checkpoint, dtype=torch.float32).eval()
    generator, pooling, result = np.random.default_rng(0), Pooling(kind, similarity), []
    lengths = (9, 3, 6, 3, 1, 2, 7, 4, 5, 8, 2, 2, 3, 4, 6, 7, 8)  # so many that empty sequences fill the batch up
    sequences = [TokenSequence(generator.integers(1, 20, n, dtype=np.int32), np.zeros(n, np.int32)) for n in lengths]
    mask = torch.arange(9) < tensor(lengths)[:, None]
    ids = torch.zeros(mask.shape, dtype=torch.long)
    ids[mask] = tensor(np.concatenate([sequence.ids for sequence in sequences])).long()
    for vectors in (
        UnpaddedBert(model, trains=True).vectors(sequences, pooling),
        padded_vectors(model, {"input_ids": ids, "attention_mask": mask.long()}, pooling),
    ):
        model.zero_grad()
        (vectors[0] @ vectors[1] + vectors[2] @ vectors[3]).backward()
        result.append((vectors.detach(), model.bert.encoder.layer[0].output.dense.weight.grad.clone()))
    torch.testing.assert_close(result[0], result[1], atol=1e-5, rtol=1e-4)


def test_no_such_pooling() -> None:
    with pytest.raises(InputError, match="pooling is 'median'"):
        Pooling("median")
    with pytest.raises(InputError, match="similarity is 'l2'"):
        Pooling("mean", "l2")

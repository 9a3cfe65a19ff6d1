"""Eight threads share a model: each gets the scores, vectors and token vectors of one thread alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.core.text.types import QueryDocument
from mpir.models.documents.document_encoder import DocumentEncoder
from mpir.models.encoder import Encoder
from mpir.models.perspectives.named_models import NamedModels, declare_named_models, load_named_models
from mpir.models.perspectives.registration import Loading
from tests.conftest import WORDS
from tests.models import model_makers as makers
from tests.threads import from_threads

CALLS = 32
KINDS = {
    "classifier": makers.classifier,
    "chain": makers.chain,
    "language-model": makers.chat_model,
    "multi-vector": makers.colbert,
    "bi-encoder": makers.embedding_model,
}


def texts(number: int) -> list[str]:
    """Texts of different lengths; those of every fourth call are longer than a model reads at once."""
    words = np.random.default_rng(number).choice(WORDS.split(), 90)
    return [" ".join(words[:length]) for length in (1, 5 + number % 7, 20, 90 if number % 4 == 0 else 30)]


def pairs(number: int) -> list[tuple[str, str]]:
    query, *others = texts(number)
    return [(f"{query} in blood", text) for text in others]


def documents(number: int) -> list[QueryDocument]:
    query, *others = texts(number)
    return [QueryDocument(query, tuple(others)), QueryDocument("risk of blood", tuple(others[:1]))]


def agrees(call: Callable[[int], Any]) -> None:
    """Compare the results of eight threads with those of one."""
    expected = [call(number) for number in range(CALLS)]
    for result, required in zip(from_threads(call, range(CALLS)), expected, strict=True):
        np.testing.assert_allclose(result, required, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_that_share_a_model_get_the_scores_of_one_thread(kind: str, tmp_path: Path) -> None:
    folder = str(KINDS[kind](tmp_path / "m"))
    choice = NamedModels(encoders=(folder,)) if kind == "bi-encoder" else NamedModels(names=(folder,))
    loading = Loading(folder=Path(), device="cpu", precision="fp32")
    (perspective,) = load_named_models(declare_named_models(choice), loading)
    agrees(lambda number: perspective.score_pairs(pairs(number))[0])


def test_threads_that_share_an_encoder_get_the_vectors_of_one_thread(tiny_checkpoint: Path) -> None:
    encoder = Encoder(tiny_checkpoint, device="cpu", precision="fp32")
    agrees(lambda number: encoder.outputs(pairs(number))[0])
    agrees(lambda number: encoder.vectors(texts(number))[0])


def test_threads_that_share_an_encoder_of_documents_get_the_outputs_of_one_thread(tiny_checkpoint: Path) -> None:
    encoder = DocumentEncoder(Encoder(tiny_checkpoint, device="cpu", precision="fp32"))
    agrees(lambda number: encoder.document_outputs(documents(number))[0])


def test_threads_that_load_one_checkpoint_get_equal_models(tmp_path: Path) -> None:
    folder = makers.embedding_model(tmp_path / "m")
    expected = Encoder(folder, device="cpu", precision="fp32").vectors(texts(1))[0]
    for result in from_threads(
        lambda _: Encoder(folder, device="cpu", precision="fp32").vectors(texts(1))[0], range(8)
    ):
        np.testing.assert_allclose(result, expected, atol=1e-5)

"""Documents read as a whole: equal to a plain reading by transformers, in any batch, order and number of windows."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from mpir.core.columns import Level
from mpir.core.text.types import QueryDocument
from mpir.errors import ArtefactError
from mpir.models.documents import document_encoder
from mpir.models.documents.document_encoder import DocumentEncoder
from mpir.models.documents.document_windows import sentence_windows
from mpir.models.encoder import Encoder
from mpir.models.loading.checkpoint import TransformersCheckpoint
from mpir.models.perspectives.cross_encoder import DocumentCrossEncoderPerspective
from mpir.models.perspectives.scoring import score_documents
from mpir.types import F32
from tests.conftest import make_checkpoint

QUERY = "does aspirin thin blood"
DOCUMENTS = [
    QueryDocument(QUERY, ("aspirin and blood", "yes aspirin does thin the blood .", "no heart attack in the trial .")),
    QueryDocument(QUERY, ("the heart",)),
    QueryDocument("risk of heart attack", ("placebo", "the gene is in the cell .", "patients of the trial", "no .")),
    QueryDocument("", ("aspirin .", "blood .")),
]
SENTENCE = "the gene is in the cell and the heart ."
LONG = QueryDocument(QUERY, tuple(f"{word} {SENTENCE}" for word in ("aspirin", "blood", "trial", "risk", "yes", "no")))


@pytest.fixture(scope="module")
def encoder(tiny_checkpoint: Path) -> DocumentEncoder:
    return DocumentEncoder(Encoder(tiny_checkpoint, device="cpu", precision="fp32"))


def read_plainly(checkpoint: Path, query: str, sentences: tuple[str, ...]) -> tuple[F32, F32]:
    """Outputs (N, K) of sentences and (K,) of their document, by transformers' own pass over one padded sequence."""
    source = TransformersCheckpoint(str(checkpoint), None)
    model, tokenizer = source.load()[0], source.tokenizer
    inputs = tokenizer([query], [" ".join(sentences)], return_tensors="pt")
    with torch.no_grad():
        states = model.bert(**inputs).last_hidden_state[0]
        end, means = len(query.split()) + 2, []
        for sentence in sentences:
            begin, end = end, end + len(tokenizer(sentence, add_special_tokens=False)["input_ids"])
            means.append(states[begin:end].mean(0))
        vectors = torch.stack([*means, states[0]])
        outputs = model.classifier(torch.tanh(model.bert.pooler.dense(vectors))).numpy()
    return outputs[:-1], outputs[-1]


def expected(checkpoint: Path, document: QueryDocument) -> F32:
    sentences, whole = read_plainly(checkpoint, document.query, document.sentences)
    return np.vstack([whole, sentences])


def test_equals_a_plain_reading(tiny_checkpoint: Path, encoder: DocumentEncoder) -> None:
    values, in_windows = encoder.document_outputs(DOCUMENTS)
    plain = np.concatenate([expected(tiny_checkpoint, document) for document in DOCUMENTS])
    assert values.shape == (14, 3)
    np.testing.assert_allclose(values, plain, atol=1e-5)
    assert not in_windows.any()


@pytest.mark.parametrize("tokens", [64, 130, 10_000])
@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_batches_passes_and_order_do_not_change_outputs(
    tiny_checkpoint: Path, encoder: DocumentEncoder, monkeypatch: pytest.MonkeyPatch, tokens: int, at_once: int
) -> None:
    documents = [*DOCUMENTS, LONG]
    whole, in_windows = encoder.document_outputs(documents)
    monkeypatch.setattr(document_encoder, "DOCUMENTS_PER_PASS", at_once)
    second = DocumentEncoder(Encoder(tiny_checkpoint, device="cpu", precision="fp32", tokens_per_batch=tokens))
    backwards, flags = second.document_outputs(documents[::-1])
    ends = np.cumsum([1 + len(document.sentences) for document in documents[::-1]])
    np.testing.assert_allclose(np.concatenate(np.split(backwards, ends)[-2::-1]), whole, atol=1e-5)
    assert flags[::-1].tolist() == in_windows.tolist()
    assert in_windows.tolist() == [False] * 4 + [True]


def test_a_pair_is_a_document_of_one_sentence(encoder: DocumentEncoder) -> None:
    pairs = [(QUERY, "yes aspirin does ."), (QUERY, "the heart"), ("risk", "")]
    outputs, _ = encoder.document_outputs([QueryDocument(query, (text,)) for query, text in pairs])
    for level, first in (("document", 0), ("sentence", 1)):
        perspective = DocumentCrossEncoderPerspective("p", encoder, output=1, scale="logit")
        perspective.level = level  # type: ignore[assignment]
        values, in_windows = perspective.score_pairs(pairs)
        np.testing.assert_array_equal(values, outputs[first::2, 1])
        assert in_windows.tolist() == [False] * 3


def test_a_sentence_in_two_windows_has_the_mean_and_a_document_its_best_window(
    tiny_checkpoint: Path, encoder: DocumentEncoder
) -> None:
    lengths = [len(sentence.split()) for sentence in LONG.sentences]
    room = 64 - 3 - len(QUERY.split())
    windows = sentence_windows(np.cumsum([0, *lengths]), room)
    spans = [(begin // lengths[0], end // lengths[0]) for begin, end in windows]
    assert spans == [(0, 5), (4, 6)]
    readings = [read_plainly(tiny_checkpoint, QUERY, LONG.sentences[begin:end]) for begin, end in spans]
    first, second = (sentences for sentences, _ in readings)
    sentences = np.concatenate([first[:4], (first[4:] + second[:1]) / 2, second[1:]])
    values, in_windows = encoder.document_outputs([LONG])
    np.testing.assert_allclose(values[1:], sentences, atol=1e-5)
    np.testing.assert_allclose(values[0], np.maximum(readings[0][1], readings[1][1]), atol=1e-5)
    assert in_windows.all()


def test_a_long_text_counts_with_its_best_piece(tiny_checkpoint: Path, encoder: DocumentEncoder) -> None:
    words = SENTENCE.split() * 16
    values, in_windows = encoder.document_outputs([QueryDocument(QUERY, (" ".join(words),))])
    pieces = sentence_windows(np.array([0, len(words)]), 64 - 3 - len(QUERY.split()))
    readings = [read_plainly(tiny_checkpoint, QUERY, (" ".join(words[begin:end]),)) for begin, end in pieces]
    assert len(readings) > 2
    np.testing.assert_allclose(values[1], np.max([sentences[0] for sentences, _ in readings], 0), atol=1e-5)
    np.testing.assert_allclose(values[0], np.max([whole for _, whole in readings], 0), atol=1e-5)
    assert in_windows.all()


def test_a_query_longer_than_half_the_window_is_read_in_passages(encoder: DocumentEncoder) -> None:
    query = " ".join([QUERY] * 12)  # 48 of 64 tokens
    documents = [QueryDocument(query, ("the heart",)), QueryDocument(query, LONG.sentences)]
    values, flags = encoder.document_outputs(documents)
    assert np.isfinite(values).all()
    assert flags.tolist() == [False, True]  # beside a short document there is room for it


@pytest.mark.parametrize(
    ("lengths", "room", "windows"),
    [
        ([5, 5, 5], 15, [(0, 15)]),
        ([5, 5, 5], 14, [(0, 10), (10, 15)]),  # the second would be more than a quarter of the room
        ([8, 2, 8], 10, [(0, 10), (8, 18)]),
        ([8, 2, 9], 10, [(0, 10), (10, 19)]),  # nothing is repeated where the next sentence would not fit
        ([25, 4], 10, [(0, 10), (5, 15), (10, 20), (15, 25), (25, 29)]),
        ([4, 25], 10, [(0, 4), (4, 14), (9, 19), (14, 24), (19, 29)]),
    ],
)
def test_windows_end_at_sentences_and_repeat_up_to_a_quarter(
    lengths: list[int], room: int, windows: list[tuple[int, int]]
) -> None:
    assert sentence_windows(np.cumsum([0, *lengths]), room) == windows


def test_sentences_without_tokens_are_read_as_unknown(tmp_path: Path, encoder: DocumentEncoder) -> None:
    values, _ = encoder.document_outputs([QueryDocument(QUERY, ("aspirin .", "", "blood ."))])
    unknown, _ = encoder.document_outputs([QueryDocument(QUERY, ("aspirin .", "zzz", "blood ."))])
    np.testing.assert_array_equal(values, unknown)


@pytest.mark.parametrize("level", ["sentence", "document"])
def test_a_perspective_may_read_a_difference_of_outputs(encoder: DocumentEncoder, level: Level) -> None:
    perspective = DocumentCrossEncoderPerspective("p", encoder, output=2, against=0, scale="logit")
    perspective.level = level
    scores = score_documents([perspective], DOCUMENTS)
    outputs, _ = encoder.document_outputs(DOCUMENTS)
    rows = scores.rows(level)
    np.testing.assert_allclose(scores.values[rows, 0], outputs[rows, 2] - outputs[rows, 0], atol=1e-5)
    assert np.isnan(np.delete(scores.values[:, 0], rows)).all()


def test_nothing_to_read(encoder: DocumentEncoder) -> None:
    values, in_windows = encoder.document_outputs([])
    assert values.shape == (0, 3)
    assert in_windows.shape == (0,)


@pytest.mark.slow
def test_two_processes_read_the_same(tiny_checkpoint: Path, encoder: DocumentEncoder) -> None:
    workers = DocumentEncoder(Encoder(tiny_checkpoint, device="cpu,cpu", precision="fp32", tokens_per_batch=64))
    try:
        values, _ = workers.document_outputs([*DOCUMENTS, LONG])
    finally:
        workers.close()
    np.testing.assert_allclose(values, encoder.document_outputs([*DOCUMENTS, LONG])[0], atol=1e-5)


def test_a_tokenizer_without_boundaries_is_refused(tmp_path: Path) -> None:
    folder = make_checkpoint(tmp_path / "joined", outputs=3, seed=0)
    rules = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    rules["post_processor"] = None  # pairs are joined without a separator
    (folder / "tokenizer.json").write_text(json.dumps(rules), encoding="utf-8")
    encoder = DocumentEncoder(Encoder(folder, device="cpu"))
    with pytest.raises(ArtefactError, match=r"joined: .*tokenizer joins"):
        encoder.document_outputs(DOCUMENTS)


def test_a_model_without_a_pooled_classifier_is_refused(tiny_checkpoint: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_checkpoint, tmp_path / "unusual"))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "hidden_act": "relu"}), encoding="utf-8")
    encoder = DocumentEncoder(Encoder(folder, device="cpu"))
    with pytest.raises(ArtefactError, match=r"type BertForSequenceClassification .*sentence"):
        encoder.document_outputs(DOCUMENTS)

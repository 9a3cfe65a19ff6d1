"""TK: kernels by hand, words mixed with their surroundings, from word vectors to a bundle's perspective."""

import json
import runpy
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from mpir import NamedModels
from mpir.errors import ArtefactError, InputError
from mpir.lab.train.tk_init import make_tk
from mpir.models.encoder import Encoder
from mpir.models.families.kernels.tk import MUS, Kernels, TKModel, positions
from mpir.models.late_interaction.late import FORMS
from mpir.models.perspectives import Loading, score_pairs
from mpir.models.perspectives.late_interaction import LatePerspective
from mpir.models.perspectives.registration import build
from mpir.reranking.reranker import Reranker
from tests.models.query_scores import query_scores

WORDS = ["does", "aspirin", "thin", "blood", "heart", "attack", "risk", "the", "of", "a", "gene", "cell", "il-2"]
PAIRS = [
    ("does aspirin thin blood", "Aspirin does thin the blood."),
    ("does aspirin thin blood", "the heart"),
    ("risk of heart attack", "?!"),
    ("Gene", "IL-2, the gene: a cell" * 3),
]
WIDTH = 20


@pytest.fixture(scope="session")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Word vectors in word2vec's text format."""
    pytest.importorskip("gensim", reason="needs the extra sia")
    path = tmp_path_factory.mktemp("vectors") / "words.txt"
    values = np.random.default_rng(0).normal(size=(len(WORDS), WIDTH)).round(4)
    rows = [" ".join([word, *map(str, row)]) for word, row in zip(WORDS, values.tolist(), strict=True)]
    path.write_text("\n".join([f"{len(WORDS)} {WIDTH}", *rows]) + "\n")
    return path


@pytest.fixture(scope="session")
def tk(vectors: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A TK model of those vectors, with random layers."""
    return make_tk(vectors, tmp_path_factory.mktemp("tk") / "start", feed_forward=12)


def loaded(checkpoint: Path, **options: object) -> LatePerspective:
    entry = {"checkpoint": checkpoint.name, **options}
    result = build({"kind": "tk", "name": "tk", **entry}, Loading(folder=checkpoint.parent, device="cpu"))
    assert isinstance(result, LatePerspective)
    return result


def test_kernels_by_hand() -> None:
    """Two words of a question against two documents: of two words, cosines 1, 0 and 0, 0.6; and of one, both -1."""
    kernels = Kernels(sigma=0.1)
    question = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    documents = torch.tensor([[1.0, 0.0], [0.0, 0.6], [-1.0, -1.0]])
    with torch.no_grad():
        kernels.scale.copy_(torch.linspace(0.5, 1.5, len(MUS)))
        kernels.weight.copy_(torch.arange(len(MUS)) / 10 - 0.3)
        result = kernels(question, documents, torch.tensor([2, 1]))
    cosines = [[[1.0, 0.0], [0.0, 0.6]], [[-1.0], [-1.0]]]
    expected = []
    for document in cosines:
        each = []
        for row in document:
            counts = [sum(np.exp(-((item - mu) ** 2) / 0.02) for item in row) for mu in MUS]
            logarithms = [np.log(max((0.5 + k / 10) * count, 1e-10)) for k, count in enumerate(counts)]
            each.append(sum((k / 10 - 0.3) * item for k, item in enumerate(logarithms)))
        expected.append(each)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4)  # what each token of the question finds


def test_places_are_told_apart_by_sines_and_cosines() -> None:
    result = positions(3, 4, like=torch.zeros(1))
    np.testing.assert_allclose(result[0], [0, 0, 1, 1])
    np.testing.assert_allclose(result[2], [np.sin(2), np.sin(2e-4), np.cos(2), np.cos(2e-4)], rtol=1e-5)
    assert positions(3, 5, like=torch.zeros(1)).shape == (3, 5)


def test_the_words_keep_their_vectors_and_are_mixed_with_what_is_around(tk: Path, vectors: Path) -> None:
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(tk).eval(), AutoTokenizer.from_pretrained(tk)
    assert isinstance(model, TKModel)
    ids = tokenizer("Aspirin thins the IL-2.")["input_ids"]
    assert tokenizer.convert_ids_to_tokens(ids) == ["aspirin", "[UNK]", "the", "il-2"]
    lines = {line.split()[0]: line.split()[1:] for line in vectors.read_text().splitlines()[1:]}
    with torch.no_grad():
        words = model.encoder.words(torch.tensor(ids))
        np.testing.assert_allclose(words[0], np.array(lines["aspirin"], float), rtol=1e-5)
        assert not words[1].any()
        mixed = model.encoder(torch.tensor([ids]), torch.ones(1, 4)).last_hidden_state[0]
        around = model.encoder.layers((words + positions(4, WIDTH, like=words))[None])[0]
    np.testing.assert_allclose(mixed, 0.5 * words + 0.5 * around, atol=1e-6)


def test_company_order_and_batches_change_no_score(tk: Path) -> None:
    item = loaded(tk)
    values = item.score_pairs(PAIRS)[0]
    single = [query_scores(loaded(tk), question, [text])[0] for question, text in PAIRS]
    np.testing.assert_allclose(values, single, rtol=1e-5)
    np.testing.assert_allclose(item.score_pairs(PAIRS[::-1])[0][::-1], values, rtol=1e-5)
    encoder = Encoder(tk, device="cpu", precision="fp32", max_length=32, tokens_per_batch=32)
    np.testing.assert_allclose(LatePerspective("tk", encoder, FORMS["words"]).score_pairs(PAIRS)[0], values, rtol=1e-5)
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(tk).eval(), AutoTokenizer.from_pretrained(tk)
    with torch.no_grad():
        states = [
            torch.nn.functional.normalize(model.encoder(**tokenizer([text], return_tensors="pt")).last_hidden_state[0])
            for text in PAIRS[0]
        ]
        expected = model.interaction(*states, torch.tensor([len(states[1])])).sum(dim=1)
    assert values[0] == pytest.approx(float(expected[0]), rel=1e-5)


def test_a_bundle_holds_it_and_long_texts_are_read_in_passages(tk: Path, tmp_path: Path) -> None:
    entries = [{"name": name, "kind": "tk", "checkpoint": str(tk), **level} for name, level in (
        ("words", {}), ("whole", {"level": "document"}))]  # fmt: skip
    (tmp_path / "tk.json").write_text(json.dumps({"format": 1, "perspectives": entries}))
    reranker = Reranker(tmp_path / "tk.json", device="cpu", precision="bf16")
    assert reranker.perspectives[0].identity["precision"] == "float32"  # its kernels are too narrow for less
    ranking = reranker.rerank(PAIRS[0][0], [text for _, text in PAIRS])
    assert set(ranking.documents[0].sentences[0].scores) == {"words"}
    assert score_pairs([loaded(tk)], [("gene", "the gene " * 150)]).in_passages.tolist() == [True]
    assert loaded(tk).explain("Does aspirin", "the aspirin, does")[0].startswith("Does: does ")


def test_its_folder_may_be_named_as_a_model(tk: Path) -> None:
    named = NamedModels(names=[tk], only=True)
    ranking = Reranker(models=named, device="cpu").rerank(PAIRS[0][0], [text for _, text in PAIRS[:2]])
    scores = [document.scores["start"] for document in sorted(ranking.documents, key=lambda document: document.id)]
    np.testing.assert_allclose(scores, loaded(tk).score_pairs(PAIRS[:2])[0], rtol=1e-5)
    with pytest.raises(InputError, match="orders documents"):
        Reranker(models=replace(named, level="sentence"))


def test_the_script_and_what_cannot_be(
    vectors: Path, tk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def script(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["tk_from_vectors.py", str(vectors), *arguments])
        try:
            runpy.run_path("data_scripts/tk_from_vectors.py", run_name="__main__")
        except SystemExit as ended:
            return int(ended.code or 0)
        return 0

    assert script("--output", str(tmp_path / "one"), "--set", "tk.feed_forward=12") == 0
    assert (tmp_path / "one/model.safetensors").read_bytes() == (tk / "model.safetensors").read_bytes()
    capsys.readouterr()
    assert script("--output", str(tmp_path / "two"), "--set", "tk.heads=3") == 2
    assert "20 wide, which 3 heads" in capsys.readouterr().err
    assert not (tmp_path / "two").exists()
    with pytest.raises(InputError, match="heads is 0"):
        make_tk(vectors, tmp_path / "two", heads=0)
    with pytest.raises(ArtefactError, match=r"none\.bin: .*`mpir data vectors`"):
        make_tk(tmp_path / "none.bin", tmp_path / "two")
    config = json.loads((tk / "config.json").read_text())
    (tmp_path / "one/config.json").write_text(json.dumps(config | {"hidden_size": 2 * WIDTH}))
    with pytest.raises(ArtefactError, match=r"one/config\.json: .*hidden_size .*40\b") as result:
        loaded(tmp_path / "one").score_pairs(PAIRS)
    assert "\n" not in str(result.value)

"""Late interaction: MaxSim by hand and by a peer, in any company; both published forms; what matched what."""

import json
import logging
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification, BertModel

from mpir.app.cli import main
from mpir.errors import ArtefactError, InputError
from mpir.models.encoder import Encoder
from mpir.models.late_interaction import interaction
from mpir.models.late_interaction.interaction import maxsim, scores
from mpir.models.late_interaction.late import FORMS, LateInteraction
from mpir.models.perspectives import Loading, ScoreCache, score_pairs
from mpir.models.perspectives import late_interaction as late
from mpir.models.perspectives.late_interaction import LatePerspective
from mpir.models.perspectives.registration import build
from mpir.reranking.reranker import Reranker
from tests.conftest import WORDS, make_checkpoint
from tests.models.query_scores import query_scores

PAIRS = [
    ("does aspirin thin blood", "yes aspirin does thin the blood ."),
    ("does aspirin thin blood", "the heart"),
    ("risk of heart attack", ""),
    ("is a gene in a cell", "is a gene in a cell"),
]
LONG = " ".join(WORDS.split() * 7)
WIDTH = 8


@pytest.fixture(scope="session")
def colbert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random checkpoint whose eight outputs project tokens, with a mask token and markers in its vocabulary."""
    folder = make_checkpoint(tmp_path_factory.mktemp("colbert"), outputs=WIDTH, seed=4)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    words = {"no": "[unused0]", "patients": "[unused1]", "placebo": "[MASK]"}  # words that no test asks for
    text = (folder / "tokenizer.json").read_text()
    for word, special in words.items():
        assert word in tokenizer.get_vocab()
        text = text.replace(f'"{word}"', f'"{special}"')
    (folder / "tokenizer.json").write_text(text)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"mask_token": "[MASK]", "additional_special_tokens": ["[unused0]", "[unused1]"]})
    tokenizer.save_pretrained(folder)
    weights = load_file(folder / "model.safetensors")
    weights["classifier.bias"] = torch.linspace(-0.5, 0.9, WIDTH)  # which `projected` is without
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def loaded(checkpoint: Path, **options: object) -> LatePerspective:
    loading = Loading(folder=checkpoint.parent, device="cpu", precision="fp32")
    entry = {"checkpoint": checkpoint.name, "width": WIDTH, **options}
    if options.get("form", "projected") != "projected":
        del entry["width"]
    result = build({"kind": "colbert", "name": "late", **entry}, loading)
    assert isinstance(result, LatePerspective)
    return result


def test_maxsim_by_hand() -> None:
    question = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    documents = torch.tensor([[0.5, -1.0], [-3.0, 0.25], [2.0, 2.0], [-1.0, -1.0]])
    lengths = torch.tensor([2, 1, 1])
    # the first document: 0.5 of its first token, 2 · 0.25 of its second
    assert maxsim(question, documents, lengths).tolist() == [[0.5, 0.5], [2.0, 4.0], [-1.0, -2.0]]
    assert scores(maxsim, [question], documents, lengths).tolist() == [[1.0, 6.0, -3.0]]


@pytest.mark.parametrize("products", [1, 40, 10**6])
def test_many_questions_at_once_score_as_each_alone(products: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interaction, "PRODUCTS", products)
    questions, documents, lengths = some_vectors()
    result = scores(maxsim, questions, torch.cat(documents), lengths)
    expected = [
        [(question @ document.T).max(dim=1).values.sum().item() for document in documents] for question in questions
    ]
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5)


def test_it_equals_the_maxsim_of_sentence_transformers() -> None:
    peer = pytest.importorskip("sentence_transformers.util", reason="needs sentence-transformers")
    questions, documents, lengths = some_vectors()
    result = scores(maxsim, questions, torch.cat(documents), lengths)
    np.testing.assert_allclose(result.numpy(), peer.maxsim(questions, documents).numpy(), rtol=1e-5)


def some_vectors() -> tuple[list[torch.Tensor], list[torch.Tensor], torch.Tensor]:
    """Three questions and four documents of random tokens, and the documents' lengths."""
    generator = torch.Generator().manual_seed(1)
    questions, documents = (
        [torch.randn(length, WIDTH, generator=generator) for length in lengths] for lengths in ((3, 1, 5), (7, 2, 1, 4))
    )
    return questions, documents, torch.tensor([len(document) for document in documents])


def reference(checkpoint: Path, question: str, text: str, form: LateInteraction) -> float:
    """The score by transformers alone, token by token, one text at a time."""
    model = BertForSequenceClassification.from_pretrained(checkpoint).eval()
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)

    def vectors(words: str, side: int) -> torch.Tensor:
        ids = tokenizer(words)["input_ids"]
        if form.markers:
            ids.insert(1, tokenizer.convert_tokens_to_ids(form.markers[side]))
        recorded = [1] * len(ids)
        if form.masked and side == 0:
            missing = form.query_length - len(ids)
            ids, recorded = ids + [tokenizer.mask_token_id] * missing, recorded + [0] * missing
        with torch.no_grad():
            states = model.bert(torch.tensor([ids]), torch.tensor([recorded])).last_hidden_state[0]
            bias = model.classifier.bias if form.bias else None
            result = states if form.width == 0 else torch.nn.functional.linear(states, model.classifier.weight, bias)
        if side == 1 and not form.punctuation:
            result = result[torch.tensor([item != tokenizer.convert_tokens_to_ids(".") for item in ids])]
        return torch.nn.functional.normalize(result, dim=1) if form.normalise else result

    return float((vectors(question, 0) @ vectors(text, 1).T).max(dim=1).values.sum())


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_what_transformers_alone_gives(colbert: Path, form: str) -> None:
    item = loaded(colbert, form=form)
    result, in_passages = item.score_pairs(PAIRS)
    np.testing.assert_allclose(result, [reference(colbert, *pair, item.late) for pair in PAIRS], rtol=1e-5, atol=2e-5)
    assert not in_passages.any()


@pytest.mark.parametrize("form", ["projected", "wide"])
@pytest.mark.parametrize("at_once", [1, 3])
def test_company_order_batches_and_what_is_at_hand_change_no_score(
    colbert: Path, monkeypatch: pytest.MonkeyPatch, at_once: int, form: str
) -> None:
    pairs = [*PAIRS, ("does aspirin thin blood", LONG), (LONG, "the heart")]
    expected, in_passages = loaded(colbert, form=form).score_pairs(pairs)
    monkeypatch.setattr(late, "PAIRS_PER_PASS", at_once)
    item = loaded(colbert, form=form)
    for _ in range(2):  # read by the model, then at hand
        values, same = item.score_pairs(pairs[::-1])
        np.testing.assert_allclose(values[::-1], expected, rtol=1e-5, atol=2e-5)
        assert same[::-1].tolist() == in_passages.tolist() == [False] * 4 + [True, True]
    assert query_scores(item, "q", []).shape == (0,)
    tight = LatePerspective("late", Encoder(colbert, device="cpu", precision="fp32", tokens_per_batch=64), item.late)
    np.testing.assert_allclose(tight.score_pairs(pairs)[0], expected, rtol=1e-5, atol=2e-5)


@pytest.mark.slow
def test_other_architectures_and_several_processes(colbert: Path, tmp_path: Path) -> None:
    """By transformers' own padded pass, and in worker processes."""
    config = BertConfig.from_pretrained(colbert, hidden_act="relu")
    torch.manual_seed(1)
    BertForSequenceClassification(config).save_pretrained(tmp_path / "relu")
    AutoTokenizer.from_pretrained(colbert).save_pretrained(tmp_path / "relu")
    item = loaded(tmp_path / "relu")
    result, expected = item.score_pairs(PAIRS)[0], [reference(tmp_path / "relu", *pair, item.late) for pair in PAIRS]
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=2e-5)
    two = LatePerspective("late", Encoder(tmp_path / "relu", device="cpu,cpu", precision="fp32"), item.late)
    try:
        np.testing.assert_allclose(two.score_pairs(PAIRS)[0], result, rtol=1e-5, atol=2e-5)
    finally:
        two.close()


def test_it_is_what_sentence_transformers_gives_for_the_same_weights(colbert: Path) -> None:
    peer = pytest.importorskip("sentence_transformers.multi_vector_encoder", reason="needs sentence-transformers 6")
    from sentence_transformers.sentence_transformer.modules import Dense, Transformer

    item, weights = loaded(colbert), load_file(colbert / "model.safetensors")
    expansion = {"strategy": "fixed", "attend": False, "length": 32}
    projection = Dense(
        32, WIDTH, bias=False, activation_function=torch.nn.Identity(), module_input_name="token_embeddings",
        init_weight=weights["classifier.weight"],
    )  # fmt: skip
    marks = peer.modules.MultiVectorMask(["."])
    model = peer.MultiVectorEncoder(
        modules=[Transformer(str(colbert), query_expansion=expansion), projection, marks],
        prompts={"query": "[unused0] ", "document": "[unused1] "},
        device="cpu",
    )
    queries = model.encode_query([question for question, _ in PAIRS], normalize_embeddings=True)
    texts = model.encode_document([text for _, text in PAIRS], normalize_embeddings=True)
    assert [len(query) for query in queries] == [32] * len(PAIRS)
    result = model.similarity_pairwise(queries, texts)
    np.testing.assert_allclose(item.score_pairs(PAIRS)[0], result.numpy(), atol=2e-5)


def test_a_question_beyond_the_length_is_counted_and_not_cut(colbert: Path, caplog: pytest.LogCaptureFixture) -> None:
    item, words = loaded(colbert, query_length=20, masked=False), LONG.split()
    with caplog.at_level(logging.WARNING):
        scores, in_passages = item.score_pairs([(LONG, "the heart"), ("the heart", "the heart")])
    assert "late: 1 queries are longer than 20 tokens" in caplog.text
    assert in_passages.tolist() == [True, False]
    first = query_scores(item, " ".join(words[:17]), ["the heart"])[0]  # with [CLS], the marker and [SEP]: 20 tokens
    assert scores[0] >= first - 1e-5
    questions = item.encoder.token_vectors([LONG], item.late, is_query=True)[0]
    assert max(map(len, questions)) <= 20
    assert sum(map(len, questions)) > len(words)  # they overlap, and all of it is there


def test_half_precision_keeps_vectors_in_half_the_space(colbert: Path) -> None:
    exact = loaded(colbert)
    half = LatePerspective("late", Encoder(colbert, device="cpu", precision="bf16"), exact.late)
    vectors = half.encoder.token_vectors(["the heart"], half.late, is_query=False)[0]
    assert vectors[0].dtype == torch.bfloat16
    np.testing.assert_allclose(half.score_pairs(PAIRS)[0], exact.score_pairs(PAIRS)[0], rtol=0.03)


def test_what_matched_what(colbert: Path) -> None:
    question, text = "does aspirin thin blood", "aspirin . thin the blood"
    item = loaded(colbert, form="states")
    result = item.matches(question, text)
    assert [match.query_token for match in result] == ["[CLS]", *question.split(), "[SEP]"]
    assert [question[slice(*match.asked_at)] for match in result[1:-1]] == question.split()
    assert "." not in {match.text_token for match in result}
    real = [match for match in result if match.found_at != (0, 0)]
    assert all(text[slice(*match.found_at)] == match.text_token for match in real)
    assert sum(match.similarity for match in result) == pytest.approx(query_scores(item, question, [text])[0], abs=1e-5)
    assert len(item.explain(question, text)) == 4
    masked = loaded(colbert).matches(question, text)
    assert len(masked) == 32
    assert masked[-1].query_token == "[MASK]"
    assert sum(match.similarity for match in masked) == pytest.approx(
        query_scores(loaded(colbert), question, [text])[0], abs=1e-5
    )


@pytest.mark.parametrize(
    ("question", "text", "asked", "read"),
    [
        ("blood", "the <b>blo\u00adod</b> cell", "blood", "the blood cell"),
        ("heart &amp; blood", "the blood cell", "heart & blood", "the blood cell"),
        ("thin blood", "aspi-\nrin does", "thin blood", "aspirin does"),
        ("a risk", "\ufb01rst &amp;amp; aspirin", "a risk", "first &amp; aspirin"),
    ],
)
def test_what_matched_what_in_texts_as_printed(colbert: Path, question: str, text: str, asked: str, read: str) -> None:
    item = loaded(colbert, form="states")
    result = item.matches(question, text)
    assert [match.query_token for match in result] == ["[CLS]", *asked.split(), "[SEP]"]
    assert all(asked[slice(*match.asked_at)] == match.query_token for match in result[1:-1])
    assert all(read[slice(*match.found_at)] == match.text_token for match in result if match.found_at != (0, 0))
    assert sum(match.similarity for match in result) == pytest.approx(query_scores(item, question, [text])[0], abs=1e-5)


def test_the_cache_a_bundle_and_both_levels(colbert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache, item = ScoreCache(tmp_path / "cache"), loaded(colbert)
    first = score_pairs([item], [*PAIRS, (LONG, "the heart")], cache=cache)
    retained = loaded(colbert)
    repeated = score_pairs([retained], [*PAIRS, (LONG, "the heart")], cache=cache)
    np.testing.assert_array_equal(first.values, repeated.values)
    assert first.in_passages.tolist() == repeated.in_passages.tolist()
    assert "backend" not in vars(retained.encoder)  # nothing was loaded
    assert item.fingerprint != loaded(colbert, form="wide").fingerprint
    entries = [
        {"name": name, "kind": "colbert", "checkpoint": str(colbert), "width": WIDTH, **level}
        for name, level in (("token", {}), ("whole", {"level": "document"}))
    ]
    bundle = tmp_path / "late.json"
    bundle.write_text(json.dumps({"format": 1, "perspectives": entries}))
    documents = tmp_path / "docs.jsonl"
    documents.write_text("".join(json.dumps({"id": text, "abstract": text}) + "\n" for _, text in PAIRS[:2]))
    question = PAIRS[0][0]
    assert main(["rerank", question, "--docs", str(documents), "--bundle", str(bundle), "--explain"]) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if " adds " in line]
    assert [line.split(":")[1] for line in said] == [" does", " does"]
    assert [line.split()[0] for line in said] == ["Token", "Whole"]
    ranking = Reranker(bundle, device="cpu").rerank("does aspirin thin blood", [text for _, text in PAIRS[:2]])
    assert set(ranking.documents[0].sentences[0].scores) == {"token"}
    assert "whole" in ranking.documents[0].scores


def test_it_is_pickled_and_copied(colbert: Path) -> None:
    item = loaded(colbert)
    expected = query_scores(item, "does aspirin", ["the heart", "thin blood"]).tolist()
    assert (
        query_scores(pickle.loads(pickle.dumps(item)), "does aspirin", ["the heart", "thin blood"]).tolist() == expected
    )


def test_what_it_cannot_be(colbert: Path, tiny_checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"3 outputs, .*8 dimensions"):
        loaded(tiny_checkpoint)
    with pytest.raises(InputError, match="form is 'narrow'"):
        loaded(colbert, form="narrow")
    with pytest.raises(InputError, match="'size' is no"):
        loaded(colbert, size=3)
    with pytest.raises(InputError, match="query_length is 3"):
        loaded(colbert, query_length=3)
    with pytest.raises(InputError, match="markers is 'Q'"):
        loaded(colbert, markers="Q")
    with pytest.raises(InputError, match=r"no token '\[Q\]'"):
        loaded(colbert, markers=["[Q]", "[D]"]).score_pairs(PAIRS)
    with pytest.raises(InputError, match=r"tiny\d*: .*no mask"):
        loaded(tiny_checkpoint, width=2, markers=None).score_pairs(PAIRS)
    plain = tmp_path / "plain"
    BertModel.from_pretrained(colbert, add_pooling_layer=False).save_pretrained(plain)
    AutoTokenizer.from_pretrained(colbert).save_pretrained(plain)
    states, same = loaded(plain, form="states"), loaded(colbert, form="states")  # a plain encoder will do
    np.testing.assert_allclose(states.score_pairs(PAIRS)[0], same.score_pairs(PAIRS)[0], rtol=1e-5)
    weights = load_file(colbert / "model.safetensors")
    damaged = tmp_path / "damaged"
    BertForSequenceClassification.from_pretrained(colbert).save_pretrained(damaged)
    AutoTokenizer.from_pretrained(colbert).save_pretrained(damaged)
    retained = {name: value for name, value in weights.items() if not name.startswith("classifier")}
    save_file(retained, damaged / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ArtefactError, match=r"'classifier\.bias'.*random; .*late interaction"):
        loaded(damaged).score_pairs(PAIRS)

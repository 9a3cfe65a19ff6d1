"""Language models that write: a tiny one, trained in the test."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from mpir.errors import ArtefactError, InputError
from mpir.files.read import read_json
from mpir.lab.sia.filters import Filters
from mpir.lab.sia.writer import Decoding, Training, Writer, _restore, _save, train_writer
from mpir.lab.sia.writer_steps import Writers, generate_items, read_sources
from mpir.lab.train.leakage import EvaluationQuestions
from tests import damage
from tests.damage import check_flips

from .conftest import Overlap, write_lines

PAIRS = [
    ("insulin lowers sugar in the blood", "what does insulin lower now"),
    ("glucagon raises sugar in the blood", "what does glucagon raise now"),
    ("leptin lowers hunger in the blood", "what does leptin lower now"),
]
DECODING = Decoding(temperature=0.1, most_tokens=12)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A random GPT-2 of one layer whose tokens are the words of the pairs."""
    return make_gpt2(tmp_path_factory.mktemp("gpt2"), " ".join(text for pair in PAIRS for text in pair))


def make_gpt2(folder: Path, text: str) -> str:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    words = ["<end>", "<unk>", "Question", "Related", "fact", ":", ".", *dict.fromkeys(text.split())]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>", unk_token="<unk>")
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    shape = {"n_positions": 64, "n_embd": 48, "n_layer": 1, "n_head": 2}
    config = GPT2Config(vocab_size=len(words), bos_token_id=0, eos_token_id=0, **shape)
    GPT2LMHeadModel(config).save_pretrained(folder)
    return str(folder)


def train(checkpoint: str, folder: Path, **changes: object) -> Path:
    settings = Training(
        checkpoint=checkpoint, **{"epochs": 40, "batch_size": 3, "learning_rate": 0.01, "max_length": 40, **changes}
    )  # type: ignore[arg-type]
    return train_writer("query", lambda: PAIRS, settings, folder, seed=1, device="cpu")


@pytest.fixture(scope="module")
def trained(checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(checkpoint, tmp_path_factory.mktemp("trained"))


def test_a_trained_writer_writes_what_it_learned(checkpoint: str, trained: Path) -> None:
    writer, untrained = Writer(trained, "query", device="cpu"), Writer(checkpoint, "query", device="cpu")
    assert [w.text for w in writer.write([source for source, _ in PAIRS], DECODING, 1)] == [text for _, text in PAIRS]
    assert (writer.loss(PAIRS) < untrained.loss(PAIRS)).all()


def test_the_loss_is_the_mean_over_target_tokens_alone(checkpoint: str) -> None:
    writer = Writer(checkpoint, "query", device="cpu")
    together, single = writer.loss([PAIRS[0], ("insulin", PAIRS[1][1])]), writer.loss(PAIRS[:1])
    assert torch.allclose(together[0], single[0], atol=1e-5)
    assert (
        abs(float(single[0].detach()) - torch.log(torch.tensor(float(len(writer.tokenizer))))) < 0.5
    )  # random: uniform


def test_sampling_is_the_same_for_a_seed(checkpoint: str) -> None:
    writer = Writer(checkpoint, "query", device="cpu")
    sources = [source for source, _ in PAIRS]
    decoding = Decoding(temperature=1.0, most_tokens=12)
    state = torch.get_rng_state()
    assert (
        writer.write(sources, decoding, 7) == writer.write(sources, decoding, 7) != writer.write(sources, decoding, 8)
    )
    assert torch.equal(state, torch.get_rng_state())


def test_an_interrupted_training_ends_as_if_it_had_not_been(
    checkpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete = train(checkpoint, tmp_path / "whole", epochs=6, save_every=2)
    from mpir.lab.sia import writer as module

    step, calls = module._step, []

    def stop_after_five(*arguments: object) -> None:
        calls.append(1)
        if len(calls) > 5:
            raise KeyboardInterrupt
        step(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(module, "_step", stop_after_five)
        with pytest.raises(KeyboardInterrupt):
            train(checkpoint, tmp_path / "cut", epochs=6, save_every=2)
    assert not (tmp_path / "cut/model").exists()
    resumed = train(checkpoint, tmp_path / "cut", epochs=6, save_every=2)
    losses = [Writer(folder, "query", device="cpu").loss(PAIRS) for folder in (complete, resumed)]
    assert torch.equal(*losses)


def test_training_in_half_precision_learns_the_same_and_keeps_whole_weights(checkpoint: str, tmp_path: Path) -> None:
    settings, result = Training(checkpoint=checkpoint, epochs=40, batch_size=3, learning_rate=0.01, max_length=40), {}
    for precision, autocast in [("bf16", "bf16"), ("fp32", "")]:
        folder = tmp_path / precision
        model = train_writer("query", lambda: PAIRS, settings, folder, seed=1, device="cpu", precision=precision)
        result[precision] = Writer(model, "query", device="cpu")
        assert read_json(model / "made_by.json")["autocast"] == autocast
    assert all(writer.model.dtype == torch.float32 and (writer.loss(PAIRS) < 0.5).all() for writer in result.values())
    weights = [next(writer.model.parameters()) for writer in result.values()]
    assert not torch.equal(*weights)


def test_a_writer_in_half_precision_has_logits_in_whole(trained: Path) -> None:
    half, complete = (Writer(trained, "query", device="cpu", precision=name) for name in ("bf16", "fp32"))
    assert half.model.dtype == torch.bfloat16
    tokens = torch.tensor([[1, 2, 3]])
    logits = half.model(tokens).logits
    assert logits.dtype == torch.float32 and not torch.equal(logits, logits.bfloat16().float())
    assert [w.text for w in half.write([source for source, _ in PAIRS], DECODING, 1)] == [text for _, text in PAIRS]
    assert torch.allclose(half.loss(PAIRS), complete.loss(PAIRS), atol=0.05)
    with pytest.raises(InputError, match="precision is 'bf17'"):
        Writer(trained, "query", precision="bf17")


def test_a_finished_writer_is_kept_and_says_what_made_it(checkpoint: str, trained: Path) -> None:
    before = (trained / "model.safetensors").stat().st_mtime_ns
    assert train(checkpoint, trained.parent) == trained
    assert (trained / "model.safetensors").stat().st_mtime_ns == before
    created = json.loads((trained / "made_by.json").read_text())
    assert (created["kind"], created["epochs"], created["seed"]) == ("query", 40, 1)


def test_a_checkpoint_that_cannot_be_loaded() -> None:
    with pytest.raises(ArtefactError, match=r"no-such: .*causal language"):
        Writer("no-such", "query")


def test_items_need_a_good_query_and_may_lack_the_partial_fact(checkpoint: str, trained: Path) -> None:
    writers = Writers(Writer(trained, "query", device="cpu"), Writer(checkpoint, "partial", device="cpu"))
    sources = [(str(n), source) for n, (source, _) in enumerate(PAIRS)]
    relevance = Overlap("relevance")  # the words that query and sentence share: one each
    items, counts = generate_items(sources, writers, relevance, DECODING, Filters(most_loss=2.0), seed=1)
    assert [(item.id, item.question, item.full) for item in items] == [
        (str(n), query, source) for n, (source, query) in enumerate(PAIRS)
    ]
    assert all(item.partial == () and item.origin == "generated-" for item in items)
    assert counts["sentences"] == 3
    assert sum(n for name, n in counts.items() if name.startswith("partial fact removed: ")) == 3
    for filters, fault in [
        (Filters(most_copied=0.0), "copying"),
        (Filters(least_relevance=1.1), "relevance of its sentence"),
    ]:
        none, counts = generate_items(sources, writers, relevance, DECODING, filters, seed=1)
        assert none == []
        assert counts[f"query removed: {fault}"] == 3


def test_sources_are_sentences_of_corpora_and_of_snippets(tmp_path: Path) -> None:
    corpus = write_lines(tmp_path / "c.jsonl", [{"id": "7", "title": "A title", "text": "One here. Two here."}])
    snippet = {"document": "http://x/1", "beginSection": "abstract", "endSection": "abstract", "text": "Three. Four."}
    questions = [{"id": i, "body": f"Question {i}?", "snippets": [snippet]} for i in ("train", "test")]
    (tmp_path / "q.json").write_text(json.dumps({"questions": questions}))
    result = read_sources([str(corpus), str(tmp_path / "q.json")], EvaluationQuestions([("test", "")]))
    assert list(result) == [
        ("7-title-0", "A title"),
        ("7-abstract-0", "One here."),
        ("7-abstract-10", "Two here."),
        ("train-0-0", "Three."),
        ("train-0-1", "Four."),
    ]


def test_every_changed_byte_of_a_state_is_refused_or_changes_nothing(tmp_path: Path) -> None:
    layer = torch.nn.Linear(3, 3)
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    _save(tmp_path / "state.pt", "identity", 5, {"model": layer})

    def read() -> Any:
        second = torch.nn.Linear(3, 3)
        step = _restore(tmp_path / "state.pt", "identity", {"model": second})
        return step, all(torch.equal(value, before[name]) for name, value in second.state_dict().items())

    assert read() == (5, True)
    assert check_flips([tmp_path / "state.pt"], read) > 90


def test_a_finished_model_that_has_changed_is_refused(checkpoint: str, tmp_path: Path) -> None:
    settings = Training(checkpoint=checkpoint, epochs=1, batch_size=2, max_length=32)
    model = train_writer("query", lambda: PAIRS, settings, tmp_path, seed=1, device="cpu")
    damage.write(model / "config.json", (model / "config.json").read_bytes().replace(b"0.02", b"0.03"))
    with pytest.raises(ArtefactError, match=r"model: .*\(config\.json has .*\S+model"):
        train_writer("query", lambda: PAIRS, settings, tmp_path, seed=1, device="cpu")


def test_a_damaged_state_is_one_sentence(tmp_path: Path) -> None:
    for content in (b"", b"damaged", b"\x80\x05."):
        (tmp_path / "state.pt").write_bytes(content)
        with pytest.raises(ArtefactError, match=r"state\.pt: is damaged"):
            _restore(tmp_path / "state.pt", "identity", {})
    for state in ([1], {"identity": "identity"}, {"identity": "identity", "model": {"weight": 5}}):
        torch.save(state, tmp_path / "state.pt")
        with pytest.raises(ArtefactError, match=r"state\.pt: is damaged"):
            _restore(tmp_path / "state.pt", "identity", {"model": torch.nn.Linear(1, 1)})

"""Rerankers that are language models score as sentence-transformers and transformers do, on tiny random models."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

from mpir import NamedModels, Reranker
from mpir.app.cli import main
from mpir.errors import ArtefactError, InputError
from mpir.models.families.language_model._model import LanguageModel
from mpir.models.perspectives.named_models import open_model
from tests.conftest import WORDS
from tests.faults.report import count

WORDS_OF_PROMPTS = [*WORDS.split(), "Query", "Document", "Instruct", "Relevant", ":", "yes", "0", "1", "b", "c", "d"]
TEMPLATE = (
    "{% for m in messages if m.role == 'system' %}Instruct : {{ m.content }} {% endfor %}"
    "Query : {{ messages | selectattr('role', 'eq', 'query') | map(attribute='content') | first }} "
    "Document : {{ messages | selectattr('role', 'eq', 'document') | map(attribute='content') | first }} "
    "Relevant : is yes no"
)
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2,
         "intermediate_size": 48, "head_dim": 16, "initializer_range": 0.3, "max_position_embeddings": 512}  # fmt: skip
DOCUMENTS = ["yes aspirin does thin the blood .", "the heart", "", "a trial in patients " * 5, "gene cell . " * 90]
PAIRS = [("does aspirin thin blood", text) for text in DOCUMENTS] * 8
MAX_LENGTH = 48


LOOP = "{% for i in range(9999) %}"


def save_tokenizer(folder: Path, *, template: str | None = TEMPLATE, pad: bool = True, t5: bool = False) -> list[str]:
    extra = ["▁true", "▁false"] if t5 else []
    words = list(dict.fromkeys(["[UNK]", "[PAD]", "</s>", *WORDS_OF_PROMPTS, *extra]))
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = {"unk_token": "[UNK]", "eos_token": "</s>", **({"pad_token": "[PAD]"} if pad else {})}
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=MAX_LENGTH, **special)
    fast.chat_template = template
    fast.save_pretrained(folder)
    return words


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Saves a tiny random model of an architecture."""

    def save(architecture: str, head: str = "ForCausalLM", **tokenizer: Any) -> Path:
        folder = tmp_path_factory.mktemp(architecture)
        words = save_tokenizer(folder, t5=architecture == "T5", **tokenizer)
        sizes: dict[str, Any] = {"vocab_size": len(words), **SIZES}
        if architecture == "T5":
            sizes = {"vocab_size": len(words), "d_model": 32, "d_kv": 16, "num_layers": 2, "num_heads": 2, "d_ff": 48,
                     "decoder_start_token_id": 1, "initializer_factor": 3.0}  # fmt: skip
        if head == "ForSequenceClassification":
            sizes["num_labels"] = 1
        torch.manual_seed(0)
        config = getattr(transformers, f"{architecture}Config")(**sizes, pad_token_id=1)
        getattr(transformers, f"{architecture}{head}")(config).save_pretrained(folder)
        return folder

    return save


def ids_of(folder: Path, prompt: str) -> list[int]:
    ids: list[int] = transformers.AutoTokenizer.from_pretrained(folder)(prompt, add_special_tokens=False)["input_ids"]
    return ids


@pytest.mark.parametrize("architecture", ["Qwen3", "Gemma"])
@pytest.mark.parametrize("tokens_per_batch", [MAX_LENGTH, 32 * MAX_LENGTH])
def test_logit_score_is_that_of_sentence_transformers(
    architecture: str, tokens_per_batch: int, make: Callable[..., Path], tmp_path: Path
) -> None:
    library = pytest.importorskip("sentence_transformers")
    model = library.CrossEncoder(str(make(architecture)), device="cpu")
    model.save_pretrained(str(tmp_path / "saved"))
    recognised = open_model(str(tmp_path / "saved"), "reranking")
    assert recognised.family.perspective_type == "language-model" and recognised.options["template"] == "chat"
    tokens = recognised.options["true_token"], recognised.options["false_token"]
    options = {"precision": "fp32", "device": "cpu", "max_length": MAX_LENGTH, "tokens_per_batch": tokens_per_batch}
    scores = LanguageModel(str(tmp_path / "saved"), tokens=tokens, **options).scores(PAIRS)
    expected = model.predict(PAIRS, activation_fn=torch.nn.Identity(), batch_size=tokens_per_batch // MAX_LENGTH)
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    assert len(set(scores.round(4).tolist())) == len(DOCUMENTS)


def test_the_end_of_the_template_is_never_cut(make: Callable[..., Path]) -> None:
    model = LanguageModel(str(make("Qwen3")), max_length=MAX_LENGTH, device="cpu")
    ids, cuts_query, cuts_document = model.prompts.read("does aspirin thin blood", "gene cell " * 200)
    assert len(ids) == MAX_LENGTH and cuts_document and not cuts_query
    assert ids[-5:] == ids_of(Path(model.checkpoint), "Relevant : is yes no")


def test_a_conversion_scores_by_its_layer_at_the_end_of_the_prompt(make: Callable[..., Path]) -> None:
    folder = make("Qwen3", "ForSequenceClassification")
    reference = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    model = LanguageModel(str(folder), precision="fp32", device="cpu", max_length=512)
    prompts = [torch.tensor([ids_of(folder, model.template.render(*pair))]) for pair in PAIRS[:5]]
    with torch.inference_mode():
        expected = [reference(input_ids=ids).logits[0, 0].item() for ids in prompts]
    np.testing.assert_allclose(model.scores(PAIRS[:5]), expected, atol=1e-5)


def test_monot5_is_the_contrast_of_true_and_false(make: Callable[..., Path]) -> None:
    folder = make("T5", "ForConditionalGeneration")
    recognised = open_model(str(folder), "reranking")
    assert recognised.options["template"] == "monot5"
    reference = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    words = tokenizer.convert_tokens_to_ids(["▁true", "▁false"])
    prompts = [f"Query: {query} Document: {text} Relevant:" for query, text in PAIRS[:5]]
    with torch.inference_mode():
        logits = [
            reference(input_ids=torch.tensor([tokenizer(p)["input_ids"]]), decoder_input_ids=torch.tensor([[1]])).logits
            for p in prompts
        ]
    expected = [torch.softmax(row[0, 0, words], 0)[0].item() for row in logits]
    model = LanguageModel(str(folder), template="monot5", precision="fp32", device="cpu", max_length=512)
    np.testing.assert_allclose(1 / (1 + np.exp(-model.scores(PAIRS[:5]))), expected, atol=1e-5)


def test_instruction_fills_its_slot(make: Callable[..., Path]) -> None:
    folder = str(make("Qwen3"))
    plain, told = (LanguageModel(folder, instruction=text, device="cpu") for text in (None, "trial patients"))
    assert told.template.render("q", "d").startswith("Instruct : trial patients Query : q")
    assert (plain.scores(PAIRS[:1]) != told.scores(PAIRS[:1])).all() and plain.identity != told.identity


def test_a_tokenizer_without_padding_token_scores_the_same(make: Callable[..., Path]) -> None:
    with_pad, without = (LanguageModel(str(make("Qwen3", pad=pad)), device="cpu", precision="fp32") for pad in (1, 0))
    np.testing.assert_allclose(without.scores(PAIRS[:5]), with_pad.scores(PAIRS[:5]), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("template", "message"),
    [
        (None, r"Qwen3\d*: .*no chat"),
        ("{{ messages[0].content }}", r"Qwen3\d*: .*leaves .*document"),
        ("{{ messages[1].content }}", r"Qwen3\d*: .*leaves .*query"),
        ("{{ raise_exception('no') }}", r"Qwen3\d*: .*rejects .*\(TemplateError: no"),
        ("{{ messages[0].content }} {{ messages[1].content | upper }}", r"Qwen3\d*: .*leaves .*document"),
        ("{{ messages[0].content }} {{ messages[1].content[:99] }}", r"Qwen3\d*: .*template changes"),
        (f"{LOOP * 4}{{{{ messages }}}}{'{% endfor %}' * 4}", "rejects .*much time"),
        ("{% set ns = namespace(x='ab') %}" + "{% set ns.x = ns.x ~ ns.x %}" * 40, r"rejects .*\(MemoryError|too much"),
        ("{{ 'a' * 9999999999 }}", r"rejects .*(MemoryError|too much)"),
        ("{{ 'a' * 9999999 }}", "rejects .*without end"),
    ],
)
def test_chat_templates_without_a_slot(template: str | None, message: str, make: Callable[..., Path]) -> None:
    count("chat templates without bound")
    with pytest.raises(ArtefactError, match=message):
        LanguageModel(str(make("Qwen3", template=template)), device="cpu")


@pytest.mark.parametrize("trim", ["", " | trim"])
def test_a_chat_template_is_rendered_as_transformers_does(trim: str, make: Callable[..., Path]) -> None:
    contents = f"{{{{ messages[-2].content{trim} }}}}\n<|{{{{ eos_token }}}}> {{{{ messages[-1].content{trim} }}}}{{}}"
    folder = make("Qwen3", template=contents)
    query, document = "a {query} ", "\n{document} <b>é</b>\n"
    messages = [{"role": "query", "content": query}, {"role": "document", "content": document}]
    expected = transformers.AutoTokenizer.from_pretrained(folder).apply_chat_template(messages, tokenize=False)
    assert LanguageModel(str(folder), device="cpu").template.render(query, document) == expected


def test_an_instruction_without_a_slot_is_refused(make: Callable[..., Path]) -> None:
    template = "{{ messages[-2].content }} {{ messages[-1].content }}"
    with pytest.raises(InputError, match=r"Qwen3\d*: .*no slot"):
        LanguageModel(str(make("Qwen3", template=template)), instruction="trial", device="cpu")


def test_missing_weights_are_named(make: Callable[..., Path]) -> None:
    from safetensors.torch import load_file, save_file

    folder = make("Qwen3")
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ArtefactError, match=r"weights model\.layers\.1\.mlp\.up_proj\.weight"):
        LanguageModel(str(folder), device="cpu").scores(PAIRS[:1])


@pytest.mark.parametrize("head", ["ForCausalLM", "ForSequenceClassification"])
def test_without_a_template_it_is_refused_and_with_one_it_ranks(
    head: str, make: Callable[..., Path], tiny_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(make("Qwen3", head))
    with pytest.raises(InputError, match=r"prompt .*model\.template .*chat, qwen3"):
        Reranker(tiny_bundle, models=folder)
    options = {"template": "chat", "max_length": 64}
    instruction = "trial patients"
    reranker = Reranker(
        tiny_bundle, device="cpu", models=NamedModels(names=(folder,), options=options, instruction=instruction)
    )
    ranking = reranker.rerank("does aspirin thin blood", DOCUMENTS[:2])
    assert 0 < (score := ranking[0].scores[Path(folder).name]) < 1
    (docs := tmp_path / "docs.jsonl").write_text(json.dumps({"id": "1", "text": ranking[0].text}))
    command = [
        "rerank",
        "does aspirin thin blood",
        "--docs",
        str(docs),
        "--bundle",
        str(tiny_bundle),
        "--format",
        "jsonl",
    ]
    command += ["--model", folder, "--set", "model.template=chat", "--set", "model.max_length=64"]
    for more, is_same in ((["--instruction", instruction], True), ([], False)):
        assert main([*command, "--device", "cpu", "--set", "cache.folder=none", *more]) == 0
        printed = json.loads(capsys.readouterr().out)["documents"][0]["scores"][Path(folder).name]
        assert (printed == pytest.approx(score, abs=1e-3)) is is_same

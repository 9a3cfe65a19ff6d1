"""Tiny random models in folders, in the layouts of transformers, sentence-transformers and PyLate."""

import json
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from mpir.models.embedding_model import PooledEncoder
from mpir.models.perspectives.bi_encoder import BiEncoderPerspective
from mpir.models.perspectives.registration import Loading, build
from tests.conftest import WORDS

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]", "[unused1]", "query:", "passage:"]
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
LIBRARY = "sentence_transformers.models."
TEMPLATE = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ m.content }} {% elif m.role == 'query' %}query: {{ m.content "
    "}} {% elif m.role == 'document' %}passage: {{ m.content }} {% endif %}{% endfor %}in blood is"
)

DOCUMENT_FIRST = (
    "{% for m in messages %}{% if m.role == 'document' %}passage: {{ m.content }} {% endif %}{% endfor %}"
    "{% for m in messages %}{% if m.role == 'query' %}query: {{ m.content }} {% endif %}{% endfor %}"
    "{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}{% endif %}{% endfor %}in blood is"
)


def tokenizer(**options: Any) -> Any:
    """A fast tokenizer of words."""
    vocabulary = {word: i for i, word in enumerate([*SPECIAL, *WORDS.split(), *"bcd0?"])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names: dict[str, Any] = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    names["model_input_names"] = ["input_ids", "token_type_ids", "attention_mask"]
    return transformers.PreTrainedTokenizerFast(tokenizer_object=words, **{"model_max_length": 64, **names, **options})


def make(folder: Path, model_name: str, *, fast: Any = None, scale: float = 0.3, seed: int = 0, **config: Any) -> Any:
    """Save a random model of a transformers class, such as BertModel, with a tokenizer; return the model."""
    family = model_name.removesuffix("Model").removesuffix("Encoder")
    for head in ("ForSequenceClassification", "ForCausalLM", "ForConditionalGeneration"):
        family = family.removesuffix(head)
    fast = tokenizer() if fast is None else fast
    sizes = {**SIZES, "vocab_size": len(fast), "max_position_embeddings": 64, "pad_token_id": 0, "num_labels": 1}
    sizes = {name: value for name, value in {**sizes, **config}.items() if value is not None}
    torch.manual_seed(seed)
    model = getattr(transformers, model_name)(getattr(transformers, f"{family}Config")(**sizes)).eval()
    with torch.no_grad():
        for parameter in (parameter for parameter in model.parameters() if parameter.dim() > 1):
            parameter.normal_(std=scale)
    model.config.pad_token_id = sizes.get("pad_token_id")
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return model


def put(path: Path, value: Any) -> None:
    """Write JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def read_object(path: Path) -> Any:
    """Read a JSON object, {} for a missing file."""
    return json.loads(path.read_text()) if path.is_file() else {}


def declare_modules(folder: Path, *modules: tuple[str, str]) -> None:
    """Write modules.json for (type, path) pairs."""
    entries = [{"idx": i, "name": str(i), "path": path, "type": name} for i, (name, path) in enumerate(modules)]
    put(folder / "modules.json", entries)


def dense(folder: Path, outputs: int, **config: Any) -> None:
    """Write a random Dense module."""
    put(folder / "config.json", {"in_features": 32, "out_features": outputs, "bias": False, **config})
    save_file({"linear.weight": torch.randn(outputs, 32)}, folder / "model.safetensors")


def classifier(folder: Path) -> Path:
    """A classifier over BERT."""
    make(folder, "BertForSequenceClassification")
    return folder


def embedding_model(folder: Path) -> Path:
    """A BERT with pooling by the mean and a Dense layer."""
    make(folder, "BertModel")
    declare_modules(
        folder, (f"{LIBRARY}Transformer", ""), (f"{LIBRARY}Pooling", "1_Pooling"), (f"{LIBRARY}Dense", "2_Dense")
    )
    put(folder / "1_Pooling/config.json", {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True})
    dense(folder / "2_Dense", 8)
    return folder


def chain(folder: Path) -> Path:
    """A CrossEncoder that is a chain of a BERT, pooling and a layer of one score."""
    embedding_model(folder)
    dense(folder / "2_Dense", 1, module_output_name="scores", activation_function="torch.nn.Identity")
    return folder


def colbert(folder: Path) -> Path:
    """A ColBERT in PyLate's layout."""
    make(folder, "BertModel")
    declare_modules(folder, (f"{LIBRARY}Transformer", ""), ("pylate.models.Dense.Dense", "1_Dense"))
    dense(folder / "1_Dense", 8, activation_function="torch.nn.Identity")
    prefixes = {"query_prefix": "[unused0]", "document_prefix": "[unused1]", "query_length": 16, "document_length": 40}
    put(folder / "config_sentence_transformers.json", {**prefixes, "model_type": "ColBERT"})
    return folder


def chat_model(folder: Path, **settings: Any) -> Path:
    """A language model with sentence-transformers' LogitScore module and a chat template."""
    fast = tokenizer(padding_side="left", chat_template=TEMPLATE, model_input_names=["input_ids", "attention_mask"])
    make(folder, "Qwen3ForCausalLM", fast=fast, num_key_value_heads=1, head_dim=16, num_labels=None)
    package = "sentence_transformers.cross_encoder.modules.logit_score"
    declare_modules(folder, (f"{LIBRARY}Transformer", ""), (f"{package}.LogitScore", "1_LogitScore"))
    put(folder / "1_LogitScore/config.json", {"true_token_id": 16, "false_token_id": 17})
    put(folder / "config_sentence_transformers.json", settings)
    return folder


def byte_model(folder: Path) -> Any:
    """A T5 that reads bytes; its tokenizer has no fast version."""
    sizes = {"d_model": 32, "d_kv": 16, "d_ff": 48, "num_layers": 2, "num_heads": 2, "vocab_size": 384}
    unused = dict.fromkeys(("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"))
    unused |= dict.fromkeys(("max_position_embeddings", "num_labels"))
    slow = transformers.ByT5Tokenizer(model_max_length=64)
    model = make(folder, "T5EncoderModel", fast=slow, **{**unused, **sizes})
    declare_modules(folder, (f"{LIBRARY}Transformer", ""), (f"{LIBRARY}Pooling", "1_Pooling"))
    put(folder / "1_Pooling/config.json", {"pooling_mode_mean_tokens": True})
    return model


def vectors_of_entry(folder: Path, **options: Any) -> PooledEncoder:
    """The encoder of a bundle's entry for a bi-encoder, with options that its files lack."""
    entry = {"kind": "bi-encoder", "name": "vectors", "checkpoint": str(folder), "scale": "cosine", **options}
    perspective = build(entry, Loading(folder=folder.parent, device="cpu", precision="fp32"))
    assert isinstance(perspective, BiEncoderPerspective)
    return perspective.texts


def add_exits(folder: Path, exits: object = [1], seed: int = 5) -> Path:
    """Give the tiny checkpoint of two layers heads of random weights after some of them."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    names = {str(number): name for number, name in enumerate(("relevance", "sts", "document"))}
    (folder / "config.json").write_text(json.dumps({**config, "exits": exits, "id2label": names}), encoding="utf-8")
    weights = load_file(folder / "model.safetensors")
    torch.manual_seed(seed)
    for layer in [1]:
        for part, last in (("dense", "bert.pooler.dense"), ("classifier", "classifier")):
            for kind in ("weight", "bias"):
                weights[f"exits.{layer}.{part}.{kind}"] = torch.randn_like(weights[f"{last}.{kind}"]) / 4
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder

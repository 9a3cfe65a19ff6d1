"""Recognise a model's family from its files, and the options with which a bundle declares such a model.

FAMILIES is the registry: a family is supported once it has an entry there and the entry's kind of perspective is
registered (models/perspectives/registration.py). Packages add families by the entry points of ``mpir.families``, which
come after mpir's own. A family is never guessed from a model's name; settings that are
missing in a model's files are listed in known_models.json by the beginning of its hub name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mpir.errors import ArtefactError, InputError, format_names, format_value
from mpir.models.embedding_settings import ACTIVATION_KEYS, read_embedding_settings
from mpir.models.label_names import label_names, relevant_label, says_irrelevant
from mpir.models.listwise_prompt import listwise_template_of
from mpir.models.model_files import ModelFiles, is_pruner
from mpir.models.multi_vector_settings import is_multi_vector
from mpir.models.prompt_template import CHAT, known_templates, template_of
from mpir.plugins import FAMILIES as GROUP
from mpir.plugins import load_plugin, plugins_of

log = logging.getLogger(__name__)

Task = Literal["reranking", "embedding"]
DEFAULT_LENGTH = 1024
"""The default limit of tokens in a pair, for models that can read more, because rows of 8,192 tokens take much time
and memory. Longer texts are read in passages, so nothing is cut. The option max_length raises the limit."""

JINA_LISTWISE = "JinaForRanking"
"""The architecture of jina-reranker-v3."""
DECODERS = (
    *("bloom", "cohere", "cohere2", "falcon", "gemma", "gemma2", "gemma3_text", "gpt2", "gpt_neo", "gpt_neox"),
    *("gptj", "granite", "llama", "mistral", "mixtral", "olmo", "olmo2", "opt", "phi", "phi3", "qwen2"),
    *("qwen2_moe", "qwen3", "qwen3_moe", "smollm3", "stablelm", "starcoder2"),
    *("arcee", "deepseek_v2", "deepseek_v3", "diffllama", "doge", "exaone4", "gemma3", "glm", "glm4", "gpt-sw3"),
    *("gpt_bigcode", "gpt_oss", "helium", "hunyuan_v1_dense", "hunyuan_v1_moe", "jamba", "jetmoe", "minicpm3"),
    *("minimax", "ministral", "ministral3", "mistral4", "mpt", "nemotron", "olmo3", "persimmon", "phimoe"),
    *("qwen3_5", "qwen3_5_text", "qwen3_next", "seed_oss", "zamba", "zamba2"),
)
"""Types of causal models. Classifiers over them were trained on a template, without which scores are near random."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFamily:
    """A family of models.

    Attributes:
        name: for messages and `mpir bundle show`.
        task: the purpose of its models: to score pairs, or to make vectors of texts.
        perspective_type: the ``kind`` of perspective that a bundle declares for them.
        matches: tells from its files whether a model belongs to the family.
        options: returns the keys of the bundle's entry besides ``checkpoint``, including the scale of the raw score.
    """

    name: str
    task: Task
    perspective_type: str
    matches: Callable[[ModelFiles], bool]
    options: Callable[[ModelFiles], dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecognisedModel:
    """A model with its family and the options that its files declare."""

    files: ModelFiles
    family: ModelFamily
    options: Mapping[str, Any]


def recognise(files: ModelFiles, task: Task) -> RecognisedModel:
    """Return the family of a model and what its files declare.

    Raises:
        ArtefactError: no family matches; the message names the files' declarations and the supported families.
        InputError: the model is for the other task; the message names the option for it.
    """
    family = next((family for family in (*FAMILIES, *_of_packages()) if family.matches(files)), None)
    if family is None:
        raise ArtefactError(
            f"{files.name}: is not a model that mpir knows (its files declare {describe(files)}); expected one of "
            f"{format_names([family.name for family in (*FAMILIES, *_of_packages())], 20)}."
        )
    if family.task != task:
        raise InputError(_wrong_task(files, family))
    return RecognisedModel(files=files, family=family, options=family.options(files))


def _of_packages() -> list[ModelFamily]:
    """Return the families of installed packages, by their names. Raises InputError if one cannot be imported."""
    return [load_plugin(GROUP, name) for name in sorted(plugins_of(GROUP))]


def describe(files: ModelFiles) -> str:
    """Return a short description of the files' declarations, for a message."""
    architecture = files.architecture or f"the model type {format_value(files.config.get('model_type'))}"
    modules = f" with the modules {format_names(files.module_types)}" if files.modules else ""
    return f"{architecture}{modules}"


def _wrong_task(files: ModelFiles, family: ModelFamily) -> str:
    if family.task == "embedding":
        return (
            f"{files.name}: is an embedding model ({describe(files)}), which makes vectors and does not rerank; use it "
            "as an encoder, for an index with vectors, or name a reranker as the model."
        )
    return (
        f"{files.name}: is a reranker ({describe(files)}), which scores pairs and makes no vectors; use it as the "
        "model of `mpir rerank`, or name an embedding model as the encoder."
    )


def is_listwise(files: ModelFiles) -> bool:
    """Whether a model orders a list of documents, by its architecture or its hub name."""
    return files.architecture == JINA_LISTWISE or listwise_template_of(files.name) is not None


def listwise_options(files: ModelFiles) -> dict[str, Any]:
    """Return the only option of a listwise reranker, its template."""
    return {"template": listwise_template_of(files.name) or "jina-reranker-v3"}


def is_language_model(files: ModelFiles) -> bool:
    """Whether a model answers with tokens at the end of a prompt, or has a score layer there."""
    if files.module_types not in ((), ("Transformer",), ("Transformer", "LogitScore")):
        return False
    is_decoder = files.config.get("model_type") in DECODERS
    converted = (is_decoder or files.reads_messages) and files.architecture.endswith("ForSequenceClassification")
    return converted or files.architecture.endswith(("ForCausalLM", "T5ForConditionalGeneration"))


def language_model_options(files: ModelFiles) -> dict[str, Any]:
    """Return the options of a language model: template, tokens and scale; some models need an explicit template.

    Models that sentence-transformers reads with the tokenizer's chat template do so here, with their default prompt as
    the instruction. Known templates are found by hub name, and monoT5's by its architecture.
    """
    if files.architecture.endswith("T5ForConditionalGeneration"):
        return {"template": "monot5", "scale": "probability", **length_option(files)}
    if files.architecture.endswith("ForSequenceClassification"):
        _check_labels(files)
    module = files.module("LogitScore")
    if module or files.reads_messages:
        tokens = {key: module.config.get(f"{key}_id") for key in ("true_token", "false_token")} if module else {}
        instruction = {"instruction": files.default_prompt} if files.default_prompt else {}
        return {"template": CHAT, **tokens, **instruction, "scale": declared_scale(files), **length_option(files)}
    template = template_of(files.name)
    if template is None:
        return length_option(files)
    has_contrast = known_templates()[template]["false_token"] is not None
    return {"template": template, "scale": "probability" if has_contrast else "logit", **length_option(files)}


def _check_labels(files: ModelFiles) -> None:
    """Raise ArtefactError for a language model with several labels, none of which an option could select."""
    if files.labels_count > 2:
        names = label_names(files.config)
        raise ArtefactError(
            f"{files.name}: has {files.labels_count} labels ({format_names(names)}; expected 1 or 2). Give another "
            "model."
        )


def is_classifier(files: ModelFiles) -> bool:
    """Whether a model is a sequence classifier over an encoder, without additional modules."""
    if is_language_model(files):
        return False
    has_layers = files.module_types not in ((), ("Transformer",))
    return not has_layers and files.architecture.endswith("ForSequenceClassification")


def is_module_chain(files: ModelFiles) -> bool:
    """Whether a model is a sentence-transformers chain of a transformer, pooling and a score layer."""
    last = next((module for module in reversed(files.modules) if module.type == "Dense"), None)
    scores = last is not None and last.config.get("module_output_name") == "scores"
    return files.module_types[:2] == ("Transformer", "Pooling") and scores


def is_bi_encoder(files: ModelFiles) -> bool:
    """Whether a model makes one vector per text: it declares pooling, or is a bare transformer."""
    if files.modules:
        return files.module_types[:2] == ("Transformer", "Pooling") and not is_module_chain(files)
    return files.architecture.endswith(("Model", "ForMaskedLM", "ForPreTraining"))


def classifier_options(files: ModelFiles) -> dict[str, Any]:
    """Return the options of a classifier: its output, the class to compare it with, scale and length.

    A single label is the score, unless its name means irrelevant; of two labels, their names or else their order say
    which is relevant. With more, the option ``output`` selects one.
    """
    count, names = files.labels_count, label_names(files.config)
    reading: dict[str, Any] = {"output": 0} if count == 1 and not any(map(says_irrelevant, names)) else {}
    if count == 2:
        output = relevant_output(files)
        reading = {"output": output, "against": 1 - output}
    return {**reading, "scale": declared_scale(files), **text_options(files), **length_option(files)}


def relevant_output(files: ModelFiles) -> int:
    """Return which of two labels is relevant: by their names, else the second; logs a warning if they say nothing."""
    names = label_names(files.config)
    output = relevant_label(names) if len(names) == 2 else 1
    if output is None:
        log.warning(
            "%s: its labels %s and %s do not say which means relevant; the second is taken (choose the option output=0 "
            "for the first)",
            files.name,
            *map(format_value, names),
        )
    return 1 if output is None else output


def chain_options(files: ModelFiles) -> dict[str, Any]:
    """Return the options of a chain of modules. Raises ArtefactError for a chain that ends in several scores."""
    outputs = next(module.config.get("out_features") for module in reversed(files.modules) if module.type == "Dense")
    if outputs != 1:
        raise ArtefactError(
            f"{files.name}: its last layer gives {format_value(outputs)} scores (expected 1). Give another model."
        )
    return {"output": 0, "scale": declared_scale(files), **text_options(files), **length_option(files)}


def text_options(files: ModelFiles) -> dict[str, Any]:
    """Return how a reranker reads texts, if declared: the prompt before the query, and whether in lower case."""
    prompt = {"query_prompt": files.default_prompt} if files.default_prompt else {}
    return prompt | ({"lowercase": True} if files.transformer.get("do_lower_case") is True else {})


def bi_encoder_options(files: ModelFiles) -> dict[str, Any]:
    """Return the only option of a bi-encoder, its scale; pooling and prompts are read from its files.

    The product of vectors that a last layer scales to length 1 is their cosine.
    """
    return {"scale": "logit" if read_embedding_settings(files, {}).pooling.similarity == "dot" else "cosine"}


def multi_vector_options(_: ModelFiles) -> dict[str, Any]:
    """Return the only option of a ColBERT, its scale, the sum of similarities; the rest is read from its files."""
    return {"scale": "logit"}


def declared_scale(files: ModelFiles) -> str:
    """Return the scale of a reranker's score, as sentence-transformers applies it: ``logit`` or ``probability``.

    A single label without a declared activation has a sigmoid, and two are compared by their softmax. An activation
    other than the identity or the sigmoid is refused.
    """
    inner = files.config.get("sentence_transformers")
    sources = (files.sentence_transformers, inner if isinstance(inner, dict) else {}, files.config)
    names = (source.get(key) for source in sources for key in ACTIVATION_KEYS)
    name = next((value for value in names if value), "torch.nn.Sigmoid")
    scale = {"Identity": "logit", "Sigmoid": "probability"}.get(str(name).rpartition(".")[2])
    if scale is None:
        raise ArtefactError(
            f"{files.name}: invalid activation_fn (got {format_value(name)}, expected Identity or Sigmoid). Give "
            "another model."
        )
    return scale if files.labels_count == 1 or files.modules[1:] else "probability"


def length_option(files: ModelFiles) -> dict[str, Any]:
    """Return ``max_length`` if a model reads more than DEFAULT_LENGTH tokens, or declares a smaller limit."""
    if files.max_seq_length:
        return {"max_length": min(files.max_seq_length, DEFAULT_LENGTH)}
    positions = files.config.get("max_position_embeddings")
    is_long = not isinstance(positions, int) or positions > DEFAULT_LENGTH
    return {"max_length": DEFAULT_LENGTH} if is_long else {}


def pruner_options(files: ModelFiles) -> dict[str, Any]:
    """Return the options of a reranker that prunes: its outputs of documents and sentences, scale and length."""
    declared = files.config.get("max_length")
    length = declared if isinstance(declared, int) and declared > 0 else 512
    return {"output": 0, "sentence_output": 1, "scale": "probability", "max_length": min(length, DEFAULT_LENGTH)}


FAMILIES: list[ModelFamily] = [
    ModelFamily(
        name="reranker that prunes (OpenProvence, Semantic Highlight)",
        task="reranking",
        perspective_type="document-cross-encoder",
        matches=lambda files: is_pruner(files.config),
        options=pruner_options,
    ),
    ModelFamily(
        name="listwise reranker (jina-reranker-v3, RankZephyr)",
        task="reranking",
        perspective_type="listwise",
        matches=is_listwise,
        options=listwise_options,
    ),
    ModelFamily(
        name="sequence classification",
        task="reranking",
        perspective_type="cross-encoder",
        matches=is_classifier,
        options=classifier_options,
    ),
    ModelFamily(
        name="sentence-transformers CrossEncoder with pooling and dense modules",
        task="reranking",
        perspective_type="cross-encoder",
        matches=is_module_chain,
        options=chain_options,
    ),
    ModelFamily(
        name="language model that answers yes or no",
        task="reranking",
        perspective_type="language-model",
        matches=is_language_model,
        options=language_model_options,
    ),
    ModelFamily(
        name="ColBERT (Stanford's, PyLate's, MultiVectorEncoder's)",
        task="reranking",
        perspective_type="multi-vector",
        matches=is_multi_vector,
        options=multi_vector_options,
    ),
    ModelFamily(
        name="bi-encoder",
        task="embedding",
        perspective_type="bi-encoder",
        matches=is_bi_encoder,
        options=bi_encoder_options,
    ),
]
"""The supported families, the more specific ones first, because the first match is used."""

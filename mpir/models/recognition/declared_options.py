"""What the files of a model declare about how it is read, for the families that share it."""

from __future__ import annotations

from typing import Any

from mpir.errors import ArtefactError, format_value
from mpir.models.checkpoint_files.model_files import ModelFiles
from mpir.models.vectors.embedding_settings import ACTIVATION_KEYS

DEFAULT_LENGTH = 1024
"""The default limit of tokens in a pair, for models that can read more, because rows of 8,192 tokens take much time
and memory. Longer texts are read in passages, so nothing is cut. The option max_length raises the limit."""
CLASSIFIER = "ForSequenceClassification"
"""The end of the names of architectures with a classifier."""
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


def is_converted_decoder(files: ModelFiles) -> bool:
    """Whether a model is a classifier over a causal model, which reads a template."""
    is_decoder = files.config.get("model_type") in DECODERS
    return (is_decoder or files.reads_messages) and files.architecture.endswith(CLASSIFIER)


def ends_in_scores(files: ModelFiles) -> bool:
    """Whether the last dense layer of a sentence-transformers chain gives scores."""
    last = next((module for module in reversed(files.modules) if module.type == "Dense"), None)
    return last is not None and last.config.get("module_output_name") == "scores"


def wraps_model(files: ModelFiles) -> bool:
    """Whether a configuration holds that of another model, around which the model's own layers are."""
    return isinstance(files.config.get("base_model_config"), dict)


def text_options(files: ModelFiles) -> dict[str, Any]:
    """Return how a reranker reads texts, if declared: the prompt before the query, and whether in lower case."""
    prompt = {"query_prompt": files.default_prompt} if files.default_prompt else {}
    return prompt | ({"lowercase": True} if files.transformer.get("do_lower_case") is True else {})


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

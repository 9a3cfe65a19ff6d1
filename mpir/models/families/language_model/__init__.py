"""Language models that read a prompt with a query and a document, and answer with a token or have a score layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mpir.errors import ArtefactError, InputError, format_names
from mpir.models.checkpoint_files.label_names import label_names
from mpir.models.checkpoint_files.model_files import ModelFiles
from mpir.models.families.language_model._template import CHAT, known_templates, template_of
from mpir.models.recognition.declared_options import CLASSIFIER, declared_scale, is_converted_decoder, length_option
from mpir.models.recognition.model_family import ModelFamily
from mpir.models.recognition.recognise import template_names

MONO_T5 = "T5ForConditionalGeneration"


def _matches(files: ModelFiles) -> bool:
    """Whether a model answers with tokens at the end of a prompt, or has a score layer there."""
    if files.module_types not in ((), ("Transformer",), ("Transformer", "LogitScore")):
        return False
    return is_converted_decoder(files) or files.architecture.endswith(("ForCausalLM", MONO_T5))


def _options(files: ModelFiles) -> dict[str, Any]:
    """Return the options of a language model: template, tokens and scale; some models need an explicit template.

    Models that sentence-transformers reads with the tokenizer's chat template do so here, with their default prompt as
    the instruction. Known templates are found by hub name, and monoT5's by its architecture.
    """
    if files.architecture.endswith(MONO_T5):
        return {"template": "monot5", "scale": "probability", **length_option(files)}
    if files.architecture.endswith(CLASSIFIER):
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


def _check_options(files: ModelFiles, options: Mapping[str, Any]) -> None:
    """Raise InputError for a model without a prompt."""
    if "template" not in options:
        names = dict.fromkeys((CHAT, *known_templates(), *template_names()))  # those of this family first
        raise InputError(
            f"{files.name}: this language model ({files.architecture}) has no LogitScore module, and its scores are "
            "near random without the prompt that it was trained with; name the prompt with model.template (one of "
            f"{format_names(names)})."
        )


def _load(name: str, options: Mapping[str, Any], loading: Any) -> Any:
    """Make the perspective of a bundle's entry."""
    from mpir.models.families.language_model._perspective import load_language_model

    return load_language_model(name, options, loading)


FAMILY = ModelFamily(
    name="language model that answers yes or no",
    task="reranking",
    perspective_type="language-model",
    matches=_matches,
    options=_options,
    takes_instruction=True,
    templates=lambda: (CHAT, *known_templates()),
    check_options=_check_options,
    load=_load,
)

"""Classifiers over an encoder: a query and a text are read together, and an output is the score."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from mpir.errors import InputError, format_value
from mpir.models.checkpoint_files.label_names import label_names, relevant_label, says_irrelevant
from mpir.models.checkpoint_files.model_files import ModelFiles
from mpir.models.recognition.declared_options import (
    CLASSIFIER,
    declared_scale,
    is_converted_decoder,
    length_option,
    text_options,
    wraps_model,
)
from mpir.models.recognition.model_family import ModelFamily

log = logging.getLogger(__name__)


def _matches(files: ModelFiles) -> bool:
    """Whether a model is a sequence classifier over an encoder, without additional modules."""
    if is_converted_decoder(files) or wraps_model(files):
        return False
    return files.module_types in ((), ("Transformer",)) and files.architecture.endswith(CLASSIFIER)


def _options(files: ModelFiles) -> dict[str, Any]:
    """Return the options of a classifier: its output, the class to compare it with, scale and length.

    A single label is the score, unless its name means irrelevant; of two labels, their names or else their order say
    which is relevant. With more, the option ``output`` selects one.
    """
    count, names = files.labels_count, label_names(files.config)
    reading: dict[str, Any] = {"output": 0} if count == 1 and not any(map(says_irrelevant, names)) else {}
    if count == 2:
        output = _relevant_output(files)
        reading = {"output": output, "against": 1 - output}
    return {**reading, "scale": declared_scale(files), **text_options(files), **length_option(files)}


def _relevant_output(files: ModelFiles) -> int:
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


def _check_options(files: ModelFiles, options: Mapping[str, Any]) -> None:
    """Raise InputError for a model with several outputs of which none is chosen."""
    if "output" not in options:
        labels, count = files.config.get("id2label"), files.labels_count
        raise InputError(
            f"{files.name}: the model has {count} outputs ({format_value(labels)}); choose the relevance output, such "
            f"as the option output={count - 1}."
        )


FAMILY = ModelFamily(
    name="sequence classification",
    task="reranking",
    perspective_type="cross-encoder",
    matches=_matches,
    options=_options,
    check_options=_check_options,
)

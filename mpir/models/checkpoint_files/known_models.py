"""Settings that a model's card states but its files lack, by the first characters of its hub name.

Each line of known_models.json has the page that states its settings. The longest prefix counts. What a model's files
declare themselves, even an empty prompt, counts more.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files as package_files
from typing import Any

from mpir.models.checkpoint_files.model_files import ModelFiles

log = logging.getLogger(__name__)

DECLARED_PROMPTS = {"query": ("query",), "document": ("document", "passage", "corpus")}
"""Names of a model's prompts for queries and for documents; as in sentence-transformers, the first one counts."""
FAMILY = re.compile(
    r"(?:^|[-_.])(e5|bge|gte|instructor|arctic-embed|nomic-embed|jina-embeddings?|mxbai-embed)(?:[-_.]|$)", re.I
)
"""The names of families whose models were trained with prompts."""


@cache
def _known_models() -> dict[str, dict[str, Any]]:
    file = package_files("mpir.models.checkpoint_files").joinpath("known_models.json")
    lines = json.loads(file.read_text(encoding="utf-8"))
    return {line["prefix"]: line["settings"] for line in sorted(lines, key=lambda line: -len(line["prefix"]))}


def known_settings(files: ModelFiles) -> dict[str, Any]:
    """Return the settings known for a model's hub name that its files do not declare; {} for other models."""
    known = next((settings for prefix, settings in _known_models().items() if files.name.startswith(prefix)), {})
    declared = _declared(files)
    return {name: value for name, value in known.items() if name not in declared}


def declared_prompts(files: ModelFiles) -> dict[str, str]:
    """Return the ``query_prompt`` and ``document_prompt`` that the files declare; an empty one is declared, too."""
    prompts: Mapping[str, Any] = files.sentence_transformers.get("prompts") or {}
    first = {
        side: next((prompts[name] or "" for name in names if name in prompts), None)
        for side, names in DECLARED_PROMPTS.items()
    }
    return {f"{side}_prompt": prompt for side, prompt in first.items() if prompt is not None}


def _declared(files: ModelFiles) -> set[str]:
    """The names of the settings that the files declare."""
    values = {
        "pooling": files.module("Pooling"),
        "similarity": files.sentence_transformers.get("similarity_fn_name"),
        "max_length": files.max_seq_length,
    }
    return {*declared_prompts(files), *(name for name, value in values.items() if value is not None)}


def warn_of_missing_prompts(files: ModelFiles) -> None:
    """Log a warning if a model's name looks like a family with prompts, but none is declared or known."""
    settings = {**known_settings(files), **declared_prompts(files)}
    family = FAMILY.search(files.name.rstrip("/").rpartition("/")[2])
    if family and not {"query_prompt", "document_prompt"} & {*settings}:
        log.warning(
            "%s: models named %s usually need prompts, but none is declared or known; choose query_prompt and "
            "document_prompt if its card names them",
            files.name,
            family.group(1),
        )

"""Register mpir's own kinds of perspectives by importing their modules."""

from __future__ import annotations

from importlib import import_module

MODULES = (
    "bi_encoder",
    "cross_encoder",
    "language_model",
    "late_interaction",
    "listwise",
    "llm",
    "multi_vector",
)
LAB = ("mpir.lab.annotate.negation_perspective",)
"""Modules of the lab that declare kinds."""


def register_perspectives() -> None:
    """Register the kinds. It runs when a bundle or model is loaded, so that importing mpir stays fast."""
    for module in (*(f"mpir.models.perspectives.{name}" for name in MODULES), *LAB):
        import_module(module)

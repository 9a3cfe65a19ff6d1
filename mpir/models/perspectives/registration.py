"""Register mpir's own kinds of perspectives by importing their modules."""

from __future__ import annotations

from importlib import import_module

MODULES = (
    "bi_encoder",
    "cross_encoder",
    "document_cross_encoder",
    "language_model",
    "late_interaction",
    "llm",
    "multi_vector",
)


def register_perspectives() -> None:
    """Register the kinds. It runs when a bundle or model is loaded, so that importing mpir stays fast."""
    for name in MODULES:
        import_module(f"mpir.models.perspectives.{name}")

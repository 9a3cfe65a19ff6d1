"""Register mpir's own kinds of perspectives by importing their modules."""

from __future__ import annotations

from importlib import import_module

MODULES = ("bi_encoder", "cross_encoder", "language_model", "late_interaction", "llm", "multi_vector", "negation")


def register_perspectives() -> None:
    """Register the kinds, when a bundle or model is loaded instead of with the package."""
    for name in MODULES:
        import_module(f"mpir.perspectives.{name}")

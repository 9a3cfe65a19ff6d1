"""The kinds of perspective that come with mpir: importing their modules registers them."""

from __future__ import annotations

from importlib import import_module

MODULES = ("bi_encoder", "cross_encoder", "language_model", "late_interaction", "llm", "multi_vector", "negation")


def register_perspectives() -> None:
    """Register the kinds. They are imported when a bundle or model is loaded, not with the package."""
    for name in MODULES:
        import_module(f"mpir.perspectives.{name}")

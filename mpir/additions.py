"""What packages need that add commands, dialects or families of models to mpir (docs/guides/perspectives.md)."""

from typing import TYPE_CHECKING

from mpir.lazy_names import lazy_names

if TYPE_CHECKING:
    from mpir.app.cli.option import flag, option, positional, setting
    from mpir.app.serve.dialects.base import Dialect
    from mpir.app.serve.requests import RerankBody
    from mpir.models.recognition.model_family import ModelFamily

__all__ = ["Dialect", "ModelFamily", "RerankBody", "flag", "option", "positional", "setting"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Dialect": "mpir.app.serve.dialects.base",
        "ModelFamily": "mpir.models.recognition.model_family",
        "RerankBody": "mpir.app.serve.requests",
        "flag": "mpir.app.cli.option",
        "option": "mpir.app.cli.option",
        "positional": "mpir.app.cli.option",
        "setting": "mpir.app.cli.option",
    },
)

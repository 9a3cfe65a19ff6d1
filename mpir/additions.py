"""What packages need that add commands, dialects or families of models to mpir (docs/guides/perspectives.md)."""

from typing import TYPE_CHECKING

from mpir.lazy_names import lazy_names

if TYPE_CHECKING:
    from mpir.app.cli.option import Option, option
    from mpir.app.serve.dialects.base import Dialect
    from mpir.app.serve.requests import RerankBody
    from mpir.models.model_family import ModelFamily

__all__ = ["Dialect", "ModelFamily", "Option", "RerankBody", "option"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Dialect": "mpir.app.serve.dialects.base",
        "ModelFamily": "mpir.models.model_family",
        "Option": "mpir.app.cli.option",
        "RerankBody": "mpir.app.serve.requests",
        "option": "mpir.app.cli.option",
    },
)

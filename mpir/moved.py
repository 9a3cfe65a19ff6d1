"""Modules that 0.2 renamed, under the names of 0.1: they import as before, with a DeprecationWarning, until 0.3."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MOVED: dict[str, tuple[str, ...]] = {
    "annotate.partial": ("annotate.fuzzy_match",),
    "corpora.copies": ("corpora.deduplicate",),
    "corpora.elements": ("corpora.xml",),
    "corpora.names": ("corpora.identifiers",),
    "corpora.nothing": ("corpora.placeholders",),
    "corpora.papers": ("corpora.jats",),
    "corpora.texts": ("corpora.queries", "corpora.text_store"),
    "perspectives.late": ("perspectives.late_interaction",),
    "perspectives.scales": ("perspectives.normalization",),
    "rank.kept": ("rank.api",),
    "rank.choose": ("rank.weight_selection",),
    "train.data": ("train.mixture",),
    "train.loop": ("train.trainer",),
    "train.apart": ("train.two_tower",),
    "tune.adoption": ("tune.cross_validation",),
    "tune.alternating": ("tune.search",),
    "tune.effects": ("tune.partial_dependence",),
    "tune.relevance": ("tune.fit_calibration",),
}
"""A module's name in 0.1, and the modules of 0.2 that hold what was in it."""


class MovedModules(MetaPathFinder, Loader):
    """Finds a module by its former name, after Python has looked for one of that name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the specification of a renamed module, None for any other."""
        package, _, name = fullname.partition(".")
        return ModuleSpec(fullname, self) if package == "mpir" and name in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Make an empty module."""
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Let the module take each name from the modules that have it now, and warn once."""
        names = [f"mpir.{name}" for name in MOVED[module.__name__.partition(".")[2]]]
        message = f"{module.__name__} is {' and '.join(names)} since mpir 0.2; import from there."
        warnings.warn(message, DeprecationWarning, stacklevel=2)  # the import system's own frames do not count

        def look_up(name: str) -> Any:
            """Return an attribute of the modules that replaced this one."""
            for home in map(import_module, names):
                if hasattr(home, name):
                    return getattr(home, name)
            raise AttributeError(f"neither {' nor '.join(names)} has an attribute {name!r}")

        module.__dict__["__getattr__"] = look_up


def install() -> None:
    """Let Python find the renamed modules. Done once, however often it is called."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.append(MovedModules())

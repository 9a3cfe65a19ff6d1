"""The structure of the package: a room imports only from rooms above it, and no modules import in a circle."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import mpir

ROOT = Path(mpir.__file__).parent
ROOMS = (
    "text",
    "io",
    "corpora",
    "annotate",
    "models",
    "retrieve",
    "perspectives",
    "rank",
    "evaluate",
    "tune",
    "train",
    "plots",
    "tasks",
    "sia",
    "integrations",
    "explain",
    "serve",
    "cli",
)
"""From the ground up. What stands beside the rooms (errors.py, extras.py, values.py, version.py) imports from none."""
MODULES = {".".join(("mpir", *path.relative_to(ROOT).with_suffix("").parts)): path for path in ROOT.rglob("*.py")}


def imports(module: str) -> set[str]:
    """The modules of mpir that a module imports, wherever in its code, but not those that it names for types only."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in skipped:
            submodules = {f"{node.module}.{name.name}" for name in node.names} & set(MODULES)
            found |= submodules or {node.module}
        elif isinstance(node, ast.Import) and id(node) not in skipped:
            found |= {name.name for name in node.names}
    return {name for name in found if name == "mpir" or name.startswith("mpir.")}


def room(module: str) -> str | None:
    parts = module.split(".")
    beside = ("errors", "extras", "values", "version", "__init__", "__main__")
    return parts[1] if len(parts) > 1 and parts[1] not in beside else None


def test_every_room_has_its_place() -> None:
    assert {room(name) for name in MODULES} - {None} <= set(ROOMS)


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_room_imports_only_from_rooms_above_it(module: str) -> None:
    own = room(module)
    if own is None:
        return  # the public names and the command, which may reach every room
    for name in imports(module):
        other = room(name)
        assert other is None or ROOMS.index(other) <= ROOMS.index(own), f"{module} imports {name}"
        assert name != "mpir", f"{module} imports the package itself, which is above all rooms"


def test_no_modules_import_in_a_circle() -> None:
    # a package's own __init__ gathers names for callers outside; its modules are looked at one by one
    graph = {
        name: {f"{one}.__init__" if f"{one}.__init__" in MODULES else one for one in imports(name)} - {name}
        for name in MODULES
        if not name.endswith("__init__")
    }
    assert list(TopologicalSorter(graph).static_order())

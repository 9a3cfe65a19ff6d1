"""The structure of the package: subpackages import downwards only, and no modules in a circle, not even for types."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import mpir
from mpir.app.cli.command_table import COMMANDS

ROOT = Path(mpir.__file__).parent
SUBPACKAGES = (
    "core",
    "files",
    "search",
    "models",
    "reranking",
    "evaluate",
    "bioasq",
    "tune",
    "integrations",
    "lab",
    "app",
)
"""From the lowest up. The modules of the root (errors, extras, validation, version) import from none of them."""
MODULES = {".".join(("mpir", *path.relative_to(ROOT).with_suffix("").parts)): path for path in ROOT.rglob("*.py")}


@cache
def nodes(module: str) -> list[ast.AST]:
    """All nodes of a module's syntax tree."""
    return list(ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))))


@cache
def imports(module: str) -> set[str]:
    """The modules of mpir that a module imports, wherever in its code, those that it names for types only included."""
    imported: set[str] = set()
    for node in nodes(module):
        if isinstance(node, ast.ImportFrom) and node.module:
            submodules = {f"{node.module}.{name.name}" for name in node.names} & set(MODULES)
            imported |= submodules or {node.module}
        elif isinstance(node, ast.Import):
            imported |= {name.name for name in node.names}
    return {name for name in imported if name == "mpir" or name.startswith("mpir.")}


def subpackage(module: str) -> str | None:
    parts = module.split(".")
    root_modules = {path.stem for path in ROOT.glob("*.py")}
    return parts[1] if len(parts) > 1 and parts[1] not in root_modules else None


def test_no_module_imports_that_of_a_command() -> None:
    """Commands have what they share in modules beside them, so that each can be taken away, and loads alone."""
    commands = {f"mpir.app.cli.{command.module or command.name}" for command in COMMANDS if not command.is_group}
    assert {module: names for module in MODULES if (names := imports(module) & commands)} == {}


def test_the_command_line_alone_names_its_options() -> None:
    """Messages of other modules also reach people who call functions or send requests.

    They may name an option beside the argument that does the same: "--trust-code, trust_code=True".
    """
    flag = re.compile(r"(?<![\w-])--(?!enable-native-access)[a-z][a-z-]*(?!-?[a-z]|, \w+=)")
    for module in MODULES:
        if not module.startswith("mpir.app.cli"):
            texts = [node.value for node in nodes(module) if isinstance(node, ast.Constant)]
            named = [text for text in texts if isinstance(text, str) and flag.search(text)]
            named = [text for text in named if "<!--" not in text]
            assert not named, f"{module}: {named}"


def test_every_subpackage_is_listed() -> None:
    assert {subpackage(name) for name in MODULES} - {None} <= set(SUBPACKAGES)


def test_imports_go_downwards() -> None:
    for module in MODULES:
        importer = subpackage(module)
        if importer is None:
            continue  # the public names and the command, which may import from anywhere
        for name in imports(module):
            imported_from = subpackage(name)
            assert imported_from is None or SUBPACKAGES.index(imported_from) <= SUBPACKAGES.index(importer), (
                f"{module} imports {name}"
            )
            assert name != "mpir", f"{module} imports the package itself, which is above all subpackages"


def test_every_room_says_what_belongs_there() -> None:
    for name in SUBPACKAGES:
        docstring = ast.get_docstring(ast.parse((ROOT / name / "__init__.py").read_text(encoding="utf-8")))
        assert docstring and docstring.endswith("."), f"mpir/{name}/__init__.py has no sentence"
    assert len(SUBPACKAGES) <= 11  # ten, and the lab


def test_every_folder_of_modules_is_a_package() -> None:
    """A folder without ``__init__.py`` would be missing from the wheel."""
    folders = {path.parent for path in ROOT.rglob("*.py")}
    assert [folder for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_of_the_product_only_the_commands_know_the_lab() -> None:
    importers = {name for name in MODULES for imported in imports(name) if imported.startswith("mpir.lab")}
    assert [name for name in sorted(importers) if not name.startswith(("mpir.lab", "mpir.app.cli"))] == []


def test_no_modules_import_in_a_circle() -> None:
    # a package's own __init__ gathers names for callers outside; its modules are looked at one by one
    graph = {
        name: {f"{target}.__init__" if f"{target}.__init__" in MODULES else target for target in imports(name)} - {name}
        for name in MODULES
        if not name.endswith("__init__")
    }
    assert list(TopologicalSorter(graph).static_order())


ROOMS_OF_MODELS = (
    "options",
    "checkpoint_files",
    "tokens",
    "vectors",
    "bert",
    "recognition",
    "loading",
    "devices",
    "encoder",
    "late_interaction",
    "documents",
    "embedding_model",
    "chat",
    "perspectives",
    "bundles",
    "families",
)
"""The folders and modules of mpir/models, from the lowest up."""
LISTED, GATHERED = "mpir.models.families.__init__", "mpir.models.perspectives.__init__"
"""The folder whose modules recognition lists, and the public names, of which some are bundles'."""


def test_rooms_of_models_import_downwards() -> None:
    modules = {name: name.split(".")[2] for name in MODULES if name.startswith("mpir.models.")}
    modules.pop("mpir.models.__init__")
    assert {*modules.values()} == {*ROOMS_OF_MODELS}
    rank = {room: number for number, room in enumerate(ROOMS_OF_MODELS)}
    for module in {*modules} - {GATHERED}:
        targets = {name if name in modules else f"{name}.__init__" for name in imports(module)} & {*modules} - {LISTED}
        higher = [name for name in targets if rank[modules[name]] > rank[modules[module]]]
        assert not higher, f"{module} imports {higher}"


FAMILIES = "mpir.models.families."
TRAINED = {"mpir.lab.train.tk_init": "kernels"}
"""The module that makes models of a family, and the family."""


def family_modules() -> list[str]:
    return [name for name in MODULES if name.startswith(FAMILIES) and name != f"{FAMILIES}__init__"]


def test_no_family_imports_another() -> None:
    for module in family_modules():
        family = module.removeprefix(FAMILIES).partition(".")[0]
        imported = {name.removeprefix(FAMILIES).partition(".")[0] for name in imports(module) if FAMILIES in name}
        assert imported <= {family}, f"{module} imports {imported}"


def test_nothing_imports_a_family_but_what_trains_it() -> None:
    """Any of their folders can go."""
    for module in set(MODULES) - {*family_modules()}:
        imported = {name.removeprefix(FAMILIES).partition(".")[0] for name in imports(module) if FAMILIES in name}
        assert imported <= {TRAINED.get(module)}, f"{module} imports {imported}"


ENTRY_POINTS = (
    "mpir.__init__",
    "mpir.__main__",
    "mpir.additions",
    "mpir.app.cli",
    "mpir.app.serve",
    "mpir.integrations",
)
REGISTRIES = ("mpir.models.perspectives.registration",)
"""Modules that list modules of their own package."""


def names_modules(module: str) -> set[str]:
    """The modules that a module imports, or names in a string, as registries and lazy imports do."""
    strings = {node.value for node in nodes(module) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    if module == "mpir.models.recognition.recognise":
        strings |= set(family_modules())
    if module in REGISTRIES:
        strings |= {f"{module.rpartition('.')[0]}.{name}" for name in strings}
    return imports(module) | strings


def test_every_module_is_reachable_from_an_entry_point() -> None:
    """A module that neither the commands, the server, the root nor an integration uses belongs to experiments/."""
    entries = [name for name in MODULES if name.startswith(tuple(f"{entry}." for entry in ENTRY_POINTS))]
    waiting, reached = [*entries, *ENTRY_POINTS], set[str]()
    while waiting:
        module = waiting.pop()
        module = f"{module}.__init__" if f"{module}.__init__" in MODULES else module
        if module in MODULES and module not in reached:
            reached.add(module)
            waiting += [*names_modules(module), module.removesuffix(".__init__").rpartition(".")[0]]
    assert set(MODULES) - reached == set()


VAGUE = re.compile(
    "found|ones?|parts?|places?|kept|given|what|things?|others?|rest|own|some|its?|this|that|these|such|ways?|kinds?|"
    "much|many|more|most|less|least|whole|wanted|asked|told|seen|done|made|taken|put|brought|beside|apart|alone|aside|"
    "again|anew|there|here|nothing|something|anything",
    re.IGNORECASE,
)
"""Words that could stand for any value, and so name none."""


def public_names(module: str) -> Iterator[str]:
    """The names that a module offers: its own, its functions, classes, constants and fields, and parameters."""
    yield MODULES[module].stem
    for node in nodes(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
            if not node.name.startswith("_") or node.name == "__init__":
                yield from (argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg))
        elif isinstance(node, ast.ClassDef | ast.Module):
            yield from () if isinstance(node, ast.Module) else (node.name,)
            targets = (target for statement in node.body for target in assigned(statement))
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def assigned(statement: ast.stmt) -> list[ast.expr]:
    """The targets of an assignment, one by one."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    flat = (target.elts if isinstance(target, ast.Tuple) else [target] for target in targets)
    return [target for group in flat for target in group if target is not None]


def test_public_names_say_what_they_name() -> None:
    for module in MODULES:
        vague = {name for name in public_names(module) if not name.startswith("_") and VAGUE.fullmatch(name)}
        assert not vague, f"{module}: {sorted(vague)} could stand for any value; say what they hold"


def test_many_values_have_their_names_at_the_call() -> None:
    """Dataclasses of more than four fields are keyword-only, and no call but a log's has six positional arguments."""
    for module, node in ((name, node) for name in MODULES for node in nodes(name)):
        if isinstance(node, ast.Call) and not ast.unparse(node.func).startswith("log."):
            assert len(node.args) < 6, f"{module}:{node.lineno}: name the arguments"
        elif isinstance(node, ast.ClassDef) and "dataclass" in "".join(map(ast.unparse, node.decorator_list)):
            fields = [statement for statement in node.body if isinstance(statement, ast.AnnAssign)]
            named = "kw_only" in ast.unparse(node.decorator_list[0]) or "KW_ONLY" in "".join(map(ast.unparse, fields))
            assert named or len(fields) <= 4, f"{module}: make {node.name} keyword-only"

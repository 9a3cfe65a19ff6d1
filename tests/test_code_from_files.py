"""No call lets a file run code: checkpoints, pickles, arrays and YAML are read by their safe loaders only."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(
    path for name in ("mpir", "experiments", "data_scripts", "benchmarks") for path in (ROOT / name).rglob("*.py")
)
REQUIRED = {
    "from_pretrained": ("trust_remote_code", False),
    "from_config": ("trust_remote_code", False),
    "SentenceTransformer": ("trust_remote_code", False),
    "CrossEncoder": ("trust_remote_code", False),
    "torch.load": ("weights_only", True),
    "np.load": ("allow_pickle", False),
}
"""Calls that run code by default or where their default may change, and the argument that forbids it."""
FORBIDDEN = (
    "pickle.load",
    "pickle.loads",
    "yaml.load",
    "joblib.load",
    "torch.hub.load",
    "KeyedVectors.load",
    "eval",
    "exec",
)
BUILT_IN = ("eval", "exec")
PICKLED = {ROOT / "mpir/models/devices/workers.py": {"pickle.load"}}
"""A worker process and the process that started it write to each other."""
DYNAMIC_IMPORTS = {
    ROOT / "benchmarks/readers.py",
    ROOT / "mpir/__init__.py",
    ROOT / "mpir/app/cli/command_table.py",
    ROOT / "mpir/files/system.py",
    ROOT / "mpir/lazy_names.py",
    ROOT / "mpir/models/perspectives/registration.py",
    ROOT / "mpir/models/recognition/recognise.py",
    ROOT / "mpir/search/engine_address.py",
}
"""What imports by name: public names, commands, families, engines, Python's own, and a bundle's, which need trust.

The benchmark imports our own readers from a checkout that its user names."""
USERS_WORD = {ROOT / "mpir/models/loading/pretrained.py": "trust_remote_code"}
"""The one loader that passes on what the user said, and the argument's name, which is False by default."""


def dotted_name(node: ast.expr) -> str:
    """The name of what is called, such as ``torch.load``."""
    return f"{dotted_name(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def matches(name: str, pattern: str) -> bool:
    return name == pattern or (pattern not in BUILT_IN and name.endswith(f".{pattern}"))


def faults(tree: ast.AST, path: Path) -> Iterator[str]:
    """The calls of a module that could run code, and the loaders that are passed on instead of being called."""
    called = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called.add(node.func)
            name = dotted_name(node.func)
            arguments = {item.arg: getattr(item.value, "value", None) for item in node.keywords}
            for pattern, (argument, value) in REQUIRED.items():
                users_word = any(
                    item.arg == argument and getattr(item.value, "id", "") == USERS_WORD.get(path, "…")
                    for item in node.keywords
                )
                if matches(name, pattern) and arguments.get(argument) is not value and not users_word:
                    yield f"{path}:{node.lineno}: {name} without {argument}={value}"
            if any(matches(name, pattern) and pattern not in PICKLED.get(path, ()) for pattern in FORBIDDEN):
                yield f"{path}:{node.lineno}: {name} runs code"
            if name.endswith("import_module") and path not in DYNAMIC_IMPORTS:
                yield f"{path}:{node.lineno}: {name} imports what a value names"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "from_pretrained" and node not in called:
            yield f"{path}:{node.lineno}: from_pretrained is passed on, so its arguments are not seen here"


def test_no_call_lets_a_file_run_code() -> None:
    assert [fault for path in FILES for fault in faults(ast.parse(path.read_text(encoding="utf-8")), path)] == []


@pytest.mark.parametrize(
    "code",
    [
        "AutoModel.from_pretrained(x)",
        "AutoModel.from_pretrained(x, trust_remote_code=True)",
        "AutoModel.from_pretrained(x, trust_remote_code=trust)",
        "quietly(AutoModel.from_pretrained)",
        "torch.load(x)",
        "np.load(x)",
        "pickle.load(x)",
        "yaml.load(x)",
        "SentenceTransformer(x)",
        "importlib.import_module(x)",
    ],
)
def test_a_call_that_could_run_code_is_reported(code: str) -> None:
    assert list(faults(ast.parse(code), Path("module.py")))


def test_the_users_word_is_no_by_default() -> None:
    """Every parameter of that name is False unless a caller says otherwise."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                defaults = dict(zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True))
                positional = node.args.args[len(node.args.args) - len(node.args.defaults) :]
                defaults |= dict(zip(positional, node.args.defaults, strict=True))
                for parameter, default in defaults.items():
                    if parameter.arg == "trust_remote_code":
                        assert getattr(default, "value", None) is False, f"{path}:{node.lineno}"

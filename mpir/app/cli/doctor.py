"""``mpir doctor``: show what is installed and what mpir would use, on one screen to paste into a bug report."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path

from mpir.app.cli.option import NoArguments
from mpir.errors import MpirError
from mpir.version import __version__

EPILOG = """\
Nothing is sent anywhere. The exit status is 1 if something that mpir needs does not work; its line says why.

example:
  mpir doctor
"""
EXTRAS = ("lucene", "tune", "train", "sia", "dense", "pdf", "mcp", "formats", "completion", "benchmark", "ray")
BUNDLES = ("default", "fast")


def run(arguments: NoArguments) -> int:
    """Print the report; return 1 if something is broken."""
    checks: dict[str, Callable[[], str]] = {
        "mpir": lambda: f"{__version__} in {Path(__file__).parents[2]}",
        "Python": lambda: f"{platform.python_version()} ({sys.executable})",
        "system": lambda: f"{platform.platform()}, {os.cpu_count()} cores",
        "torch": _torch,
        "device": _device,
        "transformers": lambda: version("transformers"),
        "Java": _java,
        "extras": _extras,
        "cache": _cache,
        **{f"bundle {name}": _bundle(name) for name in BUNDLES},
    }
    broken = 0
    for name, check in checks.items():
        try:
            print(f"{name + ':':16} {check()}")
        except (MpirError, ImportError, OSError) as error:
            broken = 1
            print(f"{name + ':':16} BROKEN: {error}")
    return broken


def _torch() -> str:
    import torch

    build = f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPU build"
    return f"{torch.__version__} ({build}), {torch.get_num_threads()} threads"


def _device() -> str:
    from mpir.models.devices.device import choose_device, choose_dtype

    device = choose_device("auto")
    precision = str(choose_dtype("auto", [device])).removeprefix("torch.")
    return f"auto is {device}, precision auto is {precision}"


def _java() -> str:
    """The Java that searches use; without the extra, none is needed."""
    if "lucene" in dict(_missing()):
        return "not needed without the extra lucene"
    from mpir.search.lucene.java import anserini_version, java_home, java_version

    home = java_home()
    return f"{java_version(home)} in {home}, Anserini {anserini_version()}"


def _extras() -> str:
    missing = dict(_missing())
    installed = [name for name in EXTRAS if name not in missing]
    absent = [f"{name} ({', '.join(packages)})" for name, packages in missing.items()]
    return f"{', '.join(installed) or 'none'}; not installed: {', '.join(absent) or 'none'}"


def _missing() -> Iterator[tuple[str, list[str]]]:
    """Yield each incomplete extra with its missing packages."""
    from packaging.requirements import Requirement

    needed = [Requirement(text) for text in requires("mpir") or ()]
    for extra in EXTRAS:
        of_extra = [item for item in needed if item.marker and item.marker.evaluate({"extra": extra})]
        of_core = {item.name for item in needed if not item.marker or item.marker.evaluate({"extra": ""})}
        packages = [item.name for item in of_extra if item.name not in of_core and not _is_installed(item.name)]
        if packages or not of_extra:
            yield extra, packages or [f"not for Python {platform.python_version()}"]


def _is_installed(package: str) -> bool:
    try:
        metadata(package)
    except PackageNotFoundError:
        return False
    return True


def _cache() -> str:
    from mpir.files.write import cache_folder

    folder = cache_folder()
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return f"{folder}, {size / 1e6:,.1f} MB"


def _bundle(name: str) -> Callable[[], str]:
    def check() -> str:
        """Open the bundle and describe its files; raises MpirError for a damaged one."""
        from mpir.models.bundles.bundle import open_bundle

        bundle = open_bundle(name)
        return f"{len(bundle.manifest['files'])} files, all with the hashes that the manifest states"

    return check

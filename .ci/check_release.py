"""Check what would be released: versions that agree, and a source distribution and a wheel with the same package.

    python .ci/check_release.py FOLDER [--tag v0.3.0]

FOLDER holds what `python -m build` made. With --tag, as in the workflow that publishes, the tag is that of the version,
the changelog dates it, and the project says where its source is.
"""

from __future__ import annotations

import argparse
import re
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LARGEST = 100_000_000
"""Bytes; package indexes refuse larger files."""


def main() -> str | int:
    """Print what is wrong, a line each, on standard error; 0 if nothing is."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the folder of the source distribution and the wheel")
    parser.add_argument("--tag", default="", help="the tag of the release")
    arguments = parser.parse_args()
    version = _first(r'^__version__ = "(.+)"$', "mpir/version.py")
    faults = [*version_faults(version), *file_faults(arguments.folder, version)]
    if arguments.tag:
        faults += tag_faults(arguments.tag, version)
    return "\n".join(faults) or 0


def version_faults(version: str) -> Iterator[str]:
    """Yield files that give another version than mpir/version.py."""
    for name, pattern in (("CITATION.cff", r"^version: (.+)$"), ("CHANGELOG.md", r"^## (\S+) ")):
        if (other := _first(pattern, name)) != version:
            yield f"{name}: the version is {other} (expected {version}, as in mpir/version.py)"


def tag_faults(tag: str, version: str) -> Iterator[str]:
    """Yield what keeps this tag from being published."""
    if tag != f"v{version}":
        yield f"the tag is {tag} (expected v{version}, as in mpir/version.py)"
    date = _first(rf"^## {re.escape(version)} \((.+)\)$", "CHANGELOG.md")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        yield f"CHANGELOG.md: {version} has no date (got {date or 'nothing'}, expected YYYY-MM-DD)"
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    if "Source" not in urls:
        yield "pyproject.toml: [project.urls] has no Source; give the address of the repository"


def file_faults(folder: Path, version: str) -> Iterator[str]:
    """Yield faults of the two files: names, sizes, and modules or data that only one of them has."""
    source, wheel = folder / f"mpir-{version}.tar.gz", folder / f"mpir-{version}-py3-none-any.whl"
    if missing := [path.name for path in (source, wheel) if not path.is_file()]:
        yield f"{folder}: {', '.join(missing)} missing; run `python -m build --outdir {folder}`"
        return
    for path in (source, wheel):
        if path.stat().st_size >= LARGEST:
            yield f"{path.name}: {path.stat().st_size:,} bytes (expected fewer than {LARGEST:,})"
    with tarfile.open(source) as archive:
        sources = {member.name.partition("/")[2] for member in archive if member.isfile()}
    installed = set(zipfile.ZipFile(wheel).namelist())
    kept = {path.relative_to(ROOT).as_posix() for path in (ROOT / "mpir").rglob("*.py")}
    for path, names in ((source, sources), (wheel, installed)):
        if lost := sorted(kept - names):
            yield f"{path.name}: {len(lost)} modules are missing, such as {lost[0]}"
    package = {name for name in sources if name.startswith("mpir/")}
    if differing := sorted(package ^ {name for name in installed if name.startswith("mpir/")}):
        yield f"{len(differing)} files are in only one of source distribution and wheel, such as {differing[0]}"


def _first(pattern: str, name: str) -> str:
    """The first group of the pattern's first match in a file of the repository; "" if there is none."""
    match = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    return match[1] if match else ""


if __name__ == "__main__":
    sys.exit(main())

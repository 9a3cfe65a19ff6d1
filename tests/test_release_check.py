"""What is built is checked before it is published: files that agree, a tag of the version, an address of the source."""

import importlib.util
import io
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "mpir").rglob("*.py"))


@pytest.fixture
def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_release", ROOT / ".ci/check_release.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(folder: Path, sources: list[str], installed: list[str]) -> Path:
    with tarfile.open(folder / "mpir-1.0.tar.gz", "w:gz") as archive:
        for name in sources:
            archive.addfile(tarfile.TarInfo(f"mpir-1.0/{name}"), io.BytesIO())
    with zipfile.ZipFile(folder / "mpir-1.0-py3-none-any.whl", "w") as wheel:
        for name in installed:
            wheel.writestr(name, "")
    return folder


def test_two_whole_files_have_no_fault(check: ModuleType, tmp_path: Path) -> None:
    assert list(check.file_faults(build(tmp_path, ["README.md", *MODULES], MODULES), "1.0")) == []


@pytest.mark.parametrize(
    ("sources", "installed", "expected"),
    [
        (MODULES[1:], MODULES[1:], ["tar.gz: 1 modules", "whl: 1 modules"]),
        (MODULES, [*MODULES, "mpir/extra.json"], ["1 files are in only one"]),
    ],
)
def test_what_is_missing_is_named(
    check: ModuleType, tmp_path: Path, sources: list[str], installed: list[str], expected: list[str]
) -> None:
    faults = list(check.file_faults(build(tmp_path, sources, installed), "1.0"))
    assert len(faults) == len(expected)
    assert all(words in fault for words, fault in zip(expected, faults, strict=True))


def test_a_folder_without_files_says_how_to_build_them(check: ModuleType, tmp_path: Path) -> None:
    assert "python -m build" in "".join(check.file_faults(tmp_path, "1.0"))


def test_the_versions_of_this_repository_agree(check: ModuleType) -> None:
    import mpir

    assert list(check.version_faults(mpir.__version__)) == []
    assert len(list(check.version_faults("99.0"))) == 2


def test_a_tag_of_another_version_is_no_release(check: ModuleType) -> None:
    faults = list(check.tag_faults("v99.0", "98.0"))
    assert ["v98.0" in faults[0], "no date" in faults[1]] == [True, True]

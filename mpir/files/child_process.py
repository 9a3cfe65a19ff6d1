"""Run a module of mpir in a process of bounded time and memory, for work over files that may be hostile."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mpir.files.system import posix_module

resource = posix_module("resource")

MEMORY = 2 * 2**30
"""Bytes of address space of such a process."""


def module_command(module: str) -> list[str]:
    """Return the command that runs a module as a program, whatever the current folder contains."""
    return [sys.executable, "-P", "-m", module]


def module_environment() -> dict[str, str]:
    """Return the environment in which the program imports what this process can."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)}


def limit_resources(seconds: int) -> None:
    """Bound this process to so many seconds of processor time from now, and to MEMORY; on Windows to neither."""
    if resource is None:
        return
    usage = resource.getrusage(resource.RUSAGE_SELF)
    end = seconds + round(usage.ru_utime + usage.ru_stime)
    resource.setrlimit(resource.RLIMIT_CPU, (end, end))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

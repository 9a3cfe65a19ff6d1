"""Programs that tests start end with the tests, even where these are killed."""

import os
import signal
import sys

import pytest

_WRAPPER = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
if os.getppid() == int(sys.argv[1]):  # else it died before
    os.execvp(sys.argv[2], sys.argv[2:])
"""
ENDING_WITH_TESTS = (sys.executable, "-c", _WRAPPER, str(os.getpid()))
"""The beginning of a command that gets SIGTERM when the process that started it dies (on Linux)."""


def pytest_configure(config: pytest.Config) -> None:
    """Let SIGTERM end the tests as Ctrl-C does, so that fixtures end what they started."""
    del config
    signal.signal(signal.SIGTERM, signal.default_int_handler)

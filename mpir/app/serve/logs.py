"""The server's log on standard error, with repeated errors limited."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable

from mpir.errors import SafeFormatter, shortened

SECONDS = 60.0
MAX_MESSAGE_TYPES = 1_000
"""The most messages to remember; the server itself has about a dozen."""
REQUESTS = "mpir.app.serve"
"""The logger of requests: every failed request keeps its line with its id."""


class OncePerMinute(logging.Filter):
    """Pass warnings and errors with the same message template only once a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._logged: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log a record; a request's repeated error is logged without its traceback."""
        if record.levelno < logging.WARNING:
            return True
        message_kind = (record.name, str(record.msg).partition("\n")[0])
        since, count = self._logged.get(message_kind, (float("-inf"), 0))
        if self._clock() - since < SECONDS:
            self._logged[message_kind] = (since, count + 1)
            return _without_traceback(record)
        if len(self._logged) >= MAX_MESSAGE_TYPES:
            self._logged.clear()
        self._logged[message_kind] = (self._clock(), 0)
        if count and not record.exc_info:
            _append(record, f"{count} more since this was last logged")
        return True


def _without_traceback(record: logging.LogRecord) -> bool:
    """Whether to log a repeated record: only a request's error, as one line."""
    if record.name != REQUESTS or not record.exc_info:
        return False
    error = record.exc_info[1]
    record.exc_info = record.exc_text = None
    _append(record, shortened(f"{type(error).__name__}: {error}"))
    return True


def _append(record: logging.LogRecord, text: str) -> None:
    record.msg, record.args = f"{record.getMessage()} ({text})", ()


def log_to_stderr() -> None:
    """Log requests, and the warnings and errors of uvicorn and asyncio."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(SafeFormatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    handler.addFilter(OncePerMinute())
    for name, level in ((REQUESTS, logging.INFO), ("uvicorn", logging.WARNING), ("asyncio", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.propagate = False
        logger.handlers = [handler]

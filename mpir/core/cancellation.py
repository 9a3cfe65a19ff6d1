"""Cancellation: work that no client waits for ends between two texts or batches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Result = TypeVar("Result")

_is_awaited: ContextVar[Callable[[], bool]] = ContextVar("is_awaited", default=lambda: True)


class CancellationError(Exception):
    """The work was cancelled and left unfinished."""


@contextmanager
def while_awaited(is_awaited: Callable[[], bool]) -> Iterator[None]:
    """Cancel this thread's work inside the block with a CancellationError, soon after `is_awaited` turns false."""
    before = _is_awaited.set(is_awaited)
    try:
        yield
    finally:
        _is_awaited.reset(before)


def is_awaited() -> bool:
    """Return whether this thread's work is still awaited."""
    return _is_awaited.get()()


def raise_if_cancelled() -> None:
    """Raise CancellationError if this thread's work is no longer awaited; for loops over many texts."""
    if not is_awaited():
        raise CancellationError


async def in_thread(work: Callable[[], Result]) -> Result:
    """Run work in a separate thread and return its result; cancelling the task cancels the work soon after."""
    waits = True

    def cancellable_work() -> Result:
        with while_awaited(lambda: waits):
            return work()

    try:
        return await asyncio.to_thread(cancellable_work)
    finally:
        waits = False

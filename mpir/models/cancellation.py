"""Work that nobody waits for any more ends between two texts or batches: whoever starts it says how to tell."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Result = TypeVar("Result")

_is_awaited: ContextVar[Callable[[], bool]] = ContextVar("wanted", default=lambda: True)


class AbandonedError(Exception):
    """What was computed is not wanted any more, and has been left unfinished."""


@contextmanager
def while_awaited(is_awaited: Callable[[], bool]) -> Iterator[None]:
    """What this thread computes inside of the block raises AbandonedError soon after `wanted` has become false."""
    before = _is_awaited.set(is_awaited)
    try:
        yield
    finally:
        _is_awaited.reset(before)


def is_awaited() -> bool:
    """Whether somebody still waits for what this thread computes."""
    return _is_awaited.get()()


def raise_if_cancelled() -> None:
    """Raise AbandonedError where nobody waits any more for what this thread computes; for loops over many texts."""
    if not is_awaited():
        raise AbandonedError


async def in_thread(work: Callable[[], Result]) -> Result:
    """The result of some work, in a thread of its own; where the task is cancelled, the work ends soon, too."""
    waits = True

    def all_of_it() -> Result:
        with while_awaited(lambda: waits):
            return work()

    try:
        return await asyncio.to_thread(all_of_it)
    finally:
        waits = False

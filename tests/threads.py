"""Eight threads that start together, for tests of objects that threads share."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

THREADS = 8


def from_threads(call: Callable[[int], Any], numbers: Sequence[int]) -> Iterator[Any]:
    """Return the results of calls by threads that start together, in the order of the numbers."""
    barrier = threading.Barrier(THREADS, timeout=60)
    with ThreadPoolExecutor(THREADS, initializer=barrier.wait) as pool:
        yield from pool.map(call, numbers)

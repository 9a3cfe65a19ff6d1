"""Changed bytes: what an artefact's reader makes of them."""

import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mpir.errors import MpirError
from mpir.files.checksum import _sha256 as hash_of_unchanged
from tests.faults.report import count

FLIPS = int(os.environ.get("MPIR_FLIPS", "100"))
"""Of each artefact; `make faults` has 1,000."""


def check_flips(paths: Sequence[Path], read: Callable[[], Any], *, number: int = FLIPS, seed: int = 7) -> int:
    """Change `number` random bytes of files, one at a time: `read` refuses each in one sentence, or returns the same.

    Returns how many were refused. The files are as before afterwards.
    """
    generator, expected, refused = random.Random(seed), read(), 0
    sizes = [path.stat().st_size for path in paths]
    for path in generator.choices(paths, sizes, k=number):
        content = path.read_bytes()
        place, flip = generator.randrange(len(content)), generator.randrange(1, 256)
        name = f"{path.name}: byte {place} changed from {content[place]} to {content[place] ^ flip}"
        count("flipped bytes")
        write(path, content[:place] + bytes([content[place] ^ flip]) + content[place + 1 :])
        try:
            answer = read()
        except MpirError as error:
            refused += 1
            message = str(error)
            assert message.endswith(".") and "\n" not in message and len(message) < 700, f"{name}: {message}"
        except Exception as error:
            raise AssertionError(f"{name}: {type(error).__name__}: {error}") from error
        else:
            assert answer == expected, f"{name}: {answer!r:.300} instead of {expected!r:.300}"
        finally:
            write(path, content)
    assert read() == expected
    return refused


def write(path: Path, content: bytes) -> None:
    """Write in place, as where a disk loses a bit: the file keeps its times, and no hash is remembered."""
    status = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    hash_of_unchanged.cache_clear()

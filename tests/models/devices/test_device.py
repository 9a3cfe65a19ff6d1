"""Memory that is handed back."""

import platform
import re
from pathlib import Path

import pytest

from mpir.models.devices.device import trim_memory


def resident() -> int:
    """MiB that this process holds."""
    result = re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())
    assert result
    return int(result[1]) // 1024


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc hands back pages between buffers")
def test_gaps_between_buffers_are_handed_back() -> None:
    blocks = [bytearray(60_000) for _ in range(3_000)]
    retained = blocks[::10]
    del blocks
    before = resident()
    trim_memory()
    assert before - resident() > 100
    assert len(retained) == 300

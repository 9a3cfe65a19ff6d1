"""Commands on a full disk: one sentence, nothing half written that counts, and what an undisturbed run writes later."""

import subprocess
from pathlib import Path

import pytest

from tests.faults.commands import content, run, succeed, undisturbed, with_output
from tests.faults.report import count
from tests.faults.test_kills import KILLS

pytestmark = pytest.mark.slow

SIZES = {
    "index": ("16k", "80k"),
    "index --update": ("104k", "136k"),
    "index --dense": ("32k", "128k"),
    "index --dense --shard": ("8k", "16k"),
    "score": ("8k", "32k"),
    "rerank --output": ("4k", "16k"),
    "merge of vectors": ("8k", "16k"),
    "merge of scores": ("8k", "24k"),
    "merge of rankings": ("4k",),
}
"""Commands, and sizes of file systems that are too small for them."""
IN_SUITE = ("rerank --output", "merge of scores")
"""`make faults` tries all."""


@pytest.mark.parametrize("name", SIZES if KILLS > 1 else IN_SUITE)
def test_a_full_disk_stops_a_command_with_one_sentence(name: str, inputs: Path, tmp_path: Path) -> None:
    expected, _ = undisturbed(name, inputs, tmp_path / "expected")
    disk = tmp_path / "disk"
    disk.mkdir()
    for size in SIZES[name]:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], check=False).returncode:
            pytest.skip("only root may mount a small file system")
        try:
            command = with_output(name, disk / "out", inputs)
            finished = run(command, inputs)
            count("full disk: " + name)
            assert finished.returncode == 2, (size, finished.stderr)
            assert "free space" in finished.stderr.splitlines()[-1], finished.stderr
            assert "Traceback" not in finished.stderr
            subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
            succeed(command, inputs)
            assert content(disk / "out") == expected
        finally:
            subprocess.run(["umount", "--lazy", disk], check=True)

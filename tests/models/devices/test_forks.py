"""A process that is forked from one that has scored already, as multiprocessing does it on Linux, scores as well."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import os, sys, torch
from mpir.models.encoder import Encoder
torch.set_num_threads(2)
encoder = Encoder(sys.argv[1], device=sys.argv[2], precision="fp32")
pairs = [("does aspirin", "thin blood " * 9)] * 9
def score():
    values = encoder.outputs(pairs)[0]
    if len(encoder.backend.devices) == 1:
        torch.ones(10**6).exp().sum()  # by all threads, as larger models are read
    return values
def workers():
    return {worker.process.pid for worker in encoder.backend.workers.alive}
expected, own = score(), workers()
child = os.fork()
if not child:
    same = abs(score() - expected).max() < 1e-5
    os._exit(0 if same and not workers() & own else 1)
assert os.waitpid(child, 0)[1] == 0
assert abs(score() - expected).max() < 1e-5
assert workers() == own
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")
@pytest.mark.parametrize("device", ["cpu", "cpu,cpu"])
def test_a_fork_neither_waits_for_threads_that_it_lacks_nor_asks_its_parents_workers(
    tiny_checkpoint: Path, device: str
) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tiny_checkpoint), device]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            _, errors = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            raise
    assert process.returncode == 0, errors

"""Several devices: a process for each, the same scores, nothing lost when one is killed, and none left behind."""

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mpir.errors import ArtefactError, DeviceError
from mpir.models.encoder import Encoder

pytestmark = pytest.mark.slow

PAIRS = [("does aspirin thin blood", f"the {'heart and ' * (i % 40)} risk") for i in range(60)]


@pytest.fixture(scope="module")
def expected(tiny_checkpoint: Path) -> np.ndarray:
    return Encoder(tiny_checkpoint, device="cpu", precision="fp32").outputs(PAIRS)[0]


@pytest.fixture(scope="module")
def two(tiny_checkpoint: Path) -> Iterator[Encoder]:
    encoder = Encoder(tiny_checkpoint, device="cpu,cpu", precision="fp32", tokens_per_batch=128)
    yield encoder
    encoder.backend.workers.close()


def pids(encoder: Encoder) -> list[int]:
    return [worker.process.pid for worker in encoder.backend.workers.alive]


def gone(pid: int, within: float = 30.0) -> bool:
    """Whether a process has ended (a zombie has)."""
    ends = time.monotonic() + within
    while time.monotonic() < ends:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


def test_two_processes_give_the_scores_of_one(two: Encoder, expected: np.ndarray) -> None:
    np.testing.assert_allclose(two.outputs(PAIRS)[0], expected, atol=1e-5)
    first = pids(two)
    assert len(set(first)) == 2
    np.testing.assert_allclose(two.outputs(PAIRS[::-1])[0], expected[::-1], atol=1e-5)
    assert pids(two) == first  # they stay, with their models loaded


def test_the_others_take_over_for_a_killed_worker_until_none_is_left(
    two: Encoder, expected: np.ndarray, caplog: pytest.LogCaptureFixture
) -> None:
    two.outputs(PAIRS)
    first, second = pids(two)
    os.kill(first, signal.SIGKILL)
    np.testing.assert_allclose(two.outputs(PAIRS)[0], expected, atol=1e-5)
    assert "cpu ended (signal 9); the others" in caplog.text
    os.kill(second, signal.SIGKILL)
    with pytest.raises(DeviceError, match=r"cpu .*\(signal 9\) .*\b0 of 2\b") as caught:
        two.outputs(PAIRS)
    assert "\n" not in str(caught.value)
    np.testing.assert_allclose(two.outputs(PAIRS)[0], expected, atol=1e-5)  # new ones start


def test_a_worker_without_its_model_says_why(tmp_path: Path, tiny_checkpoint: Path) -> None:
    for file in tiny_checkpoint.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    encoder = Encoder(tmp_path, device="cpu,cpu", precision="fp32")
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(ArtefactError, match="cannot be loaded"):
        encoder.outputs(PAIRS)
    assert encoder.backend.workers.alive == []


SCRIPT = """
import sys
from mpir.models.encoder import Encoder
encoder = Encoder(sys.argv[1], device="cpu,cpu", precision="fp32")
encoder.outputs([("a", "b")])
print(*(worker.process.pid for worker in encoder.backend.workers.alive), flush=True)
while True:
    encoder.outputs([("does aspirin", "thin blood " * 20)] * 5000)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_their_process(tiny_checkpoint: Path, tmp_path: Path, how: signal.Signals) -> None:
    """Interrupted from the terminal or killed, a script (without a main guard) leaves none behind."""
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, str(tmp_path / "script.py"), str(tiny_checkpoint)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        workers = [int(pid) for pid in process.stdout.readline().split()]
        process.send_signal(how)
        _, errors = process.communicate(timeout=60)
    assert len(workers) == 2
    assert all(map(gone, workers))
    assert errors.count("Traceback") == (how == signal.SIGINT)


@pytest.mark.parametrize("during", ["a message", "an answer"])
def test_a_worker_whose_process_ends_meanwhile_says_nothing(during: str) -> None:
    program = "from mpir.models.devices.workers import serve; serve()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    message = pickle.dumps((dict, {"device": "none"}, 1))  # whose answer is an error
    with subprocess.Popen([sys.executable, "-c", program], **pipes) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        if during == "an answer":
            process.stdout.close()
        process.stdin.write(message if during == "an answer" else message[:-9])
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0

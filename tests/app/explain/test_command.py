"""``mpir explain``: the page is there when the browser opens, and a browser in the foreground holds nothing up."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.app.serve.running import environment_of
from tests.programs import ENDING_WITH_TESTS

BROWSER = """
import sys, time, urllib.request
with urllib.request.urlopen(sys.argv[1], timeout=20) as page, open({seen!r}, "w") as seen:
    seen.write(f"{{page.status}} {{sys.argv[1]}}")
time.sleep(60)
"""


@pytest.fixture
def explaining(tiny_bundle: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """`mpir explain` with a browser that stays in the foreground, as w3m and lynx do, and notes what it sees."""
    browser = tmp_path / "browser.py"
    browser.write_text(BROWSER.format(seen=str(tmp_path / "seen")), encoding="utf-8")
    command = [sys.executable, "-m", "mpir", "explain", "--set", "serve.warmup=false", "--bundle", str(tiny_bundle)]
    environment = environment_of({"BROWSER": f"{shlex.join([sys.executable, str(browser)])} %s"})
    process = subprocess.Popen(
        [*ENDING_WITH_TESTS, *command], stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    yield process
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # the browser, too
    process.wait()


def test_the_browser_sees_the_page_and_ctrl_c_ends_the_server(
    explaining: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert explaining.stderr
    address = explaining.stderr.readline().split()[-1]
    assert address.endswith("/explain")
    recorded, until = tmp_path / "seen", time.monotonic() + 60
    while not (recorded.exists() and recorded.read_text()):
        assert time.monotonic() < until
        assert explaining.poll() is None, explaining.communicate()
        time.sleep(0.05)
    assert recorded.read_text() == f"200 {address}"
    explaining.send_signal(signal.SIGINT)
    assert explaining.wait(30) == 0

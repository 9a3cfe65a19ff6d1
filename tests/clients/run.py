"""Start a server with the default bundle, and run the clients' tests against it in each environment that is named."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main(pythons: list[str]) -> int:
    """Exit status 0 if the tests pass in all environments."""
    with tempfile.TemporaryFile("w+") as log:
        command = [sys.executable, "-m", "mpir", "serve", "--port", "0", "--any-model"]
        server = subprocess.Popen(command, stderr=log, text=True)
        try:
            environment = {**os.environ, "MPIR_URL": wait_for_url(server, log), "PYTHONPATH": str(Path.cwd())}
            tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/clients", "tests/integrations"]
            return max(subprocess.run([python, *tests], env=environment, check=False).returncode for python in pythons)
        finally:
            server.terminate()
            server.wait()


def wait_for_url(server: "subprocess.Popen[str]", log: object) -> str:
    """The address, once the server is there."""
    for _ in range(1200):
        log.seek(0)  # type: ignore[attr-defined]
        text = log.read()  # type: ignore[attr-defined]
        if "serving on " in text:
            return text.split("serving on ")[1].split()[0]
        assert server.poll() is None, text
        time.sleep(0.1)
    raise AssertionError("the server did not start")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

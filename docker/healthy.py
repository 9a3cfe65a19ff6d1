"""Exit status 0 if the server on this machine's port is ready: healthy.py [PORT].

Without a PORT it is the one that the container's first process was told, the last of several: `docker run mpir --port
9000` adds one to the image's own.
"""

import argparse
import sys
import urllib.request
from pathlib import Path


def port_of(command_line: bytes) -> int:
    """The port in the command line of a `mpir serve`, as /proc has it: words that end with a zero byte."""
    words = command_line.decode("utf-8", "surrogateescape").split("\0")[:-1]
    parser = argparse.ArgumentParser(allow_abbrev=False, add_help=False)
    parser.add_argument("--port", type=int, default=8000)
    return int(parser.parse_known_args(words[words.index("serve") + 1 :])[0].port)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else port_of(Path("/proc/1/cmdline").read_bytes())
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=3) as answer:
        sys.exit(answer.status != 200)

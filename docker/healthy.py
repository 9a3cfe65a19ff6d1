"""Exit status 0 if the server on this machine's port is ready: healthy.py [PORT]."""

import sys
import urllib.request

port = sys.argv[1] if len(sys.argv) > 1 else "8000"
with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=3) as answer:
    sys.exit(answer.status != 200)

#!/bin/sh
# The image's commands where no image can be built: the same installation in a fresh environment, the server started from
# an empty folder, and the health check. without_docker.sh [PYTHON]
set -eu
cd "$(dirname "$0")/.."
place=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$place"' EXIT
"${1:-python3.11}" -m venv "$place/environment"
sh docker/install.sh "$place/environment/bin/python"
cp docker/healthy.py "$place"
cd "$place"
environment/bin/mpir serve --port 8765 &
server=$!
for _ in $(seq 120); do
  if environment/bin/python healthy.py 8765 2>/dev/null; then
    kill "$server" && wait "$server" && echo "healthy, and stopped" && exit 0
  fi
  sleep 1
done
echo "the server did not become ready" >&2
exit 1

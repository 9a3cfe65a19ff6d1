#!/bin/sh
# Install mpir with its server into a Python environment: install.sh PYTHON, from a folder with the sources.
set -eu
"$1" -m pip install --quiet --no-cache-dir ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} --constraint constraints.txt torch
"$1" -m pip install --quiet --no-cache-dir --constraint constraints.txt .

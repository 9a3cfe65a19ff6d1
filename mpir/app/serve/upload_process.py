"""Read an uploaded file in a process of its own, which ends with its request, its client or the server.

A reader may take long or much memory over a hostile file, and no thread can be ended.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict
from math import ceil
from pathlib import Path
from typing import Any

from mpir.app.serve.settings import ApiError, Limits
from mpir.app.serve.upload_folder import remove_leftovers, upload_folder
from mpir.app.serve.uploads import read_upload
from mpir.files.child_process import limit_resources, module_command, module_environment

CONCURRENT = 2
"""Files that are read at a time; more wait."""
HUNGRY = 3
"""The exit status of a process that got no more memory."""
ENDED_BY_LIMIT = {HUNGRY, *(-getattr(signal, name) for name in ("SIGXCPU", "SIGKILL") if hasattr(signal, name))}
"""Exit statuses of a process that exceeded a limit; Windows has neither signal."""


class UploadReader:
    """Reads uploaded files, a few at a time."""

    def __init__(self, limits: Limits) -> None:
        """Begin without the files that a killed server left."""
        remove_leftovers()
        self._limits, self._room = limits, asyncio.Semaphore(CONCURRENT)

    async def read(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return what `read_upload` does. The process is killed, and its file removed, where the caller is cancelled.

        Raises:
            ApiError: as `read_upload`, and 413 for a file that takes too long or too much memory.
        """
        async with self._room:
            with upload_folder() as folder:
                return await self._read({"values": dict(values), "limits": asdict(self._limits), "folder": str(folder)})

    async def _read(self, task: Mapping[str, Any]) -> dict[str, Any]:
        process = await asyncio.create_subprocess_exec(
            *module_command(__name__), env=module_environment(),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            output, _ = await process.communicate(json.dumps(task).encode())
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return _answer(process.returncode, output)


def _answer(status: int | None, output: bytes) -> dict[str, Any]:
    if status in ENDED_BY_LIMIT:
        raise ApiError(413, "the file takes too much time or memory to read; use `mpir rerank`.")
    if status:
        raise RuntimeError(f"the process that reads an uploaded file ended with the status {status}")
    answer: dict[str, Any] = json.loads(output)
    if "status" in answer:
        raise ApiError(answer["status"], answer["message"])
    return answer


def main() -> int:
    """Read a task from standard input, and write its documents or its error to standard output, as JSON."""
    task = json.load(sys.stdin)
    limits = Limits(**task["limits"])
    limit_resources(ceil(limits.seconds) + 1)  # the time counts where the server was killed
    try:
        answer = read_upload(task["values"], limits, Path(task["folder"]))
    except ApiError as error:
        answer = {"status": error.status, "message": error.message}
    except MemoryError:
        return HUNGRY
    json.dump(answer, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The commands that faults are tried on, what they read, and what they write."""

import hashlib
import json
import os
import shlex
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

from tests import programs

SAMPLE = Path(__file__).parents[2] / "mpir" / "sample"
TIMES = {"seconds", "checksum", "files", "sha256"}
UNSTABLE = {"write.lock", "log.jsonl", "state.pt"}

SCORE = f"score --questions {SAMPLE / 'questions.json'} --index index --k 5 --bundle ./bundle --set cache.folder=none"
RANK = "rerank --queries queries.jsonl --format jsonl --bundle ./bundle --device cpu --quiet"
COMMANDS = {
    "index": "index docs.jsonl --index {out}",
    "index --dense --shard": "index docs.jsonl --index {out} --dense --encoder ./encoder --shard 1/2",
    "index --dense --shard 2": "index docs.jsonl --index {out} --dense --encoder ./encoder --shard 2/2",
    "index --dense": "index docs.jsonl --index {out} --dense --encoder ./encoder",
    "rerank": "rerank 'does aspirin thin blood' --docs docs.jsonl --bundle ./bundle "
    "--set cache.folder=none --device cpu --output {out}/page.html --output {out}/table.csv",
    "score": f"{SCORE} --device cpu --output {{out}}",
    "score --shard": f"{SCORE} --device cpu --shard 1/2 --output {{out}}",
    "score --shard 2": f"{SCORE} --device cpu --shard 2/2 --output {{out}}",
    "score --ray": f"{SCORE} --device cpu --output {{out}} --ray local",
    "rerank --ray": f"{RANK} --output {{out}}/rankings.jsonl --ray local",
    "index --dense --ray": "index docs.jsonl --index {out} --dense --encoder ./encoder --ray local",
    "index --update": "index changes.jsonl --update --index {out}/index",
    "rerank --shard": f"{RANK} --shard 1/2 --output {{out}}",
    "rerank --shard 2": f"{RANK} --shard 2/2 --output {{out}}",
    "rerank --output": f"{RANK} --output {{out}}/rankings.jsonl",
    "merge of vectors": "merge vectors-1 vectors-2 --output {out}",
    "merge of scores": "merge scored-1 scored-2 --output {out}",
    "merge of rankings": "merge ranked-1 ranked-2 --output {out}/rankings.jsonl",
    "tune": "tune scored --output {out}/weights.json --set tune.calls=6 --set tune.initial=4 "
    "--set tune.loops=1 --set tune.folds=2",
    "bioasq": f"bioasq --questions {SAMPLE / 'questions.json'} --corpus docs.jsonl --output {{out}}/submission.json "
    "--bundle ./bundle --device cpu --k 5 --set cache.folder=none --index {out}/index",
    "train": "train --mixture mixture.json --output {out} --checkpoint ./checkpoint --device cpu "
    "--set train.precision=fp32 --set train.save_every=1 --set train.evaluate_every=2 --set train.batch_size=8",
}
INDEX = ("index", "index")
INPUTS = {
    "index --update": (INDEX,),
    "score": (INDEX,),
    "score --ray": (INDEX,),
    "score --shard": (INDEX,),
    "score --shard 2": (INDEX,),
    "merge of vectors": (("index --dense --shard", "vectors-1"), ("index --dense --shard 2", "vectors-2")),
    "merge of scores": (("score --shard", "scored-1"), ("score --shard 2", "scored-2")),
    "merge of rankings": (("rerank --shard", "ranked-1"), ("rerank --shard 2", "ranked-2")),
    "tune": (("score", "scored"),),
}
"""Commands that make what a command reads, and where."""
CHANGED = {"index --update": "index"}
"""What a command changes: its output begins with a copy of this."""


def run(command: str, folder: Path) -> "CompletedProcess[str]":
    """What a command did in a folder, whether it succeeded or not."""
    return programs.run(shlex.split(command), folder=folder, environment=ENVIRONMENT)


def succeed(command: str, folder: Path) -> None:
    finished = run(command, folder)
    assert finished.returncode == 0, finished.stderr


ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}


def undisturbed(name: str, inputs: Path, folder: Path) -> tuple[dict[str, object], float]:
    """What a command writes to a new folder, and in how many seconds; what it reads is made first."""
    prepare(name, inputs)
    run("--version", inputs)  # the first fork waits for what all share
    begin = time.perf_counter()
    succeed(with_output(name, folder, inputs), inputs)
    return content(folder), time.perf_counter() - begin


def prepare(name: str, inputs: Path) -> None:
    """Make an input of a command that other commands make, unless it is there."""
    for needed, output in INPUTS.get(name, ()):
        prepare(needed, inputs)
        if not (inputs / output).exists():
            succeed(COMMANDS[needed].format(out=output), inputs)


def with_output(name: str, folder: Path, inputs: Path) -> str:
    """The command that writes to a folder, which is made unless it is there."""
    if not folder.exists():
        folder.mkdir()
        if name in CHANGED:
            shutil.copytree(inputs / CHANGED[name], folder / CHANGED[name])
    return COMMANDS[name].format(out=folder)


def content(folder: Path) -> dict[str, object]:
    """Every file's content, without times, the names of folders, and what Lucene numbers at random."""
    return {path.relative_to(folder).as_posix(): stable(path, folder) for path in files_in(folder)}


def files_in(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not {"lucene", "text-store"} & set(path.parts) and path.name not in UNSTABLE:
            yield path


def stable(path: Path, folder: Path) -> object:
    content = path.read_bytes().replace(str(folder).encode(), b"OUT")
    return without_times(json.loads(content)) if path.suffix == ".json" else hashlib.sha256(content).hexdigest()


def without_times(value: object) -> object:
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key not in TIMES}
    return [without_times(item) for item in value] if isinstance(value, list) else value

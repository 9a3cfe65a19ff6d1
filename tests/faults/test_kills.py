"""Commands that are killed at any moment: the same command again ends as if nothing had happened."""

import hashlib
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.report import count

KILLS = int(os.environ.get("MPIR_KILLS", "1"))
"""Of each command; `make faults` has more."""
SAMPLE = Path(__file__).parents[2] / "mpir" / "sample"
IN_SUITE = ("index", "rerank")
TIMES = {"seconds", "checksum", "files", "sha256"}
UNSTABLE = {"write.lock", "log.jsonl", "state.pt"}


@pytest.fixture(scope="module")
def inputs(
    tmp_path_factory: pytest.TempPathFactory, tiny_bundle: Path, tiny_checkpoint: Path, tiny_encoder: Path
) -> Path:
    """A folder with what the commands read: documents, questions, a bundle, an index and a scored set."""
    folder = tmp_path_factory.mktemp("inputs")
    shutil.copytree(tiny_bundle, folder / "bundle")
    shutil.copytree(tiny_checkpoint, folder / "checkpoint")
    shutil.copytree(tiny_encoder, folder / "encoder")
    lines = (SAMPLE / "documents.jsonl").read_text(encoding="utf-8").splitlines()[:40]
    (folder / "docs.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [
        {"id": f"q{number}", "question": "does aspirin thin blood", "sentence": text, "label": label}
        for number in range(12)
        for text, label in (("yes aspirin does thin blood", 1.0), ("the cell is in a gene", 0.0))
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    train = {"losses": ["bce"], "dev": "rows.jsonl", "train": [{"file": "rows.jsonl", "epochs": 4}]}
    mixture = {"settings": {"max_length": 64}, "perspectives": [{"name": "relevance", **train}]}
    (folder / "mixture.json").write_text(json.dumps(mixture), encoding="utf-8")
    if KILLS > 1:
        _run(COMMANDS["index"].format(out="index"), folder)
        _run(COMMANDS["score"].format(out="scored"), folder)
    return folder


SCORE = f"score --questions {SAMPLE / 'questions.json'} --index index --candidates 5 --bundle ./bundle --no-cache"
COMMANDS = {
    "index": "index docs.jsonl --index {out}",
    "index --dense": "index docs.jsonl --index {out} --dense --encoder ./encoder",
    "rerank": "rerank 'does aspirin thin blood' --docs docs.jsonl --bundle ./bundle --no-cache --device cpu "
    "--html {out}/page.html --csv {out}/table.csv",
    "score": f"{SCORE} --device cpu --output {{out}}",
    "tune": "tune scored --output {out}/weights.json --calls 6 --initial 4 --loops 1 --folds 2",
    "bioasq": f"bioasq --questions {SAMPLE / 'questions.json'} --corpus docs.jsonl --output {{out}}/submission.json "
    "--bundle ./bundle --device cpu --candidates 5 --no-cache --index {out}/index",
    "train": "train --mixture mixture.json --output {out} --checkpoint ./checkpoint --device cpu --precision fp32 "
    "--save-every 1 --evaluate-every 2 --batch-size 8",
}


def _run(command: str, folder: Path) -> None:
    finished = subprocess.run(
        _program(command), cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr


def _program(command: str) -> list[str]:
    return [sys.executable, "-m", "mpir", *shlex.split(command)]


ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}


@pytest.mark.parametrize("name", COMMANDS if KILLS > 1 else IN_SUITE)
def test_a_killed_command_ends_as_if_it_had_not_been(name: str, inputs: Path, tmp_path: Path) -> None:
    expected, seconds = _undisturbed(name, inputs, tmp_path / "expected")
    generator = random.Random(name)
    command = _with_output(name, tmp_path / "killed")
    for _ in range(KILLS):
        process = subprocess.Popen(_program(command), cwd=inputs, env=ENVIRONMENT, stdout=-3, stderr=-3)
        time.sleep(generator.uniform(0.3, 1.0) * seconds)  # a moment at random; before 0.3 Python itself starts
        process.send_signal(signal.SIGKILL)
        process.wait()
        count("kills of " + name)
        if generator.random() < 0.5:  # some go on from what several kills have left
            _run(command, inputs)
            assert _content(tmp_path / "killed") == expected
            shutil.rmtree(tmp_path / "killed")
    _run(command, inputs)
    assert _content(tmp_path / "killed") == expected


def _with_output(name: str, folder: Path) -> str:
    folder.mkdir(exist_ok=True)
    return COMMANDS[name].format(out=folder)


def _undisturbed(name: str, inputs: Path, folder: Path) -> tuple[dict[str, object], float]:
    begin = time.perf_counter()
    _run(_with_output(name, folder), inputs)
    return _content(folder), time.perf_counter() - begin


def _content(folder: Path) -> dict[str, object]:
    """Every file's content, without times, the names of folders, and what Lucene numbers at random."""
    return {path.relative_to(folder).as_posix(): _stable(path, folder) for path in _files(folder)}


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not {"lucene", "text-store"} & set(path.parts) and path.name not in UNSTABLE:
            yield path


def _stable(path: Path, folder: Path) -> object:
    content = path.read_bytes().replace(str(folder).encode(), b"OUT")
    return _without_times(json.loads(content)) if path.suffix == ".json" else hashlib.sha256(content).hexdigest()


def _without_times(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_times(item) for key, item in value.items() if key not in TIMES}
    return [_without_times(item) for item in value] if isinstance(value, list) else value

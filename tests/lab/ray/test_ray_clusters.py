"""Clusters that `ray start` started: used by their address, or refused with one sentence."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import mpir
from tests.lab.ray.ray_commands import ROOT, ended, ray_start

pytestmark = pytest.mark.slow

pytest.importorskip("ray", reason="needs the extra ray")

BIG = """
import sys
from functools import partial
import numpy as np
import operator
from mpir.lab.ray.actor_pool import ActorJob, ActorPool
from mpir.lab.ray.ray_cluster import cluster
from mpir.errors import MpirError

job = ActorJob(load=partial(int, 3), work=operator.mul, identify=lambda model: {}, identity={})
try:
    with cluster("auto") as ray:
        pool = ActorPool(ray, job, workers=2)
        arrays = pool.map(np.full(60 * 2**20, number, np.uint8) for number in range(12))
        print([int(array[-1]) for array in arrays if len(array) == 60 * 2**20])
except MpirError as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""
"""Twelve tasks of 60 MiB with results as large; eight are in flight."""


JAVA_STOPS = """
from threading import Thread
from mpir.lab.ray.ray_cluster import cluster
from mpir.search.lucene.java import java_class

number, system = java_class("java.math.BigInteger").valueOf(3), java_class("java.lang.System")

def stop_while_computing():
    thread = Thread(target=lambda: [number.pow(20_000).toString() for _ in range(200)])
    thread.start()
    while thread.is_alive():
        system.gc()

stop_while_computing()
with cluster("local"):
    stop_while_computing()
stop_while_computing()
print("computed")
"""
"""Java stops its compiled code by a fault, which its own handler expects."""


def words(graded: Path, bundle: Path, *more: object) -> list[object]:
    how = ["--bundle", bundle, "--device", "cpu", "--precision", "fp32", "--set", "cache.folder=none"]
    return ["score", "--graded", graded, *how, "--output", graded.with_name("scored"), "--ray", "auto", *more]


def big_tasks(variables: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(
        [sys.executable, "-c", BIG], env=environment, capture_output=True, text=True, timeout=200, check=False
    )


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[Path]:
    """A file system of this size."""
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=False).returncode:
        pytest.skip("only root may mount a small file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_cluster_by_its_address_and_token(graded: Path, tiny_bundle: Path, tmp_path: Path) -> None:
    with ray_start(tmp_path) as variables:
        assert ended(*words(graded, tiny_bundle, "--workers", 2), variables=variables) == (0, "")
        shutil.rmtree(tmp_path / "scored")
        others = {"RAY_ADDRESS": variables["RAY_ADDRESS"], "RAY_AUTH_MODE": "disabled"}
        status, errors = ended(*words(graded, tiny_bundle), variables=others)
    assert status == 2
    assert "no cluster can be used" in errors.splitlines()[-1]
    assert "set RAY_AUTH_MODE=token" in errors.splitlines()[-1]
    assert not (tmp_path / "scored").exists()


def test_java_computes_on_beside_ray_and_after_it() -> None:
    pytest.importorskip("jpype", reason="needs the extra lucene")
    command = [sys.executable, "-c", JAVA_STOPS]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert (finished.returncode, finished.stdout) == (0, "computed\n"), finished.stderr


def hiding(mount: str) -> list[str]:
    """What starts a program that sees another file system, by one command."""
    if os.geteuid() or not shutil.which("unshare"):
        pytest.skip("only root may hide files from the workers")
    return ["unshare", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh"]


def test_workers_of_another_mpir(graded: Path, tiny_bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "version.py").write_text('"""Another version."""\n\n__version__ = "0.3.1"\n')
    another = hiding(f"mount --bind {tmp_path}/version.py {Path(mpir.__file__).with_name('version.py')}")
    with ray_start(tmp_path, prefix=another, variables={"PYTHONDONTWRITEBYTECODE": "1"}) as variables:
        status, errors = ended(*words(graded, tiny_bundle), variables=variables)
    assert status == 2
    assert "has mpir 0.3.1, and this machine " in errors.splitlines()[-1]
    assert not (tmp_path / "scored").exists()


def test_workers_that_do_not_see_the_folder_of_the_models(graded: Path, tiny_bundle: Path, tmp_path: Path) -> None:
    bundle = shutil.copytree(tiny_bundle, tmp_path / "bundle")
    with ray_start(tmp_path, prefix=hiding(f"mount -t tmpfs tmpfs {bundle}")) as variables:
        status, errors = ended(*words(graded, bundle), variables=variables)
    assert status == 2
    (line,) = errors.splitlines()
    assert "cannot load the model: " in line
    assert str(bundle)[:40] in line  # a long path is cut in its middle
    assert "Workers need the same files at the same paths as this machine" in line
    assert not (tmp_path / "scored").exists()


def test_an_object_store_that_holds_no_two_tasks(tmp_path: Path) -> None:
    """Ray moves to the disk what does not fit."""
    with ray_start(tmp_path, "--object-store-memory", 80_000_000) as variables:
        finished = big_tasks(variables)
    assert finished.stdout == f"{[3 * number for number in range(12)]}\n", finished.stderr


def test_an_object_store_that_is_too_small_on_a_full_disk(tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "20m") as small:
        how = ["--object-store-memory", 80_000_000, "--object-spilling-directory", small]
        with ray_start(tmp_path, *how) as variables:
            finished = big_tasks(variables)
    assert finished.returncode == 1
    last = finished.stderr.splitlines()[-1]
    assert "DeviceError: Ray at 127.0.0.1:" in last
    assert "free disk space or start the cluster with a larger object store" in last


def test_a_full_disk_under_the_journal(graded: Path, tiny_bundle: Path, tmp_path: Path) -> None:
    command = words(graded, tiny_bundle)
    with ray_start(tmp_path) as variables:
        with mounted(tmp_path / "full", "8k") as full:
            command[command.index("--output") + 1] = full / "scored"
            status, errors = ended(*command, variables=variables)
            written = (full / "scored.scores.jsonl").read_bytes()
            assert not (full / "scored").exists()
        command[command.index("--output") + 1] = tmp_path / "scored"
        (tmp_path / "scored.scores.jsonl").write_bytes(written)  # as if there were room now
        assert ended(*command, variables=variables)[0] == 0
    assert status == 2
    assert "(No space left on device)" in errors.splitlines()[-1]

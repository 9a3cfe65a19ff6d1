"""Files that a library finds in the working folder by itself change nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(program: str, folder: Path) -> None:
    """Run a program whose main module has no file, as in a notebook, in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, check=True, timeout=120)


MILVUS = """
import os
from mpir.errors import EndpointError
from mpir.search.engines.milvus import MilvusIndex
before = dict(os.environ)
try:
    MilvusIndex("milvus+http://127.0.0.1:1/pubmed", timeout=0.1)
except EndpointError:
    pass
else:
    raise AssertionError
assert dict(os.environ) == before, {name for name in os.environ if os.environ[name] != before.get(name)}
"""


def test_a_folders_env_file_gives_no_address_and_no_key(tmp_path: Path) -> None:
    pytest.importorskip("pymilvus")
    (tmp_path / ".env").write_text(
        "MPIR_EUTILS=http://127.0.0.1:9\nNCBI_API_KEY=theirs\nHF_ENDPOINT=http://x.invalid\n"
    )
    run(MILVUS, tmp_path)


PICTURE = """
import sys
from mpir.evaluate.figure import figure_axes
with figure_axes(sys.argv[1] if len(sys.argv) > 1 else "picture", 4, 3) as axes:
    axes[0, 0].plot([0, 1], [1, 0])
"""


def test_a_folders_matplotlibrc_changes_no_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pictures = []
    for name, content in (("plain", ""), ("styled", "lines.linewidth: 20\ntext.usetex: True\nbackend: template\n")):
        folder = tmp_path / name
        folder.mkdir()
        if content:
            (folder / "matplotlibrc").write_text(content)
        run(PICTURE, folder)
        pictures.append((folder / "picture.svg").read_text())
    assert pictures[0] == pictures[1]

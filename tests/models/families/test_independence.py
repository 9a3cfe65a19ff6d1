"""Each family can be taken away: the product ranks as before, and names what it no longer knows in one sentence."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import mpir
from mpir.models.checkpoint_files.model_files import read_model_files
from mpir.models.recognition.recognise import families
from tests.models import model_makers as makers

ROOT = Path(mpir.__file__).parent
FOLDER = Path("models/families")
NAMES = sorted(path.stem for path in (ROOT / FOLDER).iterdir() if not path.name.startswith("_"))
SAMPLE = ROOT / "sample/documents.jsonl"
PROGRAM = f"""
import json, mpir
lines = open({str(SAMPLE)!r}, encoding="utf-8").read().splitlines()[:8]
documents = [json.loads(line)["abstract"] for line in lines]
print([[result.id, result.score] for result in mpir.rerank("does aspirin prevent a heart attack", documents)])
"""
ONLY_HERE = (
    'sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in getattr(finder, "__module__", "")]'
)
"""An installation for development adds the folders that a copy lacks."""
NAMED = """
import sys
from mpir.errors import MpirError
from mpir.models.perspectives.named_models import NamedModels, declare_named_models
try:
    declare_named_models(NamedModels(**{sys.argv[1]: [sys.argv[2]]}))
except MpirError as error:
    print(type(error).__name__, error)
"""
OPENED = """
import sys, mpir
from mpir.errors import MpirError
try:
    mpir.Reranker(sys.argv[1])
except MpirError as error:
    print(type(error).__name__, error)
"""


def config(**values: Any) -> Callable[[Path], object]:
    return lambda folder: makers.put(folder / "config.json", values)


CHECKPOINTS: dict[str, Callable[[Path], object]] = {
    "bi_encoder": config(architectures=["BertModel"], model_type="bert"),
    "classifier": config(architectures=["BertForSequenceClassification"], model_type="bert"),
    "language_model": config(architectures=["Qwen3ForCausalLM"], model_type="qwen3"),
    "listwise": config(architectures=["JinaForRanking"], model_type="qwen3"),
    "module_chain": makers.chain,
    "multi_vector": makers.colbert,
    "pruner": config(architectures=["OpenProvenceModel"], base_model_config={"model_type": "bert"}, pruning_config={}),
}
"""A folder of each family that a user can name. `mpir train` makes the others, as parts of bundles."""


def test_every_family_is_here() -> None:
    assert {*CHECKPOINTS, "kernels"} == set(NAMES)
    assert len(families()) == len(NAMES)


def test_families_load_without_torch() -> None:
    code = (
        "import sys; from mpir.models.recognition import recognise; recognise.families(); print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


TWOFOLD = {
    "converted decoder": config(architectures=["Qwen3ForSequenceClassification"], model_type="qwen3"),
    "classifier in a pruner": config(
        architectures=["OpenProvenceForSequenceClassification"], base_model_config={}, pruning_config={}
    ),
    "kernels": config(architectures=["TKModel"], model_type="mpir-tk"),
}
"""Folders that have the signs of two families."""


@pytest.mark.parametrize("name", [*CHECKPOINTS, *TWOFOLD])
def test_no_two_families_of_one_precedence_take_a_model(name: str, tmp_path: Path) -> None:
    {**CHECKPOINTS, **TWOFOLD}[name](tmp_path)
    files = read_model_files(tmp_path)
    taken = [family.precedence for family in families() if family.matches(files)]
    assert taken and len(set(taken)) == len(taken)


def copy_without(names: list[str], folder: Path) -> Path:
    """A copy of the package without these families, with its models in place."""
    large = {str(ROOT): {"bundles", "sample"}}
    shutil.copytree(ROOT, folder / "mpir", ignore=lambda path, _: {*large.get(path, ()), "__pycache__"})
    for name in large[str(ROOT)]:
        (folder / "mpir" / name).symlink_to(ROOT / name)
    for name in names:
        path = folder / "mpir" / FOLDER / name
        shutil.rmtree(path) if path.is_dir() else path.with_suffix(".py").unlink()
    return folder


def run(folder: Path, program: str, *words: str) -> str:
    code = f"import sys; sys.path.insert(0, {str(folder)!r})\n{ONLY_HERE}\n{program}"
    finished = subprocess.run([sys.executable, "-P", "-c", code, *words], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@cache
def ranking_of_all() -> str:
    return run(ROOT.parent, PROGRAM)


def check(names: list[str], folder: Path) -> None:
    tree = copy_without(names, folder / "tree")
    assert run(tree, PROGRAM) == ranking_of_all()
    for name in set(names) & {*CHECKPOINTS}:
        CHECKPOINTS[name](folder / name)
        refused = run(tree, NAMED, "encoders" if name == "bi_encoder" else "names", str(folder / name))
        assert refused.startswith(f"ArtefactError {folder / name}: is not a model that mpir knows (its files declare ")
        assert len(refused.splitlines()) == 1


@pytest.mark.slow
def test_the_product_ranks_without_any_family(tmp_path: Path) -> None:
    check(NAMES, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_product_ranks_without_one_family(name: str, tmp_path: Path) -> None:
    check([name], tmp_path)


def test_a_kind_of_a_family_that_is_gone_is_named(tmp_path: Path) -> None:
    entry = {"name": "words", "kind": "tk", "checkpoint": "model", "level": "document"}
    makers.put(tmp_path / "bundle.json", {"format": 1, "name": "mine", "perspectives": [entry]})
    tree = copy_without(["kernels"], tmp_path / "tree")
    refused = run(tree, OPENED, str(tmp_path / "bundle.json"))
    assert refused.startswith("InputError perspective kind 'tk' is unknown; expected bi-encoder, bm25")

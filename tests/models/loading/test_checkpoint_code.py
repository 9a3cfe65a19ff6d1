"""A checkpoint's Python code never runs, whatever its files ask for and whatever standard input answers."""

import io
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mpir.app.cli import main
from mpir.errors import ArtefactError
from mpir.lab.train.pretrained import load_model
from mpir.models.encoder import Encoder

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
AUTO_CLASSES = ("AutoModel", "AutoModelForSequenceClassification", "AutoModelForCausalLM", "AutoBackbone")
CONSENT = "y\n" * 20
CODE = """
from pathlib import Path
Path({marker!r}).write_text("the checkpoint's code ran")
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast
class Config(BertConfig):
    model_type = "custom"
class Model(BertForSequenceClassification):
    config_class = Config
class Tokenizer(PreTrainedTokenizerFast):
    pass
"""


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """A file that exists once the code of a checkpoint has run."""
    return tmp_path / "ran"


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def add_code(folder: Path, marker: Path, *, only_tokenizer: bool = False) -> Path:
    """Make a checkpoint name code for its tokenizer and, by default, for its configuration and model."""
    (folder / "custom.py").write_text(CODE.format(marker=str(marker)))
    tokenizer = {"AutoTokenizer": ["custom.Tokenizer", "custom.Tokenizer"]}
    edit(folder / "tokenizer_config.json", tokenizer_class="CustomTokenizer", auto_map=tokenizer)
    if not only_tokenizer:
        names = dict.fromkeys(AUTO_CLASSES, "custom.Model")
        edit(folder / "config.json", model_type="custom", auto_map={"AutoConfig": "custom.Config", **names})
    return folder


@pytest.fixture
def custom(tiny_checkpoint: Path, tmp_path: Path, marker: Path) -> Path:
    return add_code(Path(shutil.copytree(tiny_checkpoint, tmp_path / "custom")), marker)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "a", "title": "Aspirin", "abstract": "Does aspirin thin blood."}\n')
    return path


def bundle_with(checkpoint: str, folder: Path) -> Path:
    """An unsealed bundle whose only perspective names this checkpoint."""
    folder.mkdir()
    perspective = {"name": "relevance", "kind": "cross-encoder", "checkpoint": checkpoint, "output": 0}
    manifest = {"format": 1, "name": "custom", "perspectives": [{**perspective, "scale": "probability"}]}
    (folder / "bundle.json").write_text(json.dumps(manifest))
    return folder


def run(*arguments: object, home: Path) -> subprocess.CompletedProcess[str]:
    """A program of its own, with "y" on standard input for whatever it asks."""
    environment = {**os.environ, "HF_HOME": str(home), "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(
        command, input=CONSENT, capture_output=True, text=True, env=environment, check=False, timeout=300
    )


def check_refused(done: subprocess.CompletedProcess[str], marker: Path) -> None:
    assert not marker.exists(), done.stderr
    assert "[y/N]" not in done.stdout
    message = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "never runs unasked" in message


def as_encoder(folder: Path) -> Path:
    """The same checkpoint as one of an embedding model."""
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["BertModel"]}))
    return folder


def rerank(tmp_path: Path, corpus: Path, custom: Path, **_: Any) -> list[object]:
    bundle = bundle_with(str(custom), tmp_path / "bundle")
    return ["-m", "mpir", "rerank", "aspirin", "--docs", corpus, "--bundle", bundle, "--device", "cpu"]


def search_dense(tmp_path: Path, corpus: Path, tiny_checkpoint: Path, marker: Path, **_: Any) -> list[object]:
    """The manifest of the index names the encoder."""
    pytest.importorskip("faiss")
    encoder = as_encoder(Path(shutil.copytree(tiny_checkpoint, tmp_path / "encoder")))
    index = tmp_path / "index"
    assert main(["index", str(corpus), "--index", str(index), "--dense", "--encoder", str(encoder)]) == 0
    add_code(encoder, marker)
    return ["-m", "mpir", "search", "--index", index, "--mode", "dense", "aspirin"]


def index_dense(tmp_path: Path, corpus: Path, custom: Path, **_: Any) -> list[object]:
    pytest.importorskip("faiss")
    as_encoder(custom)
    return ["-m", "mpir", "index", corpus, "--index", tmp_path / "index", "--dense", "--encoder", custom]


def train(tmp_path: Path, custom: Path, **_: Any) -> list[object]:
    row = {"id": "1", "question": "aspirin", "sentence": "thin blood"}
    rows = "".join(json.dumps({**row, "label": label}) + "\n" for label in (0, 1))
    (tmp_path / "rows.jsonl").write_text(rows)
    task = {"name": "relevance", "losses": ["bce"], "dev": "rows.jsonl", "train": [{"file": "rows.jsonl"}]}
    (tmp_path / "mixture.json").write_text(json.dumps({"perspectives": [task]}))
    options = ["--mixture", tmp_path / "mixture.json", "--output", tmp_path / "run", "--device", "cpu"]
    return ["-m", "mpir", "train", "--checkpoint", custom, *options]


def write_sia(tmp_path: Path, corpus: Path, custom: Path, tiny_bundle: Path, **_: Any) -> list[object]:
    qasc = ["--qasc", ROOT / "mpir/sample/qasc.jsonl", "--methods", "combined,partial,generated"]
    writer = ["--writer", custom, "--sources", corpus, "--bundle", tiny_bundle, "--output", tmp_path / "sia"]
    return [ROOT / "data_scripts/generate_sia.py", *qasc, *writer]


@pytest.mark.parametrize("command", [rerank, search_dense, index_dense, train, write_sia])
def test_no_command_runs_the_code_of_a_checkpoint(
    command: Callable[..., list[object]],
    *,
    tmp_path: Path,
    corpus: Path,
    custom: Path,
    tiny_checkpoint: Path,
    tiny_bundle: Path,
    marker: Path,
) -> None:
    files = {"corpus": corpus, "custom": custom, "tiny_checkpoint": tiny_checkpoint, "tiny_bundle": tiny_bundle}
    arguments = command(tmp_path=tmp_path, marker=marker, **files)
    check_refused(run(*arguments, home=tmp_path / "home"), marker)


def test_a_trusted_bundle_runs_no_code_of_its_checkpoint(
    tmp_path: Path, corpus: Path, custom: Path, marker: Path
) -> None:
    arguments = rerank(tmp_path, corpus, custom)
    check_refused(run(*arguments, "--trust-code", home=tmp_path / "home"), marker)


def test_a_hub_name_in_a_bundle_runs_no_code(tmp_path: Path, corpus: Path, custom: Path, marker: Path) -> None:
    commit = "0" * 40
    stored = tmp_path / "home/hub/models--someone--custom"
    (stored / "refs").mkdir(parents=True)
    (stored / "refs/main").write_text(commit)
    shutil.copytree(custom, stored / "snapshots" / commit)
    arguments = rerank(tmp_path, corpus, Path("someone/custom"))
    check_refused(run(*arguments, home=tmp_path / "home"), marker)


def test_the_code_of_a_tokenizer_does_not_run(
    tiny_checkpoint: Path, tmp_path: Path, corpus: Path, marker: Path
) -> None:
    folder = Path(shutil.copytree(tiny_checkpoint, tmp_path / "custom"))
    add_code(folder, marker, only_tokenizer=True)
    finished = run(*rerank(tmp_path, corpus, folder), home=tmp_path / "home")
    assert not marker.exists()
    assert finished.returncode == 0, finished.stderr  # transformers reads tokenizer.json by a class of its own
    assert "[y/N]" not in finished.stdout


@pytest.fixture
def consent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(CONSENT))


@pytest.mark.usefixtures("consent")
def test_a_tokenizer_inside_a_tokenizer_runs_no_code(custom: Path, tmp_path: Path, marker: Path) -> None:
    outer = Path(shutil.copytree(custom, tmp_path / "outer"))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (outer / name).unlink()
    for name in ("question_encoder_tokenizer", "generator_tokenizer"):
        shutil.copytree(custom, outer / name)
    sections = {
        "question_encoder": {"model_type": "vit"},
        "generator": {"model_type": "vit"},
    }  # types without a tokenizer
    (outer / "config.json").write_text(json.dumps({"model_type": "rag", **sections}))
    with pytest.raises(ArtefactError, match=r"outer: .*Python code"):
        Encoder(outer, device="cpu")
    assert not marker.exists()


@pytest.mark.usefixtures("consent")
def test_pickled_weights_run_no_code(tiny_checkpoint: Path, tmp_path: Path, marker: Path) -> None:
    folder = Path(shutil.copytree(tiny_checkpoint, tmp_path / "pickled"))
    (folder / "model.safetensors").unlink()
    weights = pickle.dumps(RunsCode(marker)) + bytes(2**20)  # as long as the layers of its configuration would be
    (folder / "pytorch_model.bin").write_bytes(weights)
    for load in (load_model, lambda path: Encoder(path, device="cpu").backend.model):
        with pytest.raises(ArtefactError, match=r"pickled: .*loaded as"):
            load(folder)
    assert not marker.exists()


class RunsCode:
    """Pickled, it creates a file when it is read."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.marker,)


def test_an_adapter_is_refused(tiny_checkpoint: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_checkpoint, tmp_path / "adapted"))
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "someone/custom", "peft_type": "LORA"}')
    for load in (load_model, lambda path: Encoder(path, device="cpu").backend):
        with pytest.raises(ArtefactError, match=r"adapted: .*an adapter"):
            load(folder)


@pytest.mark.parametrize("key", ["attn_implementation", "experts_implementation"])
def test_compiled_code_of_a_hub_is_refused(tiny_checkpoint: Path, tmp_path: Path, key: str) -> None:
    folder = Path(shutil.copytree(tiny_checkpoint, tmp_path / "kernel"))
    edit(folder / "config.json", **{key: "someone/attention"})
    with pytest.raises(ArtefactError, match=rf"kernel: config\.json .*\({key} is 'someone/attention"):
        load_model(folder)

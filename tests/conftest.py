"""What several tests share: tiny models built on the spot, and the folder of real data where there is one."""

import gc
import json
import os
import random
import shutil
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from mpir.files.weights import write_weights

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ["LANGUAGE"] = "C"  # argparse would look for translations of each word that a parser has, in files
pytest_plugins = ["tests.programs", "tests.app.serve.running"]
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell without job control starts what follows "&" so, and every program that a test interrupts would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No example may fail because the machine is busy, or because of what an earlier run has left.
PROFILE = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("fixed", derandomize=True, **PROFILE)
settings.register_profile("random", print_blob=True, **PROFILE)  # `make test-long` and others, with a --hypothesis-seed
settings.load_profile("fixed")

WORDS = "does aspirin thin blood heart attack risk yes no the of a in is and trial patients placebo gene cell ."


def pytest_configure() -> None:
    """Collect no garbage while tests are collected, a quarter of that time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage again, but not among the modules and tests, which stay."""
    gc.freeze()
    gc.enable()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: a compressor may write the time, and two processes must name a test alike."""
    return argname if isinstance(val, bytes) else None


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup() -> None:
    """Make each fixture from the same random numbers, whichever test needs it first."""
    _seed_generators()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call() -> None:
    """Begin each test with the same random numbers, whichever tests ran before."""
    _seed_generators()


def _seed_generators() -> None:
    """Seed the global generators of the libraries that are loaded; those that are not begin with a seed anyway."""
    random.seed(0)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(0)
    if (torch := sys.modules.get("torch")) and hasattr(torch, "default_generator"):
        torch.default_generator.manual_seed(0)  # manual_seed() formats the stack for each kind of device, a millisecond
        if torch.cuda.is_initialized():
            torch.cuda.manual_seed_all(0)


@pytest.fixture(scope="session")
def cache_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders for caches, which are made when something is cached."""
    parent = tmp_path_factory.mktemp("caches")
    return (parent / str(number) for number in count())


@pytest.fixture(autouse=True)
def cache_of_its_own(cache_folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that a test runs keep scores and indexes in a folder of that test alone."""
    monkeypatch.setenv("MPIR_CACHE", str(next(cache_folders)))


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a random BERT of two layers, three outputs and 64 positions, and a tokenizer of a few words."""
    return make_checkpoint(tmp_path_factory.mktemp("tiny"), outputs=3, seed=0)


def make_checkpoint(folder: Path, *, outputs: int, seed: int) -> Path:
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS.split()])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    names = ["input_ids", "token_type_ids", "attention_mask"]
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, model_input_names=names, **special)
    fast.save_pretrained(folder)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        num_labels=outputs,
        initializer_range=0.2,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_encoder(tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny checkpoint as an embedding model's, which indexes take."""
    folder = shutil.copytree(tiny_checkpoint, tmp_path_factory.mktemp("encoder") / "tiny")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["BertModel"]}), encoding="utf-8")
    return Path(folder)


@pytest.fixture(scope="session")
def tiny_bundle(tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed bundle of three perspectives that share the tiny checkpoint."""
    from mpir.core.weights import Weights
    from mpir.models.bundles.bundle import seal

    folder = tmp_path_factory.mktemp("bundle")
    (folder / "model").mkdir()
    for file in tiny_checkpoint.iterdir():
        (folder / "model" / file.name).write_bytes(file.read_bytes())
    declared = [("relevance", "probability"), ("sts", "0-5"), ("sia", "0-4")]
    perspectives = [
        {"name": name, "kind": "cross-encoder", "checkpoint": "model", "output": i, "scale": scale}
        for i, (name, scale) in enumerate(declared)
    ]
    equal = Weights.equal([name for name, _ in declared])
    write_weights(folder / "weights.json", replace(equal, normalise="none", made_by={}))  # as if they were tuned
    (folder / "CARD.md").write_text("# tiny\n", encoding="utf-8")
    manifest = {"name": "tiny", "perspectives": perspectives, "weights": "weights.json", "card": "CARD.md"}
    (folder / "bundle.json").write_text(json.dumps(manifest), encoding="utf-8")
    seal(folder)
    return folder


@pytest.fixture
def bi_encoder_bundle(tiny_bundle: Path, tmp_path: Path) -> Path:
    """The tiny bundle with a bi-encoder, without weights: vectors can be indexed by it."""
    from mpir.models.bundles.bundle import seal

    folder = tmp_path / "bundle"
    shutil.copytree(tiny_bundle, folder)
    manifest = json.loads((folder / "bundle.json").read_text(encoding="utf-8"))
    manifest["perspectives"].append({"name": "vectors", "kind": "bi-encoder", "checkpoint": "model", "scale": "cosine"})
    del manifest["weights"]
    (folder / "bundle.json").write_text(json.dumps(manifest), encoding="utf-8")
    seal(folder)
    return folder


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data: $MPIR_DATA, or shared/data beside the repository; tests that want it are skipped."""
    folder = Path(os.environ.get("MPIR_DATA") or Path(__file__).parents[2] / "shared/data")
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}; set MPIR_DATA to run this")
    return folder

"""A model that is trained again into its folder gives new scores, in one process and with a cache of scores."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from mpir import NamedModels, Reranker, rerank
from mpir.errors import ArtefactError
from tests.models.model_makers import chain, chat_model, classifier, colbert, embedding_model

pytestmark = pytest.mark.slow

QUERY = "does aspirin thin blood"
DOCUMENTS = ["yes aspirin does thin the blood", "the risk of a heart attack", "a trial in patients"]
MAKERS: dict[str, tuple[Callable[[Path], Path], str, str]] = {
    "classifier": (classifier, "names", "model.safetensors"),
    "chain of modules": (chain, "names", "2_Dense/model.safetensors"),
    "language model": (chat_model, "names", "model.safetensors"),
    "ColBERT's layer": (colbert, "names", "1_Dense/model.safetensors"),
    "embedding model": (embedding_model, "encoders", "model.safetensors"),
    "embedding model's layer": (embedding_model, "encoders", "2_Dense/model.safetensors"),
    "tokenizer": (embedding_model, "encoders", "tokenizer.json"),
    "chat template": (chat_model, "names", "chat_template.jinja"),
}
PROGRAM = f"""
import json, sys
from mpir import NamedModels, Reranker
models = NamedModels(encoders=[sys.argv[2]])
ranking = Reranker(**json.loads(sys.argv[1]), models=models).rerank({QUERY!r}, {DOCUMENTS!r})
print(json.dumps([document.scores["m"] for document in sorted(ranking, key=lambda document: document.index)]))
"""


def rewrite(path: Path) -> None:
    """Change a file as another training would: other weights, another vocabulary, another template."""
    if path.suffix == ".safetensors":
        weights = {name: value + 0.3 * torch.randn_like(value) for name, value in load_file(path).items()}
        save_file(weights, path, {"format": "pt"})
    elif path.suffix == ".json":
        values = json.loads(path.read_text())
        vocabulary = values["model"]["vocab"]
        vocabulary["aspirin"], vocabulary["heart"] = vocabulary["heart"], vocabulary["aspirin"]
        path.write_text(json.dumps(values))
    else:
        path.write_text(path.read_text().replace("blood", "heart risk"))


def scores(options: dict[str, Any]) -> list[float]:
    ranking = Reranker(**options).rerank(QUERY, DOCUMENTS)
    return [document.scores["m"] for document in sorted(ranking, key=lambda document: document.index)]


@pytest.fixture
def options(tiny_bundle: Path) -> dict[str, Any]:
    return {"bundle": str(tiny_bundle), "device": "cpu", "precision": "fp32"}


@pytest.mark.parametrize("kind", MAKERS)
def test_new_weights_give_new_scores(kind: str, options: dict[str, Any], tmp_path: Path) -> None:
    make, option, file = MAKERS[kind]
    options |= {"models": NamedModels(**{option: [make(tmp_path / "m")]})}
    cached = {**options, "cache": str(tmp_path / "cache")}
    first = scores(cached)
    rewrite(tmp_path / "m" / file)
    second = scores(cached)
    assert second != pytest.approx(first, abs=1e-3)
    assert scores(options) == scores(cached) == pytest.approx(second, abs=1e-6)


def test_another_process_reads_the_new_scores(options: dict[str, Any], tmp_path: Path) -> None:
    options |= {"cache": str(tmp_path / "cache")}
    models = NamedModels(encoders=[embedding_model(tmp_path / "m")])
    scores({**options, "models": models})
    rewrite(tmp_path / "m/2_Dense/model.safetensors")
    expected = scores({**options, "models": models})
    command = [sys.executable, "-c", PROGRAM, json.dumps(options), *map(str, models.encoders)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert json.loads(printed) == pytest.approx(expected, abs=1e-6)


def test_the_function_loads_a_changed_model_again(tiny_bundle: Path, tmp_path: Path) -> None:
    folder = chain(tmp_path / "m")
    before = rerank(QUERY, DOCUMENTS, bundle=tiny_bundle, models=str(folder))
    rewrite(folder / "2_Dense/model.safetensors")
    after = rerank(QUERY, DOCUMENTS, bundle=tiny_bundle, models=str(folder))
    assert [document.scores["m"] for document in before] != [document.scores["m"] for document in after]


@pytest.mark.parametrize("kind", ["classifier", "chain of modules", "language model", "tokenizer"])
def test_a_file_that_changes_between_opening_and_scoring_is_an_error(
    kind: str, options: dict[str, Any], tmp_path: Path
) -> None:
    make, option, file = MAKERS[kind]
    reranker = Reranker(**options, models=NamedModels(**{option: [make(tmp_path / "m")]}))
    rewrite(tmp_path / "m" / file)
    with pytest.raises(ArtefactError, match=r"/m: .*changed after"):
        reranker.rerank(QUERY, DOCUMENTS)

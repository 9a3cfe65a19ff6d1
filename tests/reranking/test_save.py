"""A reranker as a bundle: saved with its models, shared through a hub, and tuned."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mpir import NamedModels, Perspective, Reranker
from mpir.app.cli import main
from mpir.app.cli.first_stage import open_encoder
from mpir.errors import ArtefactError, InputError, OutputError
from tests.models.hub_server import COMMIT, running

QUERY, DOCS = (
    "does aspirin thin blood",
    ["yes aspirin does thin the blood .", "a gene in a cell", "the heart . risk of"],
)
ON_CPU = {"device": "cpu", "precision": "fp32"}


def scores(reranker: Reranker) -> list[tuple[int, float]]:
    return [(document.index, round(document.score, 5)) for document in reranker.rerank(QUERY, DOCS)]


@pytest.fixture
def model(tiny_checkpoint: Path, tmp_path: Path) -> Path:
    folder = Path(shutil.copytree(tiny_checkpoint, tmp_path / "models/judge"))
    (folder / "README.md").write_text("---\nlicense: mit\n---\n")
    (folder / "checkpoint-9").mkdir()
    (folder / "checkpoint-9/optimizer.json").write_text("{}")
    return folder


def test_a_saved_reranker_ranks_as_before(
    tiny_bundle: Path, tiny_encoder: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    models = NamedModels(names=(model,), options={"output": 1}, encoders=(tiny_encoder,), level="both")
    reranker = Reranker(tiny_bundle, models=models, **ON_CPU)  # type: ignore[arg-type]
    assert {"judge", "judge-sentences", "tiny"} < {perspective.name for perspective in reranker.perspectives}
    reranker.save_pretrained(tmp_path / "mine")
    expected = scores(reranker)
    shutil.rmtree(model)
    saved = Reranker(tmp_path / "mine", **ON_CPU)  # type: ignore[arg-type]
    assert scores(saved) == expected
    assert saved.weights == reranker.weights
    assert open_encoder(str(tmp_path / "mine")).encoder.checkpoint == str(tmp_path / "mine/tiny")  # type: ignore[attr-defined]
    assert {path.name for path in (tmp_path / "mine").iterdir()} >= {"model", "judge", "tiny", "CARD.md"}
    assert not (tmp_path / "mine/judge/checkpoint-9").exists()
    assert main(["bundle", "show", str(tmp_path / "mine")]) == 0
    shown = capsys.readouterr().out
    assert next(line for line in shown.splitlines() if line.startswith("judge  ")).endswith("mit")
    assert "No weight is tuned for" in shown


def test_a_bundle_of_models_alone(tiny_bundle: Path, model: Path, tmp_path: Path) -> None:
    new = ["bundle", "new", str(tmp_path / "mine"), "--bundle", str(tiny_bundle), "--model", str(model)]
    assert main([*new, "--set", "model.output=0", "--set", "model.only=true"]) == 0
    made = Reranker(tmp_path / "mine", **ON_CPU)  # type: ignore[arg-type]
    named = Reranker(tiny_bundle, models=NamedModels(names=(model,), only=True, options={"output": 0}), **ON_CPU)  # type: ignore[arg-type]
    assert scores(made) == scores(named)
    assert main([*new, "--set", "model.output=1"]) == 0  # replaced, as it is unchanged
    (tmp_path / "mine/CARD.md").write_text("mine")
    assert main(new) == 2
    with pytest.raises(OutputError, match=r"CARD\.md .*changed"):
        made.save_pretrained(tmp_path / "mine")


def test_an_object_of_the_callers_is_not_saved(tiny_bundle: Path, tmp_path: Path) -> None:
    class Length(Perspective):
        name = "length"

        def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> Any:
            return [len(text) for _, text in pairs]

    with pytest.raises(InputError, match=r"'length' .*Python object"):
        Reranker(tiny_bundle, perspectives=[Length()], **ON_CPU).save_pretrained(tmp_path / "mine")  # type: ignore[arg-type]
    assert not (tmp_path / "mine").exists()


def test_a_model_where_a_bundle_is_asked_for(model: Path, tiny_bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=r"^bundle .*is a model"):
        Reranker(model)
    outside = Path(shutil.copytree(tiny_bundle, tmp_path / "outside"))
    manifest = json.loads((outside / "bundle.json").read_text())
    manifest["perspectives"][0]["checkpoint"] = "../models/judge"
    (outside / "bundle.json").write_text(json.dumps({key: manifest[key] for key in manifest if key != "checksum"}))
    from mpir.models.bundles.bundle_push import push_bundle

    with pytest.raises(InputError, match=r"'\.\./models/judge' of 'relevance'"):
        push_bundle(outside, "org/mine")
    with pytest.raises(InputError, match=r"'mine' .*org/name"):
        push_bundle(outside, "mine")


USE = """
import sys
from mpir import Reranker
from mpir.app.cli import main
from mpir.app.cli.first_stage import open_encoder
from mpir.errors import MpirError

folder, cache = sys.argv[1:]
assert main(["bundle", "push", folder, "org/mine", "--private"]) == 0
for name in ("org/mine", "org/mine@main"):
    with Reranker(name, device="cpu") as reranker:
        print(name, [perspective.name for perspective in reranker.perspectives])
for name in ("org/plain", "org/unknown"):
    try:
        Reranker(name)
    except MpirError as error:
        print(error)
"""


def test_a_bundle_goes_to_a_hub_and_comes_back(tiny_bundle: Path, tmp_path: Path) -> None:
    bundle = Path(shutil.copytree(tiny_bundle, tmp_path / "mine"))
    (bundle / ".env").write_text("SECRET=1")  # no file of the bundle
    with running() as (url, hub):
        hub.files["org/plain"] = {"config.json": b"{}"}
        settings = {"HF_ENDPOINT": url, "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1", "HF_TOKEN": "hf_test"}
        environment = {**os.environ, **settings, "HF_HOME": str(tmp_path / "hub")}
        command = [sys.executable, "-c", USE, str(bundle), str(tmp_path)]
        run = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=120)
        assert run.returncode == 0, run.stderr
        assert set(hub.files["org/mine"]) == {
            *("README.md", "CARD.md", "bundle.json", "weights.json"),
            *(f"model/{path.name}" for path in (tiny_bundle / "model").iterdir()),
        }
        refused = subprocess.run(
            [sys.executable, "-m", "mpir", "bundle", "push", str(bundle), "org/mine"],
            env={**environment, "HF_TOKEN": "hf_wrong"}, capture_output=True, text=True, timeout=120,
            check=False,
        )  # fmt: skip
    lines = run.stdout.splitlines()
    assert lines[0] == f"{url}/org/mine/commit/{COMMIT}"
    assert lines[1:3] == [f"{name} ['relevance', 'sts', 'sia']" for name in ("org/mine", "org/mine@main")]
    assert lines[3].startswith("bundle 'org/plain': the repository has no bundle.json")
    assert "Name a reranker as a model" in lines[3]
    assert lines[4].startswith("bundle 'org/unknown': the hub has no such model, or only for those with a key")
    assert refused.returncode == 2
    assert "rejected the upload (status 401). Set $HF_TOKEN" in refused.stderr
    assert "hf_wrong" not in refused.stderr

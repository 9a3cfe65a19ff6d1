"""A model by its hub name: from the local cache without a network, or one sentence."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from mpir import NamedModels, Reranker, RunOptions
from mpir.app.cli import main
from mpir.errors import ArtefactError, InputError
from mpir.models.checkpoint_files.hub import cached_models, find_model
from mpir.models.checkpoint_files.model_files import read_model_files
from mpir.models.embedding_model import open_embedding_model
from mpir.models.perspectives import open_bundle

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of huggingface_hub, which is told not to use the network."""
    folder = tmp_path / "hub"
    folder.mkdir()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(folder))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    return folder


def keep(cache: Path, checkpoint: Path, name: str) -> Path:
    """Put a checkpoint into the cache, as the hub's client lays it out."""
    repository = cache / f"models--{name.replace('/', '--')}"
    shutil.copytree(checkpoint, repository / "snapshots" / COMMIT)
    (repository / "refs").mkdir()
    (repository / "refs/main").write_text(COMMIT)
    return repository / "snapshots" / COMMIT


def test_a_cached_model_is_read_without_a_network(cache: Path, tiny_checkpoint: Path, tiny_bundle: Path) -> None:
    snapshot = keep(cache, tiny_checkpoint, "org/tiny")
    (snapshot / "README.md").write_text("---\nlanguage: en\nlicense: apache-2.0\n---\n# A model\nlicense: none\n")
    located = find_model("org/tiny")
    assert (located.folder, located.revision) == (snapshot, COMMIT)
    assert find_model("org/tiny", COMMIT).folder == snapshot
    assert read_model_files(snapshot, "org/tiny", revision=COMMIT).licence == "apache-2.0"
    reranker = Reranker(tiny_bundle, device="cpu", models=NamedModels(names=("org/tiny",), options={"output": 1}))
    assert "tiny" in reranker.rerank("does aspirin", ["It does."])[0].scores


def test_a_folder_of_the_working_folder_is_no_hubs_model(
    cache: Path,
    tiny_checkpoint: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A bundle names the hub's model; a folder of that name, which nobody named, is somebody else's."""
    (tmp_path / "bundle").mkdir()
    entry = {"name": "relevance", "kind": "cross-encoder", "checkpoint": "org/tiny", "output": 0}
    (tmp_path / "bundle/bundle.json").write_text(json.dumps({"format": 1, "perspectives": [entry]}))
    (tmp_path / "org").mkdir()
    theirs = Path(shutil.copytree(tiny_checkpoint, tmp_path / "org/tiny"))
    monkeypatch.chdir(tmp_path)
    for bundle in (Path("bundle"), tmp_path / "bundle"):
        with pytest.raises(InputError, match=r"'org/tiny': .*fetched from"):
            open_bundle(bundle).perspectives(device="cpu")
    snapshot = keep(cache, tiny_checkpoint, "org/tiny")
    assert open_bundle(Path("bundle")).perspectives(device="cpu")[0].encoder.checkpoint == str(snapshot)
    assert not caplog.records
    assert find_model("org/tiny").folder.resolve() == theirs  # which the user named
    assert "write ./org/tiny" in caplog.text


def test_a_query_encoder_is_no_folder_of_the_working_folder(
    cache: Path, tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tiny_encoder, tmp_path / "ncbi/MedCPT-Query-Encoder")
    monkeypatch.chdir(tmp_path)
    keep(cache, tiny_encoder, "ncbi/MedCPT-Article-Encoder")
    with pytest.raises(ArtefactError, match="'ncbi/MedCPT-Query-Encoder': neither"):
        open_embedding_model("ncbi/MedCPT-Article-Encoder", device="cpu")
    with pytest.raises(ArtefactError, match="'ncbi/MedCPT-Query-Encoder': neither"):
        Reranker(device="cpu", models=NamedModels(encoders=("ncbi/MedCPT-Article-Encoder",)))


def test_a_name_that_is_not_there_says_what_is(cache: Path, tiny_checkpoint: Path) -> None:
    with pytest.raises(ArtefactError, match=r"'org/tiny': .*cache has no"):
        find_model("org/tiny")
    keep(cache, tiny_checkpoint, "org/tiny")
    assert cached_models() == ["org/tiny"]
    with pytest.raises(ArtefactError, match=r"did you mean org/tiny\?"):
        find_model("org/tinny")


@pytest.mark.parametrize(
    ("cause", "message"),
    [
        ("GatedRepoError", r"'org/model': .*gated; .*\$HF_TOKEN"),
        ("RepositoryNotFoundError", "'org/model': .*no such"),
        ("RevisionNotFoundError", "no revision 'v9'"),
    ],
)
def test_what_the_hub_answers_is_one_sentence(cause: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx
    from huggingface_hub import errors

    def refuse(*_: object, **__: object) -> None:
        response = httpx.Response(403, request=httpx.Request("GET", "https://hub.example/org/model"))
        raise getattr(errors, cause)("no", response=response)

    monkeypatch.setattr("huggingface_hub.snapshot_download", refuse)
    with pytest.raises(ArtefactError, match=message):
        find_model("org/model", "v9")


def test_damaged_files_are_one_sentence(tiny_checkpoint: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_checkpoint, tmp_path / "model"))
    for name, content, message in (
        ("modules.json", "[1]", r"is \[1\]; .*of modules"),
        (
            "modules.json",
            json.dumps([{"type": "a.Transformer", "path": "../../etc"}]),
            r"modules\.json: .*'\.\./\.\./etc'",
        ),
        ("modules.json", "[" * 100_000, r"modules\.json: .*as JSON"),
        ("config_sentence_transformers.json", "[]", r"transformers\.json: is \[\];"),
    ):
        (folder / name).write_text(content)
        with pytest.raises(ArtefactError, match=message):
            read_model_files(folder)
        (folder / name).unlink()
    (folder / "model.safetensors").unlink()
    with pytest.raises(ArtefactError, match=r"/model: .*sequence-classification checkpoint"):
        Reranker(device="cpu", models=NamedModels(names=(folder,), options={"output": 0})).rerank("q", ["A gene."])


def test_a_bundle_names_a_hubs_model_with_its_revision_and_licence(
    cache: Path, tiny_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    snapshot = keep(cache, tiny_checkpoint, "org/tiny")
    (snapshot / "README.md").write_text("---\nlicense: cc-by-4.0\n---\n")
    entry = {"name": "relevance", "kind": "cross-encoder", "checkpoint": "org/tiny", "output": 0}
    for revision, shown in ((COMMIT, COMMIT), (None, f"{COMMIT} (not pinned)")):
        declared = {"format": 1, "perspectives": [entry if revision is None else {**entry, "revision": revision}]}
        (tmp_path / "declared.json").write_text(json.dumps(declared))
        assert main(["bundle", "show", str(tmp_path / "declared.json")]) == 0
        line = next(text for text in capsys.readouterr().out.splitlines() if text.startswith("org/tiny"))
        assert line.split("  ")[-1].strip() == "cc-by-4.0"
        assert shown in line


def test_code_of_a_model_runs_only_by_the_users_word(
    tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    folder = Path(shutil.copytree(tiny_checkpoint, tmp_path / "coded"))
    config = json.loads((folder / "config.json").read_text())
    classes = {"AutoConfig": "coded.CodedConfig", "AutoModelForSequenceClassification": "coded.CodedModel"}
    config |= {"model_type": "coded", "architectures": ["CodedModelForSequenceClassification"], "auto_map": classes}
    (folder / "config.json").write_text(json.dumps(config))
    marker = tmp_path / "has-run"
    (folder / "coded.py").write_text(
        f"open({str(marker)!r}, 'w').close()\n"
        "from transformers import BertConfig, BertForSequenceClassification\n"
        "class CodedConfig(BertConfig):\n    model_type = 'coded'\n"
        "class CodedModel(BertForSequenceClassification):\n    config_class = CodedConfig\n"
    )
    models = NamedModels(names=(folder,), only=True, options={"output": 0})
    with pytest.raises(ArtefactError, match="trust_code"):
        Reranker(models=models, device="cpu")
    assert not marker.exists()
    reranker = Reranker(models=models, device="cpu", run=RunOptions(trust_code=True))
    assert "coded" in reranker.rerank("does aspirin", ["It does."])[0].scores
    assert marker.exists()


def test_a_revision_goes_with_the_name_of_a_model(
    cache: Path, tiny_checkpoint: Path, tiny_encoder: Path, tiny_bundle: Path, tmp_path: Path
) -> None:
    keep(cache, tiny_checkpoint, "org/judge")
    keep(cache, tiny_encoder, "org/tower")
    judge = NamedModels(names=("org/judge",), revision=COMMIT, options={"output": 1})
    reranker = Reranker(tiny_bundle, models=replace(judge, encoders=(f"org/tower@{COMMIT}",)), device="cpu")
    reranker.save_pretrained(tmp_path / "mine")
    manifest = json.loads((tmp_path / "mine/bundle.json").read_text())
    pinned = {entry["checkpoint"]: entry["revision"] for entry in manifest["perspectives"] if "revision" in entry}
    assert pinned == {"org/judge": COMMIT, "org/tower": COMMIT}
    assert "judge" in Reranker(tmp_path / "mine", device="cpu").rerank("does aspirin", ["It does."])[0].scores
    with pytest.raises(ArtefactError, match="local cache"):
        Reranker(tiny_bundle, models=replace(judge, names=("org/judge@v9",), revision=None), device="cpu")

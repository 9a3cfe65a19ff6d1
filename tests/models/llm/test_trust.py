"""Addresses and hub names in a file of somebody's: used only if the user says so, and without the user's key."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mpir import NamedModels, Reranker, RunOptions
from mpir.app.cli import main
from mpir.errors import EndpointError, InputError
from mpir.models.chat.chat_endpoint import KEY
from mpir.models.perspectives.llm import LlmPerspective

QUERY, TEXTS = "Does aspirin thin the blood?", ["Aspirin acts on platelets.", "A gene of the cell."]


@pytest.fixture
def bundle(chat_url: str, tmp_path: Path) -> Path:
    return declare(tmp_path, {"name": "judge", "kind": "llm", "url": f"{chat_url}/", "model": "logprobs"})


def declare(folder: Path, entry: dict[str, object]) -> Path:
    path = folder / "mine.json"
    path.write_text(json.dumps({"format": 1, "perspectives": [{**entry, "level": "sentence"}]}), encoding="utf-8")
    return path


def test_an_address_in_a_bundle_is_named_and_not_asked(bundle: Path, chat_url: str) -> None:
    with pytest.raises(InputError, match=f"to '{chat_url}/'.*trust_code"):
        Reranker(bundle)


def test_the_command_line_asks_too(
    bundle: Path, chat_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = tmp_path / "documents.jsonl"
    documents.write_text('{"id": "1", "abstract": "Aspirin acts on platelets."}\n')
    assert main(["rerank", QUERY, "--docs", str(documents), "--bundle", str(bundle)]) == 2
    assert f"'{chat_url}/'" in capsys.readouterr().err
    assert main(["rerank", QUERY, "--docs", str(documents), "--bundle", str(bundle), "--trust-code"]) == 0


def test_a_trusted_address_gets_no_key(
    start_chat: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "right-key")
    with start_chat("right-key") as url:  # type: ignore[attr-defined]
        bundle = declare(tmp_path, {"name": "judge", "kind": "llm", "url": url, "model": "logprobs"})
        with pytest.raises(EndpointError, match="HTTP 401; none"):
            Reranker(bundle, run=RunOptions(trust_code=True)).rerank(QUERY, TEXTS)


def test_an_address_that_the_user_names_gets_the_key(
    start_chat: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "right-key")
    with start_chat("right-key") as url:  # type: ignore[attr-defined]
        bundle = declare(tmp_path, {"name": "judge", "kind": "llm", "url": url, "model": "logprobs"})
        reranker = Reranker(bundle, models=NamedModels(llm=f"{url}#logprobs"))
        assert [(type(column), column.name) for column in reranker.perspectives] == [(LlmPerspective, "judge")]
        scores = [item.scores["judge"] for document in reranker.rerank(QUERY, TEXTS) for item in document.sentences]
        assert scores == pytest.approx([0.8, 0.1])


def test_another_address_than_the_users_is_asked_for(
    bundle: Path, chat_url: str, start_chat: Callable[..., object]
) -> None:
    with start_chat() as url, pytest.raises(InputError, match=rf"'{chat_url}/'"):  # type: ignore[attr-defined]
        Reranker(bundle, models=NamedModels(llm=f"{url}#logprobs"))


@pytest.mark.parametrize("kind", ["cross-encoder", "bi-encoder", "multi-vector", "language-model"])
def test_a_hubs_name_in_a_bundle_is_named_and_not_fetched(kind: str, tmp_path: Path) -> None:
    bundle = declare(tmp_path, {"name": "judge", "kind": kind, "checkpoint": "org/model"})
    with pytest.raises(InputError, match=r"'org/model': would .*trust_code"):
        Reranker(bundle)


def test_a_hubs_name_in_an_index_is_named_and_not_fetched(
    tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("faiss")
    documents, index = tmp_path / "documents.jsonl", tmp_path / "index"
    documents.write_text('{"id": "1", "abstract": "Aspirin acts on platelets."}\n')
    (tmp_path / "org").mkdir()
    (tmp_path / "org/model").symlink_to(tiny_encoder)
    monkeypatch.chdir(tmp_path)
    assert main(["index", str(documents), "--index", str(index), "--dense", "--encoder", "org/model"]) == 0
    (tmp_path / "org/model").unlink()  # the name of a folder is now one of a hub
    assert main(["search", "--index", str(index), "--mode", "dense", "aspirin"]) == 2
    assert "model 'org/model': would be fetched" in capsys.readouterr().err

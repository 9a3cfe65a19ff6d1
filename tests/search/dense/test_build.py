"""Building: in shards that outlive an interrupt, in place of what stood there only when whole, and bad input."""

import builtins
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir.core.text.types import Document
from mpir.errors import ArtefactError, InputError, OutputError, RepeatedIdError
from mpir.extras import MissingExtraError
from mpir.search.dense import DenseIndex, build_dense, dense_matches, from_vectors

pytest.importorskip("faiss")


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mpir.search.dense.shards.DOCUMENTS_PER_SHARD", 2)


def interrupted(documents: list[Document], after: int) -> Iterator[Document]:
    yield from documents[:after]
    raise KeyboardInterrupt


def test_an_interrupted_build_goes_on_where_it_stopped(encoder: Any, documents: list[Document], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        build_dense(interrupted(documents, 3), tmp_path / "i", encoder, source={"a": 1})
    assert not (tmp_path / "i").exists()
    with pytest.raises(ArtefactError, match=r"/i: .*build was interrupted"):
        DenseIndex(tmp_path / "i", encoder)
    encoder.read.clear()
    build_dense(documents, tmp_path / "i", encoder, source={"a": 1})
    assert encoder.read == [documents[2].text, documents[3].text]  # d4 has no word
    build_dense(documents, tmp_path / "whole", encoder, source={"a": 1})
    for query in ("gene", "heart aspirin"):
        assert DenseIndex(tmp_path / "i", encoder).search(query) == DenseIndex(tmp_path / "whole", encoder).search(
            query
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["i", "whole"]  # nothing is left behind


def test_a_shard_that_was_damaged_since_the_interrupt_is_made_anew(
    encoder: Any, documents: list[Document], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(KeyboardInterrupt):
        build_dense(interrupted(documents, 3), tmp_path / "i", encoder, source={"a": 1})
    vectors = tmp_path / "i.part/000000/vectors.npy"
    complete = vectors.read_bytes()
    vectors.write_bytes(complete[:-1] + b"?")
    encoder.read.clear()
    build_dense(documents, tmp_path / "i", encoder, source={"a": 1})
    assert encoder.read == [document.text for document in documents if document.id != "d4"]
    assert "000000: is damaged (vectors.npy" in caplog.text


@pytest.mark.parametrize(
    "changes", [{"source": {"a": 1, "encoder": "another/path"}}, {"factory": "SQfp16"}, {"seed": 2}]
)
def test_vectors_are_the_same_whatever_index_is_made_of_them(
    encoder: Any, documents: list[Document], tmp_path: Path, changes: dict[str, Any]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        build_dense(interrupted(documents, 3), tmp_path / "i", encoder, source={"a": 1, "encoder": "a/path"})
    encoder.read.clear()
    info = build_dense(documents, tmp_path / "i", encoder, **({"source": {"a": 1}} | changes))
    assert [text for text in encoder.read if text != "a"] == [documents[2].text, documents[3].text]  # "a": its width
    assert {"source": info.source, "factory": info.factory, "seed": info.seed}.items() >= changes.items()


@pytest.mark.parametrize("changes", [{"source": {"a": 2}}, {"sentences": True}, {"texts": False}])
def test_an_interrupted_build_of_something_else_begins_anew(
    encoder: Any, documents: list[Document], tmp_path: Path, changes: dict[str, Any]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        build_dense(interrupted(documents, 3), tmp_path / "i", encoder, source={"a": 1})
    encoder.read.clear()
    build_dense(documents, tmp_path / "i", encoder, **({"source": {"a": 1}} | changes))
    assert set(encoder.read) >= {document.text for document in documents[:4]}


def test_other_documents_after_an_interrupt(encoder: Any, documents: list[Document], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        build_dense(interrupted(documents, 3), tmp_path / "i", encoder)
    with pytest.raises(InputError, match=r"from 'd2' .*interrupted build"):
        build_dense(documents[1:], tmp_path / "i", encoder)
    build_dense(documents[1:], tmp_path / "i", encoder)
    assert len(DenseIndex(tmp_path / "i", encoder)) == 4


def test_the_old_index_stays_until_the_new_one_is_whole(
    encoder: Any, documents: list[Document], tmp_path: Path
) -> None:
    build_dense(documents[:1], tmp_path / "i", encoder)
    with pytest.raises(KeyboardInterrupt):
        build_dense(interrupted(documents, 3), tmp_path / "i", encoder)
    assert len(DenseIndex(tmp_path / "i", encoder)) == 1
    build_dense(documents, tmp_path / "i", encoder)
    assert len(DenseIndex(tmp_path / "i", encoder)) == 5


def test_a_folder_of_something_else_is_not_replaced(encoder: Any, documents: list[Document], tmp_path: Path) -> None:
    (tmp_path / "i").mkdir()
    (tmp_path / "i/thesis.tex").write_text("years of work")
    with pytest.raises(OutputError, match=r"no dense\.json"):
        build_dense(documents, tmp_path / "i", encoder)
    assert (tmp_path / "i/thesis.tex").exists()


@pytest.mark.parametrize("name", ["i/notes.txt", "i/000000/notes.txt", "i.part/notes.txt"])
def test_a_file_of_the_users_is_not_removed(encoder: Any, documents: list[Document], tmp_path: Path, name: str) -> None:
    build_dense(documents[:1], tmp_path / "i", encoder)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("a week of work")
    with pytest.raises(OutputError, match=r"also contains .*notes\.txt"):
        build_dense(documents, tmp_path / "i", encoder)
    assert (tmp_path / name).read_text() == "a week of work"
    assert len(DenseIndex(tmp_path / "i", encoder)) == 1


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([], r"i\.part: .*no documents"),
        ([Document("a", "", "…"), Document("b")], r"i\.part: .*document has"),
        ([Document("a", "", "gene"), Document("b"), Document("c"), Document("a")], "id 'a' occurs"),
    ],
)
def test_bad_corpora(encoder: Any, documents: list[Document], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        build_dense(documents, tmp_path / "i", encoder)
    assert not list(tmp_path.iterdir())


def test_an_encoder_that_gives_no_numbers(encoder: Any, documents: list[Document], tmp_path: Path) -> None:
    class Broken(type(encoder)):  # type: ignore[misc]
        def vectors(self, texts: Any) -> Any:
            vectors, text_of = super().vectors(texts)
            vectors[-1] = np.nan
            return vectors, text_of

    with pytest.raises(InputError, match=r"document 'd2' .*not finite"):
        build_dense(documents, tmp_path / "i", Broken())


@pytest.mark.parametrize(
    ("vectors", "ids", "message"),
    [
        (np.ones((2, 3)), ["a"], r"shape \(2, 3\), .*\b1 ids"),
        (np.ones(3), ["a", "b", "c"], r"has shape \(3,\), but"),
        (np.ones((0, 3)), [], r"i\.part: .*no documents"),
        (np.ones((3, 3)), ["a", "b", "a"], "id 'a' occurs"),
        (
            np.array([[1.0, 2.0], [np.inf, 0.0]]),
            ["a", "b"],
            "document 'b' .*not finite",
        ),
    ],
)
def test_bad_vectors(vectors: Any, ids: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        from_vectors(vectors, ids, tmp_path / "i")


def test_too_few_vectors_for_a_kind_are_kept_for_another(
    encoder: Any, documents: list[Document], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"'IVF64,Flat' .*4 vectors .*Flat \(.*encoded"):
        build_dense(documents, tmp_path / "i", encoder, factory="IVF64,Flat")
    encoder.read.clear()
    build_dense(documents, tmp_path / "i", encoder, factory="IVF2,Flat")
    assert encoder.read == ["a"]  # which says how wide its vectors are
    result = DenseIndex(tmp_path / "i", encoder, parameters="nprobe=2").search("gene")
    build_dense(documents, tmp_path / "whole", encoder)
    assert result == DenseIndex(tmp_path / "whole", encoder).search("gene")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["i", "whole"]


def test_a_kind_that_faiss_cannot_make_is_refused_before_documents_are_read(
    encoder: Any, documents: list[Document], tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        build_dense(interrupted(documents, 3), tmp_path / "i", encoder)
    before = sorted(tmp_path.rglob("*"))
    for factory in ("Magic7", "PQ3"):  # 8 numbers cannot be cut into three
        with pytest.raises(InputError, match=f"'{factory}' .*width 8"):
            build_dense(interrupted(documents, 0), tmp_path / "i", encoder, factory=factory)
    assert sorted(tmp_path.rglob("*")) == before  # what an interrupted build of another kind left, too


def test_an_index_is_kept_only_while_its_files_are_what_they_were(
    encoder: Any, documents: list[Document], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    info = build_dense(documents, tmp_path / "i", encoder, source={"a": 1})
    assert {"trained.faiss", "000000/index.faiss", "000002/documents.jsonl"} <= set(info.files)
    variant = {"factory": "Flat", "sentences": False}
    assert dense_matches(tmp_path / "i", {"a": 1}, encoder.identity, **variant)
    file = tmp_path / "i/000001/index.faiss"
    complete = file.read_bytes()
    file.write_bytes(complete[:-4] + b"\0\0\0\1")
    assert not dense_matches(tmp_path / "i", {"a": 1}, encoder.identity, **variant)
    assert "i: is damaged (000001/index.faiss" in caplog.text


def test_without_faiss(
    encoder: Any, documents: list[Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name == "faiss":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest)

    monkeypatch.delitem(sys.modules, "faiss", raising=False)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError, match=r"package faiss, .*'mpir\[dense\]'"):
        build_dense(documents, tmp_path / "i", encoder)


def test_an_id_that_comes_again_in_any_later_shard_is_named(encoder: Any, tmp_path: Path) -> None:
    for repeated in range(13):
        names = [f"d{number}" for number in range(13)] + [f"d{repeated}"]
        with pytest.raises(RepeatedIdError, match=f"'d{repeated}' occurs"):
            build_dense([Document(name, "", "gene") for name in names], tmp_path / "i", encoder)

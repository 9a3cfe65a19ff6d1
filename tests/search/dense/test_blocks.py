"""A shard that is interrupted: the vectors that were made are kept, and the bar counts what is encoded."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from mpir.core.text.types import Document
from mpir.models.embedding_model import PooledEncoder
from mpir.models.encoder import Encoder
from mpir.search.dense import build_dense
from tests.search.dense.conftest import WORDS

pytest.importorskip("faiss")
DOCUMENTS = [
    Document(f"d{number}", WORDS[number % 8], f"Aspirin and {' and '.join(WORDS[: number % 7 + 1])}. A gene.")
    for number in range(40)
]


class Builds:
    """Builds indexes with an encoder that reads a few texts at a time, and counts the batches that it reads."""

    def __init__(self, checkpoint: Path, folder: Path) -> None:
        self.folder, self.batches, self.limit = folder, 0, 10_000
        encoder = Encoder(checkpoint, device="cpu", precision="fp32", tokens_per_batch=64)
        encoder.backend.model.bert.embeddings.word_embeddings.register_forward_pre_hook(self._count)
        self.encoder = PooledEncoder(encoder)

    def _count(self, *_: Any) -> None:
        if self.batches == self.limit:
            raise KeyboardInterrupt
        self.batches += 1

    def build(self, name: str, documents: Sequence[Document] = DOCUMENTS, **options: Any) -> int:
        """Build an index, and return how many batches were read."""
        self.batches, self.limit = 0, 10_000
        build_dense(documents, self.folder / name, self.encoder, **options)
        return self.batches

    def interrupt(self, name: str, after: int, **options: Any) -> None:
        """Begin to build an index, with an interrupt after so many batches."""
        self.batches, self.limit = 0, after
        with pytest.raises(KeyboardInterrupt):
            build_dense(DOCUMENTS, self.folder / name, self.encoder, **options)

    def content(self, name: str) -> dict[str, str]:
        """The hash of every file of an index."""
        folder = self.folder / name
        files = (path for path in folder.rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def builds(tiny_checkpoint: Path, tmp_path: Path) -> Builds:
    return Builds(tiny_checkpoint, tmp_path)


@pytest.fixture
def every_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch is a block."""
    monkeypatch.setattr("mpir.files.vector_blocks.SECONDS", 0.0)


@pytest.mark.slow
@pytest.mark.usefixtures("every_batch")
@pytest.mark.parametrize(("sentences", "after"), [(False, 1), (False, 8), (True, 4), (True, 18)])
def test_only_the_rest_of_a_shard_is_encoded(builds: Builds, after: int, sentences: bool) -> None:
    complete = builds.build("whole", sentences=sentences)
    builds.interrupt("resumed", after, sentences=sentences)
    assert builds.build("resumed", sentences=sentences) == complete - after
    assert builds.content("resumed") == builds.content("whole")


@pytest.mark.usefixtures("every_batch")
def test_several_interrupts_add_up(builds: Builds) -> None:
    complete = builds.build("whole")
    for after in (3, 2, 1):
        builds.interrupt("resumed", after)
    assert builds.build("resumed") == complete - 6
    assert builds.content("resumed") == builds.content("whole")


@pytest.mark.parametrize(("sentences", "after", "blocks"), [(False, 4, 1), (True, 18, 2)])
def test_within_a_minute_an_interrupt_loses_one_batch(builds: Builds, sentences: bool, after: int, blocks: int) -> None:
    complete = builds.build("whole", sentences=sentences)
    builds.interrupt("resumed", after, sentences=sentences)
    assert len(list(builds.folder.glob("resumed.part/000000/block-*.npz"))) == blocks
    assert builds.build("resumed", sentences=sentences) == complete - after


@pytest.mark.usefixtures("every_batch")
@pytest.mark.parametrize(
    "damage", [lambda data: data[:-30], lambda _: b"", lambda data: data[:600] + b"?" + data[601:]]
)
def test_a_damaged_block_is_made_anew(
    builds: Builds, caplog: pytest.LogCaptureFixture, damage: Callable[[bytes], bytes]
) -> None:
    complete = builds.build("whole")
    builds.interrupt("resumed", 4)
    block = sorted(builds.folder.glob("resumed.part/000000/block-*.npz"))[1]
    block.write_bytes(damage(block.read_bytes()))
    assert builds.build("resumed") == complete - 3
    assert f"{block.name}: is damaged;" in caplog.text
    assert builds.content("resumed") == builds.content("whole")


@pytest.mark.usefixtures("every_batch")
def test_blocks_of_other_texts_are_passed_over(builds: Builds) -> None:
    others = [*DOCUMENTS[1:], Document("new", "", "A trial of blood.")]
    complete = builds.build("whole", others)
    builds.interrupt("resumed", 4)
    assert builds.build("resumed", others) == complete
    assert builds.content("resumed") == builds.content("whole")


@pytest.mark.parametrize(("sentences", "after"), [(False, 4), (True, 18)])
def test_the_bar_counts_documents_whose_vectors_are_made(
    builds: Builds, capsys: pytest.CaptureFixture[str], sentences: bool, after: int
) -> None:
    builds.interrupt("resumed", after, sentences=sentences, progress=True, total=40)
    last = capsys.readouterr().err.split("\r")[-1]
    assert 0 < int(last.split("| ")[1].split("/")[0]) < 40
    builds.build("resumed", sentences=sentences, progress=True, total=40)
    assert "| 40/40 [" in capsys.readouterr().err.split("\r")[-1]

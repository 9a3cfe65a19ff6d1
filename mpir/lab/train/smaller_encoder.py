"""Make a smaller encoder to distil into: some layers of a larger one, and the frequent tokens of given texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from mpir.errors import InputError
from mpir.files.folder_format import CHECKPOINT
from mpir.files.write import check_folder


def make_smaller(
    checkpoint: Path,
    folder: Path,
    *,
    layers: int,
    tokens: int,
    corpus: Sequence[str] = (),
    rows: Sequence[Path] = (),
) -> tuple[tuple[int, ...], float]:
    """Write the smaller checkpoint; return its layer numbers, and the share of the texts' tokens it covers.

    Tokens are counted in the documents of `corpus`, and in the queries and sentences of the training files `rows`.

    Raises:
        MpirError: no texts, an unsupported encoder, or a folder that must not be replaced.
    """
    if not corpus and not rows:
        raise InputError("no texts to count tokens in; name a corpus, rows or both.")
    CHECKPOINT.check_replaceable(folder)
    check_folder(folder.parent)
    from mpir.lab.train.shrink import keep_tokens, shrink

    with TemporaryDirectory() as temporary:
        layer_numbers = shrink(checkpoint, Path(temporary) / "layers", layers)
        share = keep_tokens(Path(temporary) / "layers", folder, texts_of(corpus, rows), tokens)
    return layer_numbers, share


def texts_of(corpus: Sequence[str], rows: Sequence[Path]) -> Iterator[str]:
    """Yield the documents' texts, and each distinct query and sentence of each training file."""
    from mpir.files.corpora import read_corpus
    from mpir.lab.train.examples import read_rows

    for document in read_corpus(corpus):
        yield document.text
    for file in rows:
        examples = read_rows(file, float("inf"))
        yield from sorted({text for row in examples for text in (row.question, row.sentence)})

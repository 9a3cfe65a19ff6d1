"""Word vectors in word2vec's format, trained on any corpus or published, and the nearest neighbours of words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from mpir.core.text.split import split
from mpir.errors import ArtefactError, InputError, OutputError, format_paths
from mpir.extras import needs
from mpir.files.checksum import read_json_with_checksum, sha256, write_json_with_checksum
from mpir.files.corpora import corpus_fingerprint, read_corpus
from mpir.files.files import check_files, list_files
from mpir.files.folder_format import FolderFormat
from mpir.files.write import atomic_folder
from mpir.version import __version__

FILE, MADE_BY = "vectors.bin", "made_by.json"
"""The files of a vectors folder: the vectors, and how they were made."""
VECTORS = FolderFormat(marker=MADE_BY, names=(MADE_BY, FILE))
NEIGHBOURS = 5
COMMON = 10_000
"""Neighbours are chosen among this many of the most frequent words."""
_TOKEN = re.compile(r"[^\W_]+(?:-[^\W_]+)*")


class Tokens:
    """The lower-cased words of every sentence of a corpus; iterable repeatedly, never all in memory."""

    def __init__(self, paths: Iterable[str | Path]) -> None:
        self.paths = list(paths)

    def __iter__(self) -> Iterator[list[str]]:
        for document in read_corpus(self.paths):
            for text in document.sections.values():
                yield from (_TOKEN.findall(text[begin:end].lower()) for begin, end in split(text))


def train_vectors(
    paths: Iterable[str | Path],
    folder: str | Path,
    *,
    size: int = 100,
    window: int = 5,
    min_count: int = 5,
    epochs: int = 5,
    workers: int = 1,
    seed: int = 1,
    progress: Callable[[Iterable[list[str]]], Iterable[list[str]]] | None = None,
) -> Path:
    """Train word2vec (skip-gram; Mikolov et al. 2013) on a streamed corpus, and save the vectors.

    `min_count` is how often a word must occur to get a vector. The folder gets ``vectors.bin`` and ``made_by.json``.
    More than one worker is faster but gives different vectors in every run.

    Raises:
        InputError: a corpus that cannot be read, or in which no word occurs often enough.
        OutputError: the folder cannot be written.
    """
    with needs("sia", "training word vectors"):
        from gensim.models import Word2Vec

    tokens = Tokens(paths)
    settings = {"size": size, "window": window, "least": min_count, "epochs": epochs, "workers": workers, "seed": seed}
    model = Word2Vec(vector_size=size, window=window, min_count=min_count, sg=1, workers=workers, seed=seed)
    model.build_vocab(progress(tokens) if progress else tokens)
    if not len(model.wv):
        raise InputError(
            f"{format_paths(tokens.paths)}: no word occurs {min_count} times; give a larger corpus "
            "or a lower vectors.least."
        )
    model.train(tokens, total_examples=model.corpus_count, epochs=epochs)
    try:
        with atomic_folder(folder, VECTORS) as temporary:
            model.wv.save_word2vec_format(str(temporary / FILE), binary=True)
            files = list_files(temporary, temporary.iterdir())
            write_json_with_checksum(temporary / MADE_BY, {**_made_by(tokens, model, settings), "files": files})
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror or error}); check free space.") from error
    return Path(folder) / FILE


def _made_by(tokens: Tokens, model: Any, settings: dict[str, Any]) -> dict[str, Any]:
    corpus = corpus_fingerprint(tokens.paths)
    counts = {"sentences": model.corpus_count, "words": model.corpus_total_words, "vocabulary": len(model.wv)}
    return {"mpir": __version__, "corpus": corpus, "settings": settings, **counts}


class Neighbours:
    """The nearest neighbours of words, cached by word."""

    def __init__(self, path: str | Path) -> None:
        """Load vectors from a folder of `train_vectors` or a file. Raises as `read_word_vectors`."""
        self._vectors = read_word_vectors(path)
        self._found: dict[str, tuple[str, ...]] = {}
        self.identity = {"vectors": sha256(vectors_file(path))}

    def of(self, word: str) -> tuple[str, ...]:
        """The five nearest words, nearest first; other forms of the word itself don't count. () without a vector."""
        key = next((form for form in (word, word.lower()) if form in self._vectors), None)
        if key is None:
            return ()
        if key not in self._found:
            self._found[key] = tuple(self._look_up(key))
        return self._found[key]

    def _look_up(self, key: str) -> list[str]:
        near = (name for name, _ in self._vectors.most_similar(key, topn=4 * NEIGHBOURS, restrict_vocab=COMMON))
        return [name for name in near if name.isalpha() and not _same_word(key, name)][:NEIGHBOURS]


def _same_word(first: str, second: str) -> bool:
    """Whether two words share the first two thirds of their letters, so that they differ only in the ending."""
    first, second = first.lower(), second.lower()
    shared = max(3, 2 * max(len(first), len(second)) // 3)
    return first[:shared] == second[:shared]


def vectors_file(path: str | Path) -> Path:
    """Return the file itself, or the vectors file of a folder that `mpir data vectors` wrote."""
    return Path(path) / FILE if Path(path).is_dir() else Path(path)


def read_word_vectors(path: str | Path) -> Any:
    """Read gensim's KeyedVectors from a vectors folder or a file (``.bin``, ``.txt``, ``.vec``, or gzipped).

    gensim's own format is refused, because it is pickled and reading it could run arbitrary code.

    Raises:
        ArtefactError: the file is missing or in another format.
        InputError: gensim is not installed.
    """
    with needs("sia", "reading word vectors"):
        from gensim.models import KeyedVectors

    file = vectors_file(path)
    if not file.is_file():
        raise ArtefactError(f"{file}: there are no word vectors; make some with `mpir data vectors`, or give a file.")
    name = file.name.removesuffix(".gz")
    if not name.endswith((".bin", ".txt", ".vec")):
        raise ArtefactError(
            f"{file}: is not in word2vec's format (.bin, .txt or .vec); if it is gensim's own, which may run code when "
            "it is read, load it yourself and write it with save_word2vec_format(…, binary=True)."
        )
    _check(file)
    try:
        return KeyedVectors.load_word2vec_format(str(file), binary=name.endswith(".bin"))
    except Exception as error:  # gensim raises many types while parsing
        raise ArtefactError(
            f"{file}: cannot be read as word vectors ({type(error).__name__}: {str(error)[:80]}); expected word2vec's "
            "format as .bin, .txt or .vec."
        ) from error


def _check(file: Path) -> None:
    """Compare vectors with the stored hash, if there is one.

    Raises:
        ArtefactError: the file has changed.
    """
    made_by = file.with_name(MADE_BY)
    if file.name == FILE and made_by.is_file():
        remedy = "train the vectors again"
        check_files(file.parent, read_json_with_checksum(made_by, remedy).get("files", {}), remedy, content=True)

"""The arguments of `mpir index`, and what its jobs have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.app.cli.first_stage import DEFAULT, DENSE_FOLDER
from mpir.app.cli.progress import report_index, shows_progress
from mpir.errors import InputError
from mpir.files.read import STDIN
from mpir.validation import optional_whole_number

if TYPE_CHECKING:
    from mpir.core.text.terms import StopWords

UNCHANGED = ", kept: the corpus has not changed"


@dataclass(frozen=True, kw_only=True)
class IndexArguments:
    """The arguments of `mpir index`; `factory` is faiss's string, `vectors` and `ids` are files."""

    paths: Sequence[str]
    index: Path
    stop_words: StopWords
    dense: bool
    encoder: str | None
    factory: str | None
    sentence_vectors: bool
    vectors: Sequence[str]
    ids: Sequence[str]
    update: bool
    verify: bool
    workers: int | None
    ray: str | None
    gpus_per_worker: float | None
    shard: str | None
    quiet: bool

    @property
    def encoder_name(self) -> str:
        """The encoder, or the one that is used without the option."""
        return self.encoder or DEFAULT

    @property
    def factory_name(self) -> str:
        """Faiss's string, or that of the exact search."""
        from mpir.search.dense.faiss_backend import FLAT

        return self.factory or FLAT

    @property
    def dense_folder(self) -> Path:
        """Where the vectors are in the index."""
        return self.index / DENSE_FOLDER

    @property
    def reads_stdin(self) -> bool:
        """Whether documents come from standard input."""
        return STDIN in self.paths

    @property
    def progress(self) -> bool:
        """Whether progress is shown."""
        return shows_progress(self)

    def threads(self) -> int | None:
        """The threads that index, which are not the workers of Ray. Raises InputError for too many."""
        from mpir.search.lucene.build import MOST_THREADS

        return optional_whole_number("--workers", None if self.ray else self.workers, maximum=MOST_THREADS)

    def check_paths(self) -> None:
        """Raise InputError without a corpus, and OutputError for an index that would replace it."""
        from mpir.files.output_checks import check_folders

        if not self.paths:
            raise InputError("PATH is missing; name a corpus file or folder, or check an existing index with --verify.")
        check_folders([("--index", self.index)], [("PATH", path) for path in self.paths if path != STDIN])

    def report(self, documents: int, note: str, **facts: Any) -> None:
        """Print the number of documents, unless --quiet is given."""
        if not self.quiet:
            report_index(self.index, documents, note, **facts)

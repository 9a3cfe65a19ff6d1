"""The arguments of `mpir index`, and what its jobs have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from mpir.app.cli.common_options import QuietArguments
from mpir.app.cli.first_stage import DEFAULT, DENSE_FOLDER
from mpir.app.cli.option import flag, option, positional, setting
from mpir.app.cli.progress import report_index, shows_progress
from mpir.app.cli.ray_options import RayArguments
from mpir.app.cli.value_options import DOCS, output_path, positive, text_path
from mpir.core.text.terms import StopWords
from mpir.errors import InputError
from mpir.files.read import STDIN
from mpir.validation import optional_whole_number

UNCHANGED = ", kept: the corpus has not changed"


@dataclass(frozen=True, kw_only=True)
class IndexArguments(RayArguments, QuietArguments):
    """The arguments of `mpir index`; `factory` is faiss's string, `vectors` and `ids` are files."""

    paths: Sequence[str] = positional(help=f"corpus: {DOCS}", type=text_path, default=[], nargs="*", metavar="PATH")
    index: Path = option(
        "--index", help="folder that the index goes to", type=output_path, required=True, metavar="DIR"
    )
    encoder: str | None = option(
        "--encoder",
        help="encoder for vectors: a bundle with a bi-encoder, or a sentence encoder's folder or hub name (default: "
        "the bundle default)",
        type=text_path,
        metavar="NAME|DIR",
        group="models",
    )
    workers: int | None = option(
        "--workers",
        help="threads on this machine (default: one per core), or workers of --ray",
        type=positive,
        metavar="N",
        group="parallel",
        advanced=True,
    )
    ray: str | None = option(
        "--ray",
        help="with --dense, make the vectors on a Ray cluster: the HOST:PORT of its head, auto, or local "
        "(docs/guides/ray.md)",
        metavar="ADDRESS",
        group="parallel",
        advanced=True,
    )
    shard: str | None = option(
        "--shard",
        help="make only shard i of n of the vectors, without an index of words; `mpir merge` joins them (default: a "
        "Slurm array's task, else all)",
        metavar="i/n",
        group="parallel",
        advanced=True,
    )
    dense: bool = flag("--dense", help="index the documents' vectors, too")
    update: bool = flag("--update", help="change the index that is there by the documents of PATH alone")
    verify: bool = flag("--verify", help="build nothing, but compare every file of the index with its hash")
    vectors: Sequence[str] = option(
        "--vectors",
        help="files of vectors (.npy) to add, of documents that --encoder's model has encoded",
        type=text_path,
        default=[],
        nargs="+",
        metavar="FILE",
    )
    ids: Sequence[str] = option(
        "--ids",
        help="for each file of --vectors, a file with the ids of its rows (.json, or an id a line)",
        type=text_path,
        default=[],
        nargs="+",
        metavar="FILE",
    )
    factory: str | None = option(
        "--kind",
        help="kind of vector index: Flat (exact, default), binary (a bit a dimension in memory, the vectors on disk), "
        "or another of faiss's strings",
        metavar="KIND",
    )
    sentence_vectors: bool = setting(
        "index.sentence_vectors", help="keep the vectors of every sentence, too", default=False, needs="--dense"
    )
    stop_words: StopWords = setting(
        "index.stop_words",
        help='words that a search leaves out: Lucene\'s English ones, these but for "no" and "not", or none',
        default="english",
        choices=get_args(StopWords),
    )

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

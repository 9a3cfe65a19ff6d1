"""The first stage on the command line: BM25, vectors or both, and the encoder for the vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from mpir.app.cli.chat_options import ChatArguments, open_endpoint
from mpir.app.cli.option import option, setting
from mpir.app.cli.value_options import text_path
from mpir.errors import ArtefactError, InputError, format_names, format_value
from mpir.search.memory import DEFAULT_B, DEFAULT_K1, Rm3
from mpir.validation import real_number

if TYPE_CHECKING:
    from mpir.core.text.types import Document, Sentence
    from mpir.models.embedding_model import PooledEncoder
    from mpir.search import LuceneIndex, Retriever
    from mpir.search.base import Vectoriser
    from mpir.search.dense import DenseIndex, DenseIndexes

DENSE_FOLDER = "dense"
"""The vectors' folder inside an index folder."""
DEFAULT = "default"
Mode = Literal["bm25", "dense", "hybrid"]
BY_WORDS = "--mode bm25 or hybrid"
"""The modes that search by words."""


@dataclass(frozen=True, kw_only=True)
class SearchArguments:
    """How an index is searched."""

    encoder: str | None = option(
        "--encoder",
        help="encoder for vectors, if it is another than the index was made with",
        type=text_path,
        metavar="NAME|DIR",
        group="search",
        advanced=True,
    )
    mode: Mode = option(
        "--mode",
        help="what to search by (%(default)s)",
        default="bm25",
        choices=get_args(Mode),
        group="search",
    )
    fusion: str = setting(
        "search.fusion", help="how a hybrid search fuses", default="rrf", choices=("rrf", "sum"), needs="--mode hybrid"
    )
    dense_weight: str = setting(
        "search.dense_weight",
        help="the vectors' share in search.fusion=sum, 0 to 1 (BM25 has the rest), or tuned weights",
        type=text_path,
        default="0.5",
        metavar="W",
        needs="search.fusion=sum",
    )
    k1: float = setting("bm25.k1", help="BM25's k1", type=float, default=DEFAULT_K1, metavar="X", needs=BY_WORDS)
    b: float = setting("bm25.b", help="BM25's b", type=float, default=DEFAULT_B, metavar="X", needs=BY_WORDS)
    question_words: bool = setting(
        "bm25.question_words",
        help='search for query words such as "which" and "list", too',
        default=True,
        needs=BY_WORDS,
    )
    rm3_documents: int | None = setting(
        "rm3.documents",
        help="repeat BM25 with words of the N best documents (5); any rm3 setting turns this on",
        type=int,
        metavar="N",
        needs=BY_WORDS,
    )
    rm3_terms: int | None = setting("rm3.terms", help="words to add (20)", type=int, metavar="N", needs=BY_WORDS)
    rm3_weight: float | None = setting(
        "rm3.weight", help="weight of the query's own words, 0 to 1 (0.8)", type=float, metavar="W", needs=BY_WORDS
    )

    @property
    def passage_writer(self) -> ChatArguments | None:
        """The chat model that writes a passage to search for with each question, if one does."""
        return None

    def check_encoder(self) -> None:
        """Raise InputError for an encoder where nothing is searched by vectors."""
        if self.encoder and self.mode == "bm25":
            raise InputError(
                f"--encoder {self.encoder} makes vectors, and --mode bm25 searches by words; add --mode hybrid or "
                "dense, or leave it out."
            )

    def facts(self) -> dict[str, Any]:
        """The options by name, for identifying stored results."""
        return {item.name: getattr(self, item.name) for item in fields(SearchArguments)}


@dataclass(frozen=True, kw_only=True)
class HydeSearchArguments(SearchArguments, ChatArguments):
    """A search whose questions a chat model may answer with a passage to search for."""

    llm_hyde: bool = setting(
        "llm.hyde",
        help="search with the mean of the question's vector and that of a passage that the chat model writes as an "
        "answer (HyDE)",
        default=False,
        needs="--llm",
    )

    @property
    def passage_writer(self) -> ChatArguments | None:
        """The chat model that writes a passage to search for with each question, if `llm.hyde` is set."""
        return self if self.llm_hyde else None


def feedback(arguments: SearchArguments) -> Rm3 | None:
    """The feedback that the settings of `rm3` select, or None without any. Raises InputError as `Rm3`."""
    options: dict[str, Any] = {
        "documents": arguments.rm3_documents,
        "terms": arguments.rm3_terms,
        "weight": arguments.rm3_weight,
    }
    chosen = {name: value for name, value in options.items() if value is not None}
    return Rm3(**chosen) if chosen else None


def open_first_stage(arguments: SearchArguments, folders: Sequence[str | Path]) -> Retriever:
    """Open the first stage of the mode in index folders.

    Raises:
        ArtefactError: there is no such index, it has no vectors, or they are from another encoder.
        InputError: a weight or a BM25 parameter out of bounds, or an option without an effect in this mode.
    """
    from mpir.search import HybridRetriever
    from mpir.search.engine_address import is_engine

    weight = dense_weight(arguments.dense_weight)
    arguments.check_encoder()
    if arguments.passage_writer and arguments.mode == "bm25":
        raise InputError("llm.hyde changes the vectors of questions; add --mode hybrid or dense, or leave it out.")
    words, vectors = (_in_engine if any(map(is_engine, folders)) else _in_folders)(folders, arguments)
    if arguments.mode != "hybrid":
        return words() if arguments.mode == "bm25" else vectors()
    return HybridRetriever([words(), vectors()], fusion=arguments.fusion, weights=[1 - weight, weight])


Opened = tuple[Callable[[], "Retriever"], Callable[[], "Retriever"]]
"""Functions that open a search by words and one by vectors."""


def _in_folders(folders: Sequence[str | Path], arguments: SearchArguments) -> Opened:
    from mpir.search import LuceneIndex

    options: dict[str, Any] = {"k1": arguments.k1, "b": arguments.b, "rm3": feedback(arguments)}
    words = partial(LuceneIndex, folders, **options, question_words=arguments.question_words)
    passages = partial(_writing_passages, arguments=arguments)
    return words, partial(open_dense_indexes, folders, arguments.encoder, passages)


def _writing_passages(encoder: PooledEncoder, arguments: SearchArguments) -> Vectoriser:
    """Return the encoder, or the one that encodes a passage with each query if `llm.hyde` is set."""
    writer = arguments.passage_writer
    if writer is None:
        return encoder
    from mpir.models.chat.hyde import HydeEncoder

    return HydeEncoder(encoder, open_endpoint(writer))


def _in_engine(folders: Sequence[str | Path], arguments: SearchArguments) -> Opened:
    """A search by an engine's own BM25, and by its vectors. Raises InputError for options of Lucene's."""
    from mpir.files.http import without_login
    from mpir.search.engine_address import engine_class

    addresses = [str(folder) for folder in folders]
    name = without_login(addresses[0])
    if len(addresses) > 1:
        raise InputError(f"--index: {name} is in an engine and cannot be searched with others; name it alone.")
    if feedback(arguments) or (arguments.k1, arguments.b) != (DEFAULT_K1, DEFAULT_B) or not arguments.question_words:
        raise InputError(f"{name}: settings of bm25 and rm3 are for mpir's own indexes; leave them out.")
    engine = engine_class(addresses[0])

    def vectors() -> Retriever:
        encoder = _writing_passages(open_encoder(arguments.encoder or DEFAULT), arguments)
        return engine(addresses[0], mode="dense", encoder=encoder)

    return partial(engine, addresses[0]), vectors


def open_dense_indexes(
    folders: Sequence[str | Path], encoder: str | None, wrap: Callable[[PooledEncoder], Vectoriser] | None = None
) -> DenseIndex | DenseIndexes:
    """The vectors of several indexes, whose encoder is loaded once; `wrap` may change how it reads queries."""
    from mpir.search import DenseIndex, DenseIndexes
    from mpir.search.base import check_different

    check_different(folders)
    first = open_dense(folders[0], encoder, wrap)
    others = [DenseIndex(Path(folder) / DENSE_FOLDER, first.encoder, texts=_texts(folder)) for folder in folders[1:]]
    return DenseIndexes([first, *others]) if others else first


def index_source(folders: Sequence[str | Path]) -> Any:
    """The corpus of an index, the corpora of several, or an engine's address, for identifying stored results."""
    from mpir.search import read_info
    from mpir.search.engine_address import is_engine

    if any(map(is_engine, folders)):
        return [str(folder) for folder in folders]
    sources = [dict(read_info(folder).source) for folder in folders]
    return sources[0] if len(sources) == 1 else sources


def dense_weight(text: str) -> float:
    """The vectors' share of a weighted sum: a number from 0 to 1, or their share in tuned weights.

    `mpir tune` with ``zscore`` weighs the same z-scores, so its β of ``bm25`` and ``dense`` can be used here.

    Raises:
        InputError: another number, no such file, or weights for other scales or columns.
    """
    from mpir.files.weights import read_weights

    try:
        share = float(text)
    except ValueError:
        tuned = read_weights(text)
        both = [tuned.beta.get(name, -1.0) for name in ("bm25", "dense")]
        if tuned.normalise != "zscore" or min(both) < 0 or not sum(both):
            raise InputError(
                f"{text}: weighs {format_names(tuned.beta)} by normalise {format_value(tuned.normalise)}; "
                "expected "
                "a number from 0 to 1, or weights of bm25 and dense that `mpir tune --set tune.normalise=zscore` found."
            ) from None
        return both[1] / sum(both)
    expected = "a number from 0 to 1, or a file of tuned weights"
    return real_number("search.dense_weight", share, expected, lambda value: 0 <= value <= 1)


def nearest_sentences(index: Retriever, query: str, documents: Sequence[Document]) -> dict[str, tuple[Sentence, float]]:
    """By document id, the sentence whose vector is nearest to the query's; empty without sentence vectors."""
    from mpir.search import DenseIndex, DenseIndexes, HybridRetriever

    stages = index.retrievers if isinstance(index, HybridRetriever) else (index,)
    vectors = (stage for stage in stages if isinstance(stage, DenseIndex | DenseIndexes))
    dense = next((stage for stage in vectors if stage.has_sentences), None)
    if dense is None:
        return {}
    names = [document.id for document in documents]
    return {
        name: sentences[0] for name, sentences in zip(names, dense.sentences_of(query, names), strict=True) if sentences
    }


def first_stage_identity(arguments: SearchArguments, index: Retriever) -> dict[str, Any]:
    """Everything that candidates depend on besides the index and BM25's parameters, for identifying stored results."""
    identity = dict(index.identity)
    if arguments.mode == "bm25":
        return {name: identity[name] for name in ("stop_words", "rm3", "question_words") if name in identity}
    hyde = {"hyde": arguments.passage_writer.llm} if arguments.passage_writer else {}
    return {"first_stage": identity, **hyde}


def open_encoder(which: str, *, fetch: bool = True) -> PooledEncoder:
    """Open the encoder for search of a bundle, with the bundle's settings, or of a checkpoint.

    Without `fetch`, no hub is asked, because an index names the encoder, and not the user.

    Raises:
        ArtefactError: a bundle without a bi-encoder, or neither a bundle nor a checkpoint.
    """
    from mpir.models.bundles.bundle import MANIFEST, SHIPPED, open_bundle
    from mpir.models.perspectives.bi_encoder import BiEncoderPerspective

    if not (Path(which) / MANIFEST).is_file() and not (SHIPPED / which / MANIFEST).is_file():
        from mpir.models.embedding_model import open_embedding_model

        return open_embedding_model(which, fetch=fetch)
    bundle = open_bundle(which if (SHIPPED / which / MANIFEST).is_file() else Path(which))
    perspective = bundle.bi_encoder()
    if isinstance(perspective, BiEncoderPerspective):
        return perspective.texts
    raise ArtefactError(
        f"the bundle {format_value(which)} has no bi-encoder, so it makes no vectors; give a sentence encoder with "
        "--encoder, such as the hub's sentence-transformers/all-MiniLM-L6-v2 or the folder of one."
    )


def open_dense(
    folder: str | Path, encoder: str | None, wrap: Callable[[PooledEncoder], Vectoriser] | None = None
) -> DenseIndex:
    """The vectors in an index folder, with the encoder that made them or the given one."""
    from mpir.search.dense import DenseIndex, read_dense_info

    dense_folder = Path(folder) / DENSE_FOLDER
    source = read_dense_info(dense_folder).source
    opened = open_encoder(encoder or source.get("encoder") or DEFAULT, fetch=encoder is not None)
    return DenseIndex(dense_folder, wrap(opened) if wrap else opened, texts=_texts(folder))


def _texts(folder: str | Path) -> LuceneIndex | None:
    """The texts of vectors that came without them."""
    from mpir.search import LuceneIndex
    from mpir.search.dense import read_dense_info

    source = read_dense_info(Path(folder) / DENSE_FOLDER).source
    return LuceneIndex(folder) if "vectors" in source else None


def keep_vectors(
    paths: Sequence[str],
    folder: str | Path,
    encoder: str | None,
    *,
    factory: str = "Flat",
    sentences: bool = False,
    progress: bool = False,
    opened: Vectoriser | None = None,
) -> bool:
    """Add a corpus's vectors to its index folder unless current ones exist; return whether they did.

    The index must exist. `opened` is the encoder, if it is already open.
    """
    from mpir.files.corpora.corpus import corpus_fingerprint, read_collection
    from mpir.search import read_info
    from mpir.search.dense import build_dense, dense_matches

    which, dense_folder = encoder or DEFAULT, Path(folder) / DENSE_FOLDER
    opened, source = opened or open_encoder(which), {**corpus_fingerprint(paths), "encoder": which}
    if dense_matches(dense_folder, source, opened.identity, factory=factory, sentences=sentences):
        return True
    how: dict[str, Any] = {"factory": factory, "sentences": sentences, "total": read_info(folder).documents}
    build_dense(read_collection(paths), dense_folder, opened, source=source, progress=progress, **how)
    return False

"""``mpir index``: make a Lucene index of a corpus and, with ``--dense``, an index of its vectors."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.app.cli.first_stage import DEFAULT, DENSE_FOLDER, keep_vectors, open_encoder
from mpir.app.cli.progress import report_index, shows_progress
from mpir.app.cli.ray_options import check_ray_options, chosen_shard, encoding_on_actors
from mpir.errors import InputError
from mpir.files.read import STDIN
from mpir.validation import optional_whole_number

if TYPE_CHECKING:
    from mpir.files.job_shards import Shard
    from mpir.models.embedding_model import PooledEncoder
    from mpir.search.dense.shards import Vectoriser

EPILOG = """\
A PATH is a file or a folder of PubMed XML (.xml), full papers as PMC gives them (.nxml, .xml) or PDF, JSON lines
(.jsonl) or tables (.csv) with id or pmid, title, and abstract, text, contents, content, page_content or body, or
references as PubMed's site (.nbib, pubmed-*.txt) and reference managers (.ris) save them, gzipped or not; "-" is JSON
lines on standard input. The index stores titles and abstracts, so a search needs no corpus. An existing index is
replaced only once the new one is complete, and is kept if the files have not changed. A document that occurs in several
files with the same id and text is indexed once; the same id with different texts is an error. PubMed's files are
indexed in groups of a few minutes: after an interrupt, repeat the command to resume after the last group.

examples:
  mpir index abstracts.jsonl --index pubmed-index
  mpir index baseline/ updatefiles/ --index pubmed-index --workers 8
  mpir index abstracts.jsonl --index pubmed-index --dense
  mpir index reports.jsonl --index reports-index --set index.stop_words=not-no
  zcat corpus.jsonl.gz | mpir index - --index pubmed-index --quiet
  mpir index updatefiles/pubmed26n1335.xml.gz --update --index pubmed-index
  mpir index --verify --index pubmed-index
  mpir index baseline/ --index pubmed-index --kind binary --encoder ncbi/MedCPT-Query-Encoder
    --vectors embeds_chunk_*.npy --ids pmids_chunk_*.json

--update replaces the documents of an index that have the ids of those in PATH, adds the others, and removes what
PubMed's files delete. All other documents stay. Vectors are also updated, and open searches continue to work.

--verify compares every file with its hash and runs Lucene's own check. Without it, opening an index checks the files
that are newer than its manifest, and the smallest others up to 1 GiB in total. The exit status for a damaged file is 2.

--dense adds the documents' vectors, for `mpir search --mode dense` or `hybrid`. They are made block by block: after an
interrupt, repeat the command to resume. With --shard i/n, only shard i of n is made, in the folder that
--index names; `mpir merge` adds all shards to an index (docs/guides/scale.md):
  mpir index abstracts.jsonl --index shards/3 --dense --shard 3/10
  mpir merge shards/* --output pubmed-index

--vectors adds vectors that exist already, such as those that NCBI publishes of all PubMed: numpy's .npy, with a file
of ids for each, a JSON list or an id a line, in the same order. --encoder names the encoder of the queries. Without
PATH, the vectors are added to the index that is there. Vectors whose ids it lacks are counted and left out.

Java 21 or later is taken from JAVA_HOME, or else comes with mpir. MPIR_JAVA_OPTIONS sets its options, such as
MPIR_JAVA_OPTIONS=-Xmx8g for a large corpus.
"""
UNCHANGED = ", kept: the corpus has not changed"
BUILDING = ("kind", "shard", "ray")
"""Options that apply only to building an index."""
ENCODING_OPTIONS = ("dense", "shard", "ray", "update", "sentence_vectors")
"""Options that encode documents, which vectors of files make unnecessary."""


def run(arguments: argparse.Namespace) -> int:
    """Build, keep, update or verify the index; 0 is the exit status. Raises MpirError for a user's mistake."""
    if arguments.verify:
        return _verify(arguments)
    if arguments.vectors or arguments.ids:
        return _with_vectors(arguments)
    return _of_corpus(arguments)


def _with_vectors(arguments: argparse.Namespace) -> int:
    """Add vectors of files to an index, which is built from the paths if there are any; 0 is the exit status."""
    from mpir.search import read_info

    _check_vectors(arguments)
    if arguments.paths:
        words: dict[str, Any] = {"encoder": None, "kind": None, "vectors": [], "ids": [], "quiet": True}
        _of_corpus(argparse.Namespace(**vars(arguments) | words))
    missing = _vectors_of_files(arguments)
    if not arguments.quiet:
        note = f", {missing:,} of them without a vector"
        report_index(arguments.index, read_info(arguments.index).documents, note, without_vector=missing)
    return 0


def _of_corpus(arguments: argparse.Namespace) -> int:
    """Build or update the index from the paths; 0 is the exit status."""
    if not arguments.paths:
        raise InputError("PATH is missing; name a corpus file or folder, or check an existing index with --verify.")
    from mpir.files.corpora.corpus import corpus_fingerprint
    from mpir.files.output_checks import check_folders
    from mpir.search.indexer import MOST_THREADS

    workers = None if arguments.ray else arguments.workers
    threads = optional_whole_number("--workers", workers, maximum=MOST_THREADS)
    check_folders([("--index", arguments.index)], [("PATH", path) for path in arguments.paths if path != STDIN])
    if arguments.update:
        return _update(arguments, threads)
    source = corpus_fingerprint(arguments.paths)
    check_ray_options(arguments)
    for name in ("encoder", "kind", "shard", "ray"):
        if getattr(arguments, name) and not arguments.dense:
            raise InputError(f"--{name} says how vectors are made; add --dense, or leave it out.")
    if arguments.dense and STDIN in arguments.paths:
        raise InputError("--dense reads the corpus twice, which standard input cannot give; write it to a file.")
    shard = chosen_shard(arguments) if arguments.dense else None
    encoder = _encoder(arguments) if arguments.dense else None
    with encoding_on_actors(arguments, encoder, partial(open_encoder, arguments.encoder or DEFAULT)):
        return _build(arguments, encoder, shard, source, threads)


def _build(
    arguments: argparse.Namespace,
    encoder: PooledEncoder | None,
    shard: Shard | None,
    source: dict[str, Any],
    threads: int | None,
) -> int:
    """Build an index, or a shard of its vectors, unless a current one exists; 0 is the exit status."""
    from mpir.search import index_files, index_matches, read_info, remove_groups

    progress = shows_progress(arguments)
    if encoder is not None and shard is not None and shard.count > 1:
        return _make_part(arguments, encoder, shard, source, progress=progress)
    is_current = STDIN not in arguments.paths and index_matches(
        arguments.index, source, stop_words=arguments.stop_words
    )
    if is_current:
        remove_groups(arguments.index)
    else:
        options: dict[str, Any] = {"threads": threads, "stop_words": arguments.stop_words}
        index_files(arguments.paths, arguments.index, source=source, progress=progress, **options)
    if encoder is not None:
        is_current = _add_vectors(arguments, encoder, progress=progress) and is_current
    if not arguments.quiet:
        note = UNCHANGED if is_current else " indexed"
        report_index(arguments.index, read_info(arguments.index).documents, note, kept=is_current)
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    """Print a line for each kind of file that is intact. Raises ArtefactError for a damaged one."""
    from mpir.search.verify import verify_index

    if arguments.paths:
        raise InputError(f"--verify reads the index alone (got PATH {arguments.paths[0]}); leave the paths out.")
    for line in verify_index(arguments.index):
        if not arguments.quiet:
            print(line, flush=True)
    return 0


def _encoder(arguments: argparse.Namespace) -> PooledEncoder:
    """Open the encoder before the index is built, because building may take hours and replaces an existing index."""
    from mpir.search.dense.build import check_factory
    from mpir.search.dense.faiss_backend import FLAT

    opened = open_encoder(arguments.encoder or DEFAULT)
    check_factory(opened, arguments.kind or FLAT)
    return opened


def _add_vectors(arguments: argparse.Namespace, encoder: Vectoriser, *, progress: bool) -> bool:
    """Add the vectors unless current ones exist; return whether they did. The encoder's former name is updated."""
    from mpir.search.dense.build import rename_encoder

    how: dict[str, Any] = {"sentences": arguments.sentence_vectors, "progress": progress, "opened": encoder}
    how |= {"factory": arguments.kind} if arguments.kind else {}
    is_current = keep_vectors(arguments.paths, arguments.index, arguments.encoder, **how)
    rename_encoder(Path(arguments.index) / DENSE_FOLDER, arguments.encoder or DEFAULT)
    return is_current


def _make_part(
    arguments: argparse.Namespace, encoder: Vectoriser, shard: Shard, source: dict[str, Any], *, progress: bool
) -> int:
    """Make a shard of the vectors unless a current one exists; 0 is the exit status."""
    from mpir.files.corpora.corpus import naming_places, read_collection
    from mpir.search.dense.faiss_backend import FLAT
    from mpir.search.dense.job_shards import VectorSettings, build_shard, document_count, shard_matches

    settings = VectorSettings(
        source={**source, "encoder": arguments.encoder or DEFAULT},
        factory=arguments.kind or FLAT,
        sentences=arguments.sentence_vectors,
    )
    is_current = shard_matches(arguments.index, shard, settings.job(encoder))
    if not is_current:
        with naming_places(arguments.paths):
            documents = read_collection(arguments.paths)
            build_shard(documents, arguments.index, encoder, settings, shard=shard, progress=progress)
    if not arguments.quiet:
        note = UNCHANGED if is_current else " indexed"
        report_index(arguments.index, document_count(Path(arguments.index)), note, kept=is_current)
    return 0


def _update(arguments: argparse.Namespace, threads: int | None) -> int:
    """Update the index, unless it has all files of the corpus; 0 is the exit status. Raises MpirError otherwise."""
    from mpir.files.corpora.corpus import corpus_fingerprint, deleted_ids, naming_places, read_collection
    from mpir.search import read_info
    from mpir.search.updates import has_update, update_index

    _check_update(arguments)
    source, info = corpus_fingerprint(arguments.paths), read_info(arguments.index)
    is_current = has_update(info, source)
    if not is_current:
        encoder = _encoder_of_vectors(arguments)
        with naming_places(arguments.paths):
            documents, deleted = read_collection(arguments.paths), deleted_ids(arguments.paths)
            options: dict[str, Any] = {"source": source, "encoder": encoder, "threads": threads}
            info = update_index(
                documents, arguments.index, deleted=deleted, progress=shows_progress(arguments), **options
            )
    if not arguments.quiet:
        note = ", kept: it had this update" if is_current else ", updated"
        report_index(arguments.index, info.documents, note, kept=is_current)
    return 0


def _check_update(arguments: argparse.Namespace) -> None:
    """Raise InputError for options that do not apply to an update."""
    for name in BUILDING:
        if getattr(arguments, name):
            raise InputError(f"--{name} is for building; an update keeps it as it is, so leave it out.")
    if STDIN in arguments.paths:
        raise InputError("--update reads the documents twice, which standard input cannot give; write it to a file.")


def _encoder_of_vectors(arguments: argparse.Namespace) -> Vectoriser | None:
    """The encoder of the index's vectors, or None where it has none. Raises InputError for --dense without vectors."""
    from mpir.search.dense import read_dense_info
    from mpir.search.dense.manifest import MANIFEST

    folder = Path(arguments.index) / DENSE_FOLDER
    if not (folder / MANIFEST).is_file():
        if arguments.dense or arguments.encoder:
            raise InputError(f"{arguments.index}: has no vectors to update; leave --dense and --encoder out.")
        return None
    source = read_dense_info(folder).source
    if "vectors" in source:
        raise InputError(
            f"{arguments.index}: its vectors came from files (--vectors), so mpir cannot make those of new documents. "
            "Update the words of an index without vectors, and add all vectors again."
        )
    encoder = arguments.encoder or source.get("encoder") or DEFAULT
    return open_encoder(encoder, fetch=arguments.encoder is not None)


def _check_vectors(arguments: argparse.Namespace) -> None:
    """Raise InputError for --vectors without --ids, or with options that encode documents."""
    if not arguments.vectors:
        raise InputError("--ids names the ids of --vectors; add the files of vectors, or leave it out.")
    if not arguments.ids:
        raise InputError("--vectors needs the ids of the vectors; add --ids with a file of ids for each.")
    for name in ENCODING_OPTIONS:
        if getattr(arguments, name):
            raise InputError(f"--{name.replace('_', '-')} is for encoding documents; leave it out with --vectors.")


def _vectors_of_files(arguments: argparse.Namespace) -> int:
    """Add the vectors to the index, unless it has them; return the number of its documents without one."""
    import numpy as np
    from tqdm import tqdm

    from mpir.search import LuceneIndex
    from mpir.search.dense.build import check_factory
    from mpir.search.dense.faiss_backend import FLAT
    from mpir.search.dense.vector_files import from_files

    name, factory = arguments.encoder or DEFAULT, arguments.kind or FLAT
    encoder = open_encoder(name)
    check_factory(encoder, factory)
    vector = encoder.query_vectors(["length"])[0][0]
    with LuceneIndex(arguments.index) as index:
        known = index.known_ids()
        source = {**index.info.source, "encoder": name, "vectors": [str(path) for path in arguments.vectors]}
        how: dict[str, Any] = {"factory": factory, "encoder": dict(encoder.identity), "known": known.among}
        bar = tqdm(desc="Indexing", unit=" vectors", disable=not shows_progress(arguments))
        how |= {"is_unit": bool(abs(np.linalg.norm(vector) - 1) < 0.01), "report": bar.update, "source": source}
        folder = Path(arguments.index) / DENSE_FOLDER
        info, _ = from_files(arguments.vectors, arguments.ids, folder, width=len(vector), **how)
        return len(index) - info.documents

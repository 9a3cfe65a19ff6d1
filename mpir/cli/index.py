"""``mpir index``: make a Lucene index of a corpus."""

from __future__ import annotations

import argparse
import json
import sys

EPILOG = """\
A PATH is a file or a folder of PubMed XML (.xml, .xml.gz) or JSON lines (.jsonl, .jsonl.gz) with id or pmid, title, and
abstract, text, contents, content, page_content or body; "-" is JSON lines on standard input. The index stores titles
and abstracts, so a search needs no corpus. It takes its place only when it is whole; an index of the same unchanged
files is kept as it is.

examples:
  mpir index abstracts.jsonl --index pubmed-index
  mpir index baseline/ updatefiles/ --index pubmed-index --threads 8
  zcat corpus.jsonl.gz | mpir index - --index pubmed-index --quiet

Java 21 or later is taken from JAVA_HOME, or else comes with mpir. MPIR_JAVA_OPTIONS is handed to it, as in
MPIR_JAVA_OPTIONS=-Xmx8g for a large corpus.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``index``."""
    parser = subparsers.add_parser(
        "index",
        help="make a search index of a corpus",
        description="Index the titles and abstracts of a corpus with Lucene, for `mpir search` and the rerankers.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="corpus file or folder")
    parser.add_argument("--index", required=True, metavar="DIR", help="folder that the index goes to")
    parser.add_argument("--threads", type=int, metavar="N", help="indexing threads (default: one per core)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no summary")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Build the index, or keep the one that matches; 0 is the exit status. Raises MpirError for a user's mistake."""
    from mpir.corpora.corpus import corpus_fingerprint, read_corpus
    from mpir.io.read import STDIN
    from mpir.retrieve import build_index, index_matches, read_info

    source = corpus_fingerprint(arguments.paths)
    kept = STDIN not in arguments.paths and index_matches(arguments.index, source)
    if not kept:
        documents = read_corpus(arguments.paths)
        progress = not arguments.quiet and sys.stderr.isatty()
        build_index(documents, arguments.index, source=source, threads=arguments.threads, progress=progress)
    if not arguments.quiet:
        _report(arguments.index, read_info(arguments.index).documents, kept=kept)
    return 0


def _report(folder: str, documents: int, *, kept: bool) -> None:
    if sys.stdout.isatty():
        print(f"{folder}: {documents:,} documents{', kept: the corpus has not changed' if kept else ' indexed'}.")
    else:
        print(json.dumps({"index": folder, "documents": documents, "kept": kept}))

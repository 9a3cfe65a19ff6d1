"""``mpir index``: make a Lucene index of a corpus and, with ``--dense``, an index of its vectors."""

from __future__ import annotations

from mpir.app.cli.index_arguments import IndexArguments
from mpir.errors import InputError

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


def run(arguments: IndexArguments) -> int:
    """Build, keep, update or verify the index; 0 is the exit status. Raises MpirError for a user's mistake."""
    if arguments.verify:
        _verify(arguments)
    elif arguments.vectors or arguments.ids:
        from mpir.app.cli.index_vector_files import index_vector_files

        index_vector_files(arguments)
    elif arguments.update:
        from mpir.app.cli.index_update import update_by_corpus

        update_by_corpus(arguments)
    else:
        from mpir.app.cli.index_build import index_corpus

        index_corpus(arguments)
    return 0


def _verify(job: IndexArguments) -> None:
    """Print a line for each kind of file that is intact. Raises ArtefactError for a damaged one."""
    from mpir.search.lucene.verify import verify_index

    if job.paths:
        raise InputError(f"--verify reads the index alone (got PATH {job.paths[0]}); leave the paths out.")
    for line in verify_index(job.index):
        if not job.quiet:
            print(line, flush=True)

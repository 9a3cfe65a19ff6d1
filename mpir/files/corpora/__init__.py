"""Reading and writing what the field uses: PubMed XML, references, tables, JSON lines, BioASQ JSON, TREC files."""

from mpir.files.corpora.bioasq import read_questions, write_submission
from mpir.files.corpora.corpus import corpus_fingerprint, naming_places, read_collection, read_corpus
from mpir.files.corpora.jsonl import read_jsonl
from mpir.files.corpora.pubmed import read_pubmed
from mpir.files.corpora.references import read_references
from mpir.files.corpora.tables import read_table
from mpir.files.corpora.trec import read_qrels, read_run, write_qrels, write_run

__all__ = [
    "corpus_fingerprint",
    "naming_places",
    "read_collection",
    "read_corpus",
    "read_jsonl",
    "read_pubmed",
    "read_qrels",
    "read_questions",
    "read_references",
    "read_run",
    "read_table",
    "write_qrels",
    "write_run",
    "write_submission",
]

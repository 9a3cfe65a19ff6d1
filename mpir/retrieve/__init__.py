"""The first stage: BM25 over a Lucene index, and BM25 in memory for documents that the caller hands over."""

from mpir.retrieve.bm25 import DEFAULT_B, DEFAULT_K1
from mpir.retrieve.indexer import build_index
from mpir.retrieve.lucene import LuceneIndex
from mpir.retrieve.manifest import IndexInfo, index_matches, read_info
from mpir.retrieve.memory import MemoryIndex, bm25_scores

__all__ = [
    "DEFAULT_B",
    "DEFAULT_K1",
    "IndexInfo",
    "LuceneIndex",
    "MemoryIndex",
    "bm25_scores",
    "build_index",
    "index_matches",
    "read_info",
]

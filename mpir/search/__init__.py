"""The first stage: BM25 over a Lucene index, vectors, both together, and BM25 in memory for a caller's documents."""

from mpir.search.base import Retriever
from mpir.search.corpus_index import index_files, remove_groups
from mpir.search.dense import DenseIndex, DenseIndexes, build_dense
from mpir.search.hybrid import HybridRetriever
from mpir.search.indexer import build_index
from mpir.search.lucene import LuceneIndex
from mpir.search.manifest import IndexInfo, index_matches, read_info
from mpir.search.memory import DEFAULT_B, DEFAULT_K1, MemoryIndex, bm25_scores

__all__ = [
    "DEFAULT_B",
    "DEFAULT_K1",
    "DenseIndex",
    "DenseIndexes",
    "HybridRetriever",
    "IndexInfo",
    "LuceneIndex",
    "MemoryIndex",
    "Retriever",
    "bm25_scores",
    "build_dense",
    "build_index",
    "index_files",
    "index_matches",
    "read_info",
    "remove_groups",
]

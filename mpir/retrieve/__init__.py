"""The first stage: BM25 over a Lucene index, vectors, both together, and BM25 in memory for a caller's documents."""

from mpir.retrieve.base import Retriever
from mpir.retrieve.bm25 import DEFAULT_B, DEFAULT_K1
from mpir.retrieve.dense import DenseIndex, DenseIndexes, build_dense
from mpir.retrieve.hybrid import HybridRetriever
from mpir.retrieve.indexer import build_index
from mpir.retrieve.lucene import LuceneIndex
from mpir.retrieve.lucene_indexes import LuceneIndexes
from mpir.retrieve.manifest import IndexInfo, index_matches, read_info
from mpir.retrieve.memory import MemoryIndex, bm25_scores

__all__ = [
    "DEFAULT_B",
    "DEFAULT_K1",
    "DenseIndex",
    "DenseIndexes",
    "HybridRetriever",
    "IndexInfo",
    "LuceneIndex",
    "LuceneIndexes",
    "MemoryIndex",
    "Retriever",
    "bm25_scores",
    "build_dense",
    "build_index",
    "index_matches",
    "read_info",
]

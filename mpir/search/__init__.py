"""The first stage: BM25 over a Lucene index, vectors, both together, and BM25 in memory for a caller's documents."""

from typing import TYPE_CHECKING

from mpir.lazy_names import lazy_names

if TYPE_CHECKING:
    from mpir.search.base import Retriever
    from mpir.search.dense import DenseIndex, DenseIndexes, build_dense
    from mpir.search.engines.index import EngineIndex
    from mpir.search.engines.milvus import MilvusIndex
    from mpir.search.hybrid import HybridRetriever
    from mpir.search.lucene.build import build_index
    from mpir.search.lucene.build_files import index_files, remove_groups
    from mpir.search.lucene.index import LuceneIndex
    from mpir.search.lucene.manifest import IndexInfo, index_matches, read_info
    from mpir.search.lucene.updates import update_index
    from mpir.search.memory import DEFAULT_B, DEFAULT_K1, MemoryIndex, Rm3, bm25_scores

__all__ = [
    "DEFAULT_B",
    "DEFAULT_K1",
    "DenseIndex",
    "DenseIndexes",
    "EngineIndex",
    "HybridRetriever",
    "IndexInfo",
    "LuceneIndex",
    "MemoryIndex",
    "MilvusIndex",
    "Retriever",
    "Rm3",
    "bm25_scores",
    "build_dense",
    "build_index",
    "index_files",
    "index_matches",
    "read_info",
    "remove_groups",
    "update_index",
]

# the modules of one search do not need those of the others
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "DEFAULT_B": "mpir.search.memory",
        "DEFAULT_K1": "mpir.search.memory",
        "DenseIndex": "mpir.search.dense",
        "DenseIndexes": "mpir.search.dense",
        "EngineIndex": "mpir.search.engines.index",
        "HybridRetriever": "mpir.search.hybrid",
        "IndexInfo": "mpir.search.lucene.manifest",
        "LuceneIndex": "mpir.search.lucene.index",
        "MemoryIndex": "mpir.search.memory",
        "MilvusIndex": "mpir.search.engines.milvus",
        "Retriever": "mpir.search.base",
        "Rm3": "mpir.search.memory",
        "bm25_scores": "mpir.search.memory",
        "build_dense": "mpir.search.dense",
        "build_index": "mpir.search.lucene.build",
        "index_files": "mpir.search.lucene.build_files",
        "index_matches": "mpir.search.lucene.manifest",
        "read_info": "mpir.search.lucene.manifest",
        "remove_groups": "mpir.search.lucene.build_files",
        "update_index": "mpir.search.lucene.updates",
    },
)

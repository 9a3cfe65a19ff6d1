"""Dense retrieval: the vectors of documents in a faiss index, in segments on disk."""

from mpir.search.dense.build import build_dense
from mpir.search.dense.index import DenseIndex
from mpir.search.dense.indexes import DenseIndexes
from mpir.search.dense.manifest import DenseInfo, dense_matches, read_dense_info
from mpir.search.dense.vector_files import from_vectors
from mpir.search.dense.writer import add_documents, remove_documents

__all__ = [
    "DenseIndex",
    "DenseIndexes",
    "DenseInfo",
    "add_documents",
    "build_dense",
    "dense_matches",
    "from_vectors",
    "read_dense_info",
    "remove_documents",
]

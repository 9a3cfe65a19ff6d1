"""Dense retrieval: the vectors of documents in a faiss index, in segments on disk."""

from typing import TYPE_CHECKING

from mpir.lazy_names import lazy_names

if TYPE_CHECKING:
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

# the modules of one search do not need those of the others
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "DenseIndex": "mpir.search.dense.index",
        "DenseIndexes": "mpir.search.dense.indexes",
        "DenseInfo": "mpir.search.dense.manifest",
        "add_documents": "mpir.search.dense.writer",
        "build_dense": "mpir.search.dense.build",
        "dense_matches": "mpir.search.dense.manifest",
        "from_vectors": "mpir.search.dense.vector_files",
        "read_dense_info": "mpir.search.dense.manifest",
        "remove_documents": "mpir.search.dense.writer",
    },
)

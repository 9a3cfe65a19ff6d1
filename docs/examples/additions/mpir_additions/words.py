"""A first stage for `--index words+file:///…/corpus.jsonl`: it counts the words that query and document share."""

from dataclasses import replace
from urllib.request import url2pathname

import numpy as np

from mpir.errors import InputError
from mpir.files.corpora import read_corpus


class CommonWords:
    """A search in an engine; mpir calls it with an address and, for `--mode dense`, an encoder. See `Retriever`."""

    name = "words"

    def __init__(self, address, *, mode="bm25", encoder=None):
        if mode != "bm25":
            raise InputError(f"{address}: has no vectors; leave --mode out.")
        self.identity = {"kind": "words", "address": address}
        path = url2pathname(address.partition("://")[2])
        self._documents = {document.id: document for document in read_corpus([path])}

    def __len__(self):
        return len(self._documents)

    def close(self):
        """Nothing is open."""

    def document(self, id):
        """The document of an id."""
        if id not in self._documents:
            raise InputError(f"{self.identity['address']}: has no document {id!r}.")
        return self._documents[id]

    def scores_of(self, query, ids):
        """The number of words that the query and each document share."""
        words = set(query.lower().split())
        known = [self._documents.get(id) for id in ids]
        return np.array([len(words & set(item.text.lower().split())) if item else 0.0 for item in known], np.float64)

    def search(self, query, k=100):
        """The documents that share the most words with the query."""
        ids = list(self._documents)
        scores = self.scores_of(query, ids)
        best = [index for index in np.argsort(-scores, kind="stable")[:k] if scores[index]]
        return [replace(self._documents[ids[index]], score=float(scores[index])) for index in best]

    def search_batch(self, queries, k=100, *, progress=False):
        """The results of each query."""
        return [self.search(query, k) for query in queries]

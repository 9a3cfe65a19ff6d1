"""A corpus in a Lucene index: BM25 over millions of documents, with their vectors (search/dense) in the same folder."""

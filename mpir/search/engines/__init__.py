"""A corpus in a search engine of somebody else: OpenSearch, Elasticsearch or Milvus."""

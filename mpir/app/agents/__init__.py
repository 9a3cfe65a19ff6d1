"""Tools for language-model agents: search, rerank, and the sentences that answer, over the Model Context Protocol."""

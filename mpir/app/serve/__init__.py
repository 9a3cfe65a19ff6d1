"""The HTTP server: one handler for the dialects of several rerankers, and one scoring thread (extra ``serve``)."""

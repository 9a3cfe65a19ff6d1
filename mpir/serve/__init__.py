"""The HTTP server: rerankers' dialects on one handler, one scoring thread behind them (extra ``serve``)."""

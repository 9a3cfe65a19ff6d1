"""Generate SIA data: (query, sentence, score) rows that say how much of the information sought a sentence has.

There is no dataset for semantic information availability; Rawal & Baral (2020) make one automatically. Each module
is one step; `pipeline` combines them, and docs/guides/sia.md explains them.
"""

"""SIA data: generating (query, sentence, score) rows that say how much of what is asked a sentence holds.

Semantic information availability has no data set; Rawal & Baral (2020) make one automatically. The steps are in the
modules' names; `pipeline` puts them together, and docs/guides/sia.md explains them.
"""

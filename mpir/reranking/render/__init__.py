"""Renderers of a ranking: tables for a terminal, an explanation in words, a spreadsheet. The page is app/explain."""

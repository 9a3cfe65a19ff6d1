"""Late interaction: a vector for every token of two texts, and their comparison."""

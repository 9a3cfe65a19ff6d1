"""Which family a model belongs to, and what its files declare for it."""

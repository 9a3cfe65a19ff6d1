"""Transformers: how they are found, loaded, fed and read, on one device or several."""

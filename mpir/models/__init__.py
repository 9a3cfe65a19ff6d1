"""Find, load and run transformers, on one device or several."""

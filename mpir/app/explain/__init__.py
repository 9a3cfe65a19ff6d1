"""The page that explains a ranking: its data and its files (one HTML file, one module, one stylesheet)."""

"""The page that explains a ranking: its data, and the page itself (one HTML file, one module, one stylesheet)."""

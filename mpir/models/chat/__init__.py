"""Chat models behind an HTTP interface."""

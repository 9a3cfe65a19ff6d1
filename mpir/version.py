"""The version, which every module may import."""

__version__ = "0.3.0"

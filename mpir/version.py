"""The version, which every module may import."""

__version__ = "0.2.0.dev0"

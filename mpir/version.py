"""The version, where every room can see it."""

__version__ = "0.2.0.dev0"

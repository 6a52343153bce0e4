"""The version, for every room."""

__version__ = "0.2.0.dev0"

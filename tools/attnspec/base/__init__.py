"""Errors, texts, files and the table of extensions, on which every room stands; nothing here knows of attention."""

__version__ = "0.2.0"
"""The version of the suite and of the harness, which are released together."""

"""The version of the suite and of the harness, which are released together."""

__version__ = "0.1.0"

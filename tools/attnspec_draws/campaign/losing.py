"""Lost workers: the error that ends their work."""

from __future__ import annotations


class WorkerLostError(Exception):
    """A worker ended in the middle of its work."""

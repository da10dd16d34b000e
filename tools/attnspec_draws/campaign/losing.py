"""What becomes of work whose worker is lost."""

from __future__ import annotations


class WorkerLostError(Exception):
    """A worker ended in the middle of its work."""

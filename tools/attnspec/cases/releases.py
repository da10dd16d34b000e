"""Releases: the promise that a released id keeps its meaning, or says that it changed."""

from attnspec.cases.meaning import meaning_digest, present_stamps
from attnspec.cases.promises import broken_promises
from attnspec.cases.records import Released, Stamp, Tombstone, read_released, read_retired

__all__ = [
    "Released",
    "Stamp",
    "Tombstone",
    "broken_promises",
    "meaning_digest",
    "present_stamps",
    "read_released",
    "read_retired",
]

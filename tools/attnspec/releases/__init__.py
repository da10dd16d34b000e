"""Releases: the promise that a released id keeps its meaning, or says that it changed."""

from attnspec.releases.meaning import meaning_digest, present_stamps
from attnspec.releases.promises import broken_promises
from attnspec.releases.records import Released, Stamp, Tombstone, read_released, read_retired

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

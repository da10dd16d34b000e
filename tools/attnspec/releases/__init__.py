"""Releases: the promise that a released id keeps its meaning, or says that it changed."""

from attnspec.releases.changelog import fixtures_section, write_section
from attnspec.releases.changes import Changes, broken_promises, changes_of, next_release
from attnspec.releases.meaning import meaning_digest
from attnspec.releases.records import Released, Stamp, Tombstone, read_released, read_retired, released_text

__all__ = [
    "Changes",
    "Released",
    "Stamp",
    "Tombstone",
    "broken_promises",
    "changes_of",
    "fixtures_section",
    "meaning_digest",
    "next_release",
    "read_released",
    "read_retired",
    "released_text",
    "write_section",
]

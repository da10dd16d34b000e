"""Releases: the promise that a released id keeps its meaning, or says that it changed."""

from attnspec.releases.records import Released, Stamp, Tombstone, read_released, read_retired

__all__ = ["Released", "Stamp", "Tombstone", "read_released", "read_retired"]

"""The two records beside the index: released cases, and retired ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attnspec.cases import RELEASED, RETIRED, check_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Stamp:
    """Stamp of one released case: its revision, and the digest of its meaning."""

    revision: int
    meaning: str


@dataclass(frozen=True)
class Released:
    """The last release: version (None before the first), id to stamp, and the ids retired by then, which stay so."""

    release: str | None = None
    cases: Mapping[str, Stamp] = field(default_factory=dict[str, Stamp])
    retired: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tombstone:
    """Record of a case that was taken out of the suite: last revision, version from which on it is gone, reason."""

    revision: int
    release: str
    reason: str


def read_released(folder: Path) -> Released:
    """Read ``released.json``; empty where there is none. Raise `FixtureError` if it is damaged."""
    path = folder / RELEASED
    if not path.exists():
        return Released()
    document = check_file(path, kind="released")
    return Released(
        release=document["release"],
        cases={case_id: Stamp(*entry) for case_id, entry in document["cases"].items()},
        retired=tuple(document["retired"]),
    )


def read_retired(folder: Path) -> dict[str, Tombstone]:
    """Read ``retired.json``, id to tombstone; empty where there is none. Raise `FixtureError` if it is damaged."""
    path = folder / RETIRED
    if not path.exists():
        return {}
    document = check_file(path, kind="retired")
    return {case_id: Tombstone(**entry) for case_id, entry in document["cases"].items()}

"""The two records beside the index: what was released, and what was retired."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attnspec.cases import RELEASED, RETIRED, check_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Stamp:
    """What was released of one case: its revision, and the digest of its meaning."""

    revision: int
    meaning: str


@dataclass(frozen=True)
class Released:
    """The last release.

    Attributes
    ----------
    release
        Its version; None before the first.
    cases
        Id to what was released.
    retired
        The ids that had been retired by then; they stay retired.
    """

    release: str | None = None
    cases: Mapping[str, Stamp] = field(default_factory=dict[str, Stamp])
    retired: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tombstone:
    """What is left of a case that was taken out of the suite.

    Attributes
    ----------
    revision
        Its last revision.
    release
        The version from which on it is gone.
    reason
        Why.
    """

    revision: int
    release: str
    reason: str


def read_released(folder: Path) -> Released:
    """Read ``released.json`` of a golden folder; without one, nothing has been released.

    Raises
    ------
    FixtureError
        If it is damaged.
    """
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
    """Read ``retired.json`` of a golden folder, id to tombstone; without one, nothing has been retired.

    Raises
    ------
    FixtureError
        If it is damaged.
    """
    path = folder / RETIRED
    if not path.exists():
        return {}
    document = check_file(path, kind="retired")
    return {case_id: Tombstone(**entry) for case_id, entry in document["cases"].items()}

"""Changes of the cases since the last release, and promises of the next one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnspec.cases import canonical_json
from attnspec.cases.releases import Released, present_stamps, read_released, read_retired

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from attnspec.cases.releases import Stamp, Tombstone

FORMAT = 1
"""Version of the format of ``released.json``."""


@dataclass(frozen=True)
class Changes:
    """Changes of the cases since the last release.

    `added` are ids, `revised` has revisions by id where the meaning changed, `retired` tombstones of cases that are
    gone.
    """

    since: Released
    now: Mapping[str, Stamp]
    added: tuple[str, ...]
    revised: Mapping[str, int]
    retired: Mapping[str, Tombstone]


def changes_of(folder: Path) -> Changes:
    """Compare a golden folder with its ``released.json``; `FixtureError` where a record or the index is damaged."""
    since, now = read_released(folder), present_stamps(folder)
    return Changes(
        since=since,
        now=now,
        added=tuple(case_id for case_id in sorted(now) if case_id not in since.cases),
        revised={
            case_id: stamp.revision
            for case_id, stamp in sorted(now.items())
            if case_id in since.cases and stamp.revision != since.cases[case_id].revision
        },
        retired={
            case_id: tombstone
            for case_id, tombstone in sorted(read_retired(folder).items())
            if case_id not in since.retired
        },
    )


def next_release(folder: Path, version: str) -> Released:
    """Return what ``released.json`` says once the golden folder is released as `version`."""
    return Released(version, present_stamps(folder), tuple(sorted(read_retired(folder))))


def released_text(released: Released) -> str:
    """Return the canonical text of ``released.json``."""
    return canonical_json(
        {
            "format": FORMAT,
            "release": released.release,
            "cases": {case_id: [stamp.revision, stamp.meaning] for case_id, stamp in released.cases.items()},
            "retired": list(released.retired),
        }
    )

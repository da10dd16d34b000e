"""What became of the cases since the last release, and whether that keeps the promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnspec.releases.meaning import present_stamps
from attnspec.releases.records import Released, read_released, read_retired

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from attnspec.releases.records import Stamp, Tombstone


@dataclass(frozen=True)
class Changes:
    """What became of the cases since the last release.

    Attributes
    ----------
    since
        The last release.
    now
        The cases as they are.
    added
        Ids that are new.
    revised
        Id to revision of the cases whose meaning changed.
    retired
        Id to tombstone of the cases that are gone.
    """

    since: Released
    now: Mapping[str, Stamp]
    added: tuple[str, ...]
    revised: Mapping[str, int]
    retired: Mapping[str, Tombstone]


def changes_of(folder: Path) -> Changes:
    """Compare a golden folder with its ``released.json``.

    Raises
    ------
    FixtureError
        If a record or the index is damaged.
    """
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


def broken_promises(folder: Path) -> tuple[str, ...]:
    """Return a sentence for each released id that changed its meaning unseen, vanished, or came back.

    Raises
    ------
    FixtureError
        If a record or the index is damaged.
    """
    since, now, retired = read_released(folder), present_stamps(folder), read_retired(folder)
    found: list[str] = []
    for case_id, stamp in sorted(since.cases.items()):
        present = now.get(case_id)
        if present is None:
            if case_id not in retired:
                found.append(
                    f"{case_id} was released and is gone. Bring it back, or write its tombstone in retired.json: "
                    f"last revision {stamp.revision}, release and reason."
                )
        elif present.revision < stamp.revision:
            found.append(f"{case_id} was released as revision {stamp.revision} and is revision {present.revision} now.")
        elif present.meaning != stamp.meaning and present.revision == stamp.revision:
            found.append(
                f"{case_id} means something else than when revision {stamp.revision} was released. "
                f"Raise its revision to {stamp.revision + 1} in the recipe, or undo the change."
            )
    found += [
        f"{case_id} is retired and cannot be used again. Give the case a new id."
        for case_id in sorted(retired.keys() & now.keys())
    ]
    found += [
        f"{case_id} was retired and has lost its tombstone. Bring it back into retired.json."
        for case_id in since.retired
        if case_id not in retired
    ]
    return tuple(found)


def next_release(folder: Path, version: str) -> Released:
    """Return what ``released.json`` says once the golden folder is released as `version`."""
    return Released(version, present_stamps(folder), tuple(sorted(read_retired(folder))))

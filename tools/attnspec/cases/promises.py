"""The promise that a released id keeps its meaning, or says that it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.cases.meaning import present_stamps
from attnspec.cases.records import read_released, read_retired

if TYPE_CHECKING:
    from pathlib import Path


def broken_promises(folder: Path) -> tuple[str, ...]:
    """Return a sentence for each released id that changed its meaning unseen, vanished, or came back.

    Raises `FixtureError` if a record or the index is damaged.
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

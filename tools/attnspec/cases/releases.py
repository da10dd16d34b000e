"""Releases: the promise that a released id keeps its meaning, or says that it changed.

The meaning of a case is everything in it that can change a verdict, as one digest. Two records stand beside the index:
released cases, and retired ones.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attnspec.cases import canonical_json, check_file, read_index
from attnspec.cases.reading import RELEASED, RETIRED, file_content

_MEANING = (
    "operation",
    "inputs",
    "attributes",
    "dtypes",
    "presentation",
    "sample",
    "expected",
    "properties",
    "changed_argument",
    "conventions",
)
"""The fields that decide a verdict. Title, source, clauses, targets, errata and printed numbers only explain it."""

_DIGITS = 16


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


def meaning_digest(document: Mapping[str, Any]) -> str:
    """Return the first 16 hex digits of the SHA-256 of a case as JSON, without its prose.

    Nobody attacks this digest: it is there for changes that happen by accident, and one line a case is easy to review.
    """
    meaning = {name: document[name] for name in _MEANING if name in document}
    if "rejects" in document:
        meaning["rejects"] = {name: value for name, value in document["rejects"].items() if name != "reason"}
    return hashlib.sha256(canonical_json(meaning).encode()).hexdigest()[:_DIGITS]


def present_stamps(folder: Path) -> dict[str, Stamp]:
    """Return id to revision and meaning of every case of a golden folder; raise `FixtureError` if its index differs."""
    documents = {case_id: json.loads(file_content(folder / f"{case_id}.json")) for case_id in read_index(folder)}
    return {case_id: Stamp(document["revision"], meaning_digest(document)) for case_id, document in documents.items()}


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

"""Meaning of a case: everything in it that can change a verdict, as one digest."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from attnspec.cases import canonical_json, file_content, read_index
from attnspec.cases.records import Stamp

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

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

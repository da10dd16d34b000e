"""Badge: the JSON that shields.io shows when pointed at it (https://shields.io/badges/endpoint-badge)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attnspec.reports.entries import clauses_graded
from attnspec.reports.wording import short_verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

_COLOURS = {"conforms": "brightgreen", "conforms in part": "yellowgreen", "does not conform": "red"}


def badge(document: Mapping[str, Any]) -> str:
    """Return a report.json as the JSON of an endpoint badge."""
    summary = document["summary"]
    said = short_verdict(summary["conformance"], summary["statuses"], clauses_graded(summary))
    shown = {"schemaVersion": 1, "label": "attnspec", "message": said, "color": _COLOURS[summary["conformance"]]}
    return json.dumps(shown) + "\n"

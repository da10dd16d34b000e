"""The badge: what shields.io shows when it is pointed at this JSON (https://shields.io/badges/endpoint-badge)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attnspec.comparison import WRONG

if TYPE_CHECKING:
    from collections.abc import Mapping

_COLOURS = {"conforms": "brightgreen", "conforms in part": "yellowgreen", "does not conform": "red"}


def badge(document: Mapping[str, Any]) -> str:
    """Return a report.json as the JSON of an endpoint badge.

    Parameters
    ----------
    document
        A report, following ``spec/schemas/report.schema.json``.
    """
    summary = document["summary"]
    said = summary["conformance"]
    wrong = sum(count for status, count in summary["statuses"].items() if status in WRONG)
    if said == "conforms in part":
        said += f": {summary['clauses_graded']} of {summary['clauses']} clauses"
    elif wrong:
        said += f": {wrong} of {document['count'] - summary['statuses'].get('unsupported', 0)} wrong"
    shown = {"schemaVersion": 1, "label": "attnspec", "message": said, "color": _COLOURS[summary["conformance"]]}
    return json.dumps(shown) + "\n"

"""Canonical JSON: one text for one value, so that files can be compared byte for byte.

Keys are sorted, floats are written in the shortest decimals that read back exactly, a list of plain values stays
on one line, and the file ends with one newline. Non-finite floats are refused: fixtures name them as strings.
"""

from __future__ import annotations

import json
from typing import Any, cast


def canonical_json(value: Any) -> str:
    """Return the canonical text of JSON types; raise `ValueError` for a float that is not finite."""
    return _text(value, "\n") + "\n"


def _text(value: Any, newline: str) -> str:
    inner = newline + " "
    if isinstance(value, dict) and value:
        entries = cast("dict[str, Any]", value)
        lines = [f"{json.dumps(key)}: {_text(entries[key], inner)}" for key in sorted(entries)]
        return "{" + inner + ("," + inner).join(lines) + newline + "}"
    if isinstance(value, list | tuple) and any(isinstance(item, list | tuple | dict) for item in cast("Any", value)):
        items = cast("list[Any]", value)
        return "[" + inner + ("," + inner).join(_text(item, inner) for item in items) + newline + "]"
    return json.dumps(value, allow_nan=False, ensure_ascii=False)

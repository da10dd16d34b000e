"""Harmless text of strangers: visible where it would act, short where it would flood, and quoted for a page."""

from __future__ import annotations

import json
import re
from typing import Any, cast

_ACTIVE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
_LONGEST = 4000


def harmless(text: str, longest: int = _LONGEST) -> str:
    """Return text with control, direction and surrogate characters spelt out, cut at `longest`, the rest counted."""
    kept = _ACTIVE.sub(lambda match: f"⟨{ord(match[0]):04X}⟩", text[:longest])
    cut = len(text) - longest
    return f"{kept} … ({cut:,} more characters)" if cut > 0 else kept


def harmless_data(value: Any) -> Any:
    """Return JSON data with every string in it made harmless, keys included."""
    if isinstance(value, str):
        return harmless(value)
    if isinstance(value, list | tuple):
        return [harmless_data(entry) for entry in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {harmless(key): harmless_data(entry) for key, entry in cast("dict[str, Any]", value).items()}
    return value


def as_island(data: Any) -> str:
    """Return data as JSON that can stand inside a script element: no character in it ends the element."""
    text = json.dumps(harmless_data(data), allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

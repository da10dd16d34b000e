"""Sets of indices in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_RANGES = 8


def index_ranges(indices: Iterable[int]) -> str:
    """Return a set of indices as ranges, such as ``0-2, 5``; ``none`` for an empty one."""
    ranges: list[list[int]] = []
    for index in sorted(indices):
        if ranges and index == ranges[-1][1] + 1:
            ranges[-1][1] = index
        else:
            ranges.append([index, index])
    words = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    if len(words) > _MOST_RANGES:
        words = [*words[:_MOST_RANGES], "…"]
    return ", ".join(words) or "none"

"""How long the axes of a draw are: most are short, some of any size, and together they are no larger than they may."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_draws.generators.limits import Limits
    from attnspec_draws.generators.words import Stream

LONG_AXES = {0: 1, 1: 4, 2: 1}
"""How many axes are long, with weights."""


def lengthened(
    stream: Stream, lengths: Mapping[str, int], weights: Mapping[str, int], limits: Limits
) -> dict[str, int]:
    """Make some axes long, chosen by `weights`, and none longer than the limits allow."""
    found = dict(lengths)
    for _ in range(stream.weighted(LONG_AXES)):
        axis = stream.weighted(weights)
        found[axis] = stream.of_any_size(1, limits.longest)
    return {axis: min(length, limits.longest) for axis, length in found.items()}


def as_stated(
    lengths: Mapping[str, int], limits: Limits, elements: Callable[[Mapping[str, int]], int]
) -> dict[str, int]:
    """Take stated lengths, and halve the longest of the others until the largest tensor is small enough.

    `elements` counts its elements; `UsageError` where the stated lengths alone make it too large.
    """
    found = dict(lengths) | {axis: length for axis, length in limits.extents.items() if axis in lengths}
    while elements(found) > limits.elements:
        free = {axis: length for axis, length in found.items() if axis not in limits.extents and length > 1}
        if not free:
            break
        longest = max(free, key=lambda axis: free[axis])
        found[longest] //= 2
    limits.check_size(elements(found))
    return found

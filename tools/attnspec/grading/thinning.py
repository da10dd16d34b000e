"""Thinning an answer to its sample, once the rest of it was looked at: whole, it would fill the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.grading.elements import Worst

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.bounds.tolerance import Elsewhere
    from attnspec.grading.expectation import Values
    from attnspec.grading.run import Run

_BLOCK = 2**18
"""Elements that are looked at together."""


def thinned(
    run: Run, expected: Values, got: Mapping[str, NDArray[Any]]
) -> tuple[dict[str, NDArray[Any]], Worst | None]:
    """Return the sampled elements of every output (N,), and one elsewhere that no right answer can hold.

    An output of another shape than expected stays as it is, so that its shape can be reported.
    """
    left: dict[str, NDArray[Any]] = {}
    stray: Worst | None = None
    for name, array in got.items():
        if name not in expected.thinned:
            continue
        if array.shape != expected.thinned[name]:
            left[name] = array
            continue
        left[name] = np.take(array, expected.sample[name])
        known = None if run.bound is None else run.bound.elsewhere(name, run.place)
        if known is not None:
            stray = stray or _stray(name, array, known)
    return left, stray


def _stray(name: str, array: NDArray[Any], known: Elsewhere) -> Worst | None:
    """Return the first element that is not finite or lies outside of its interval; None where there is none."""
    shape = array.shape
    lowest, highest, left_open = (np.broadcast_to(part, shape) for part in known)
    rows = max(1, _BLOCK // max(shape[-1], 1))
    for place in np.ndindex(shape[:-2]):
        for start in range(0, shape[-2], rows):
            part = (*place, slice(start, start + rows))
            given = array[part].astype(np.float64)
            within = (given >= lowest[part]) & (given <= highest[part]) | left_open[part]
            if not within.all():
                row, feature = map(int, np.argwhere(~within)[0])
                index = (*place, start + row, feature)
                number, low, high = float(given[row, feature]), float(lowest[index]), float(highest[index])
                nearest = low if number < low else high
                return Worst(name, index, nearest, number, abs(number - nearest), high - low, np.inf)
    return None

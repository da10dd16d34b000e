"""NaN and infinity in drawn keys and values: most of them where no query may look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.lattice import whole_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.families.attention.attendance import Attendance
    from attnspec.families.attention.drawing.extents import Extents
    from attnspec.lattice import Limits, Words

EXCLUDED, ATTENDED, SCORES = "excluded_nonfinite", "attended_nan", "infinite_scores"

_WHERE_NONE_MAY_LOOK, _WHERE_SOME_MAY = 12, 2
"""Of a hundred draws, how many are spoilt: where keys are excluded, and anywhere."""

_INFINITE = 4
"""Of a hundred draws, in how many the scores of the first keys are minus infinity."""


def spoil(
    words: Words, extents: Extents, inputs: dict[str, NDArray[Any]], keys: Attendance, limits: Limits
) -> tuple[str, ...]:
    """Put NaN or infinity into keys and values that no query may attend, or, rarely, NaN into one that some may.

    Parameters
    ----------
    words, limits
        The streams of the draw, and what it keeps to.
    extents, keys
        Lengths of all axes, and who may attend what.
    inputs
        The tensors, which are changed.

    Returns
    -------
    features
        What was done, in words that can be left out; nothing for most draws.
    """
    stream = words.of("spoilt")
    excluded, attended = stream.percent(_WHERE_NONE_MAY_LOOK), stream.percent(_WHERE_SOME_MAY)
    number, spoilt = stream.one_of((np.nan, np.inf, -np.inf)), stream.weighted({"key": 1, "value": 2, "both": 2})
    names = ("key", "value") if spoilt == "both" else (spoilt,)
    if excluded and limits.allow(EXCLUDED):
        grouped = (extents.batch, extents.shared, extents.group * extents.queries, extents.columns)
        unseen = np.logical_not(np.logical_or.reduce(keys.attendable.reshape(grouped), axis=2))
        if unseen.any() and extents.queries:
            for name in names:
                _put(inputs, name, unseen, number, extents.past)
            return (EXCLUDED,)
    if attended and limits.allow(ATTENDED) and extents.columns and extents.batch and extents.shared:
        one = np.zeros((extents.batch, extents.shared, extents.columns), dtype=np.bool_)
        one.flat[whole_numbers(words.of("spoilt token"), (1,), 0, min(one.size, 65_535) - 1)] = True
        _put(inputs, names[0], one, np.nan, extents.past)
        return (ATTENDED,)
    return ()


def make_infinite(
    words: Words, extents: Extents, inputs: dict[str, NDArray[Any]], attributes: Mapping[str, Any], limits: Limits
) -> tuple[str, ...]:
    """Make the scores of the first keys minus infinity, though they may be attended, or, for most draws, do nothing.

    Parameters
    ----------
    words, limits, extents, inputs
        As for `spoil`.
    attributes
        The attributes; a scale that is not above 0 would make NaN of such scores.
    """
    stream = words.of("infinite scores")
    if not stream.percent(_INFINITE) or not limits.allow(SCORES) or attributes.get("scale", 1.0) <= 0:
        return ()
    count = stream.of_any_size(1, max(extents.columns - 1, 1))
    if count >= extents.columns or not all(array.size for array in (inputs["query"], inputs["key"])):
        return ()
    first = np.abs(inputs["query"][..., 0])
    inputs["query"][..., 0] = np.where(first == 0, 1.0, first)
    if extents.past:
        inputs["past_key"][:, :, :count, 0] = -np.inf
    inputs["key"][:, :, : max(count - extents.past, 0), 0] = -np.inf
    return (SCORES,)


def _put(inputs: dict[str, NDArray[Any]], name: str, tokens: NDArray[np.bool_], number: float, past: int) -> None:
    if past:
        inputs[f"past_{name}"][tokens[:, :, :past]] = number
    inputs[name][tokens[:, :, past:]] = number

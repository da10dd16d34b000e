"""NaN and infinity in drawn keys and values: most of them where no query may look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.lattice import whole_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.families.attention.attendance import Attendance
    from attnspec.families.attention.drawing.extents import Extents
    from attnspec.lattice import Limits, Words

EXCLUDED, ATTENDED = "excluded_nonfinite", "attended_nan"

_WHERE_NONE_MAY_LOOK, _WHERE_SOME_MAY = 12, 2
"""Of a hundred draws, how many are spoilt: where keys are excluded, and anywhere."""


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
        unseen = np.logical_not(np.any(keys.attendable.reshape(grouped), axis=2, keepdims=True))[:, :, 0]
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


def _put(inputs: dict[str, NDArray[Any]], name: str, tokens: NDArray[np.bool_], number: float, past: int) -> None:
    if past:
        inputs[f"past_{name}"][tokens[:, :, :past]] = number
    inputs[name][tokens[:, :, past:]] = number

"""NaN and infinity in drawn cases of attention: most where no query may look, or no result is expected."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.families.attention.steps.attendance import Attendance
from attnspec_draws.attention.parts.extents import Extents
from attnspec_draws.generators.limits import Limits
from attnspec_draws.generators.special_numbers import NOT_FINITE
from attnspec_draws.generators.words import Words, whole_numbers

EXCLUDED, ATTENDED, SCORES = "excluded_nonfinite", "attended_nan", "infinite_scores"
PADDED, MASKED, OF_GRADIENT = "padded_nonfinite", "nan_in_mask", "nan_in_gradient"
IGNORED, FOLLOWED = frozenset((EXCLUDED, OF_GRADIENT)), frozenset((ATTENDED, SCORES, MASKED, OF_GRADIENT))
"""The words for what has no effect on what may not attend to it, and for what takes its arithmetic course."""

_WHERE_NONE_MAY_LOOK, _WHERE_SOME_MAY = 12, 2
"""Of a hundred draws, how many are spoilt: where keys are excluded, and anywhere."""

_INFINITE = 4
"""Of a hundred draws, in how many the scores of the first keys are minus infinity."""

_IN_PADDING, _IN_MASK, _IN_GRADIENT = 50, 12, 4
"""Of a hundred draws, spoilt: padding, where some queries do not count; NaN in a numeric mask; NaN in a gradient."""


def spoil(
    words: Words, extents: Extents, inputs: dict[str, NDArray[Any]], keys: Attendance, limits: Limits
) -> tuple[str, ...]:
    """Put NaN or infinity into keys and values that no query may attend, or, rarely, NaN into one that some may.

    Changes `inputs` itself and returns the features; for most draws nothing.
    """
    stream = words.of("spoilt")
    excluded, attended = stream.percent(_WHERE_NONE_MAY_LOOK), stream.percent(_WHERE_SOME_MAY)
    number, spoilt = stream.one_of(NOT_FINITE), stream.weighted({"key": 1, "value": 2, "both": 2})
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
    """Make the scores of the first keys -inf, though they may be attended; for most draws nothing.

    A scale that is not above 0 would make NaN of such scores.
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


def spoil_padding(
    words: Words, inputs: dict[str, NDArray[Any]], names: Sequence[str], keys: Attendance, limits: Limits
) -> tuple[str, ...]:
    """Put NaN or infinity into rows, in inputs `names`, of queries that do not count; or do nothing."""
    stream = words.of("spoilt padding")
    spoils, number = stream.percent(_IN_PADDING), stream.one_of(NOT_FINITE)
    if not spoils or keys.padding is None or not keys.padding.any() or not limits.allow(PADDED):
        return ()
    for name in names:
        if name in inputs:
            inputs[name] = inputs[name].copy()
            inputs[name][keys.padding] = number
    return (PADDED,)


def spoil_mask(words: Words, inputs: dict[str, NDArray[Any]], keys: Attendance, limits: Limits) -> tuple[str, ...]:
    """Put NaN into a numeric mask, at an index of no query that may not attend, or do nothing."""
    stream, mask = words.of("spoilt mask"), inputs.get("mask")
    if not stream.percent(_IN_MASK) or mask is None or mask.dtype == np.bool_ or not limits.allow(MASKED):
        return ()
    attended = keys.attendable if keys.padding is None else keys.attendable | keys.padding[..., np.newaxis]
    indices = np.flatnonzero(_at_all(attended, mask.shape))
    if not indices.size:
        return ()
    inputs["mask"] = mask.copy()
    inputs["mask"].flat[indices[stream.below(indices.size)]] = np.nan
    return (MASKED,)


def _at_all(pairs: NDArray[np.bool_], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return which elements of a mask of some shape stand for nothing but such pairs (B, Hq, Sq, K)."""
    whole = (1,) * (pairs.ndim - len(shape)) + shape
    repeated = tuple(axis for axis, length in enumerate(whole) if length == 1)
    return np.asarray(np.all(pairs, axis=repeated, keepdims=True)).reshape(shape)


def spoil_gradient(
    words: Words, inputs: dict[str, NDArray[Any]], names: Sequence[str], limits: Limits
) -> tuple[str, ...]:
    """Put NaN into one query's gradient, one of `names`, whose first is always there; for most draws nothing."""
    stream = words.of("spoilt gradient")
    spoils, name = stream.percent(_IN_GRADIENT), stream.one_of([name for name in names if name in inputs])
    queries = inputs[name].shape[:3]
    if not spoils or not math.prod(queries) or not limits.allow(OF_GRADIENT):
        return ()
    inputs[name] = inputs[name].copy()
    inputs[name][np.unravel_index(stream.below(math.prod(queries)), queries)] = np.nan
    return (OF_GRADIENT,)


def _put(inputs: dict[str, NDArray[Any]], name: str, tokens: NDArray[np.bool_], number: float, past: int) -> None:
    if past:
        inputs[f"past_{name}"][tokens[:, :, :past]] = number
    inputs[name][tokens[:, :, past:]] = number

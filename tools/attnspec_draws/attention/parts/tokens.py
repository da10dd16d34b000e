"""The numbers of drawn queries, keys and values: plain ones for the most part, and classes that are hard to add."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.contract.dtypes import rounded_to
from attnspec_draws.generators.limits import Limits
from attnspec_draws.generators.words import Stream, Words, coarse, full_width, weights, whole_numbers

Tokens = dict[str, NDArray[Any]]

_SHARPNESS = {1: 1, 2: 3, 4: 4, 8: 2}
"""Factors of queries, with weights: coarse ones alone give scores of a third, and weights nearly alike."""

_PEAK = 32.0
"""Scores of about 10, where one key has nearly all weight."""

_FAR = {"float64": 64.0, "float32": 8.0, "float16": 8.0, "bfloat16": 8.0}
"""Factors of keys whose scores lie so far apart that no exponential of them is finite in the dtype."""

_STEPS = 200
"""Steps of rising scores: so many have 8 digits, as bfloat16 has."""

_STEP, _UPWARDS = 0.25, 70
"""How large a step is, and of a hundred draws with rising scores, in how many they rise and do not fall."""

_TINY = {"float16": 2.0**-10, "float32": 2.0**-60, "bfloat16": 2.0**-60, "float64": 2.0**-500}
"""Values far below one whose products with weights are still no subnormal numbers."""

_APART = 64.0
"""Distance of cancelling values from 0, in turns above and below it."""

FAR_BELOW = -4096.0
"""Product of every query and key, other features aside: its exponential, or a quarter's, is a number of no dtype."""

CROSS = "cross_attention"
"""The capability without which key and value are the query."""

OF_ALL_TOKENS = ("plain", "full_width", "peaked")
"""Classes whose numbers one array of tokens can have."""

PREFIX = "shared_prefix"
_PREFIXED = 30
"""Of a hundred draws with lengths of keys, in how many all entries begin with the same keys and values."""

CLASSES = weights("tokens")
"""Classes of numbers, with weights."""


def draw_tokens(words: Words, shapes: Mapping[str, tuple[int, ...]], limits: Limits) -> tuple[Tokens, str]:
    """Draw queries, keys and values, past ones included, with the class of their numbers.

    Other names in `shapes` are drawn beside them, in the class of the values.
    """
    stream = words.of("numbers")
    tokens: Tokens = {name: coarse(words.varied(name), shape) for name, shape in shapes.items()}
    tokens["query"] *= stream.weighted(_SHARPNESS)
    drawn = stream.weighted(CLASSES)
    chosen = limits.numbers or drawn
    if chosen == "plain" or chosen not in CLASSES or not limits.allow(chosen):
        return tokens, "plain"
    if chosen == "full_width":
        tokens = {name: full_width(words.varied(name), shape, limits.dtype) for name, shape in shapes.items()}
        tokens["query"] *= 2.0
    else:
        _CHANGES[chosen](tokens, stream, limits.dtype)
    return tokens, chosen


def share_tokens(tokens: Tokens, limits: Limits) -> None:
    """Let key and value be the query where no other tokens may be."""
    if not limits.allow(CROSS):
        tokens |= {name: tokens["query"].copy() for name in ("key", "value")}


def share_prefix(words: Words, tokens: Tokens, limits: Limits) -> tuple[str, ...]:
    """Let all batch entries begin with the same keys and values, which engines store once; for most draws nothing."""
    stream = words.of("prefix")
    if "key_lengths" not in tokens or not stream.percent(_PREFIXED) or not limits.allow(PREFIX):
        return ()
    entries, _, keys, _ = tokens["key"].shape
    if entries == 1 or not keys:
        return ()
    count = stream.of_any_size(1, keys)
    for name in ("key", "value"):
        tokens[name][:, :, :count] = tokens[name][:1, :, :count]
    return (PREFIX,)


def _and_past(tokens: Tokens, name: str) -> list[str]:
    """Return the names of keys or values, past ones too where there are any."""
    return [each for each in (name, f"past_{name}") if each in tokens]


def _multiply(tokens: Tokens, name: str, factor: float) -> None:
    for each in _and_past(tokens, name):
        tokens[each] *= factor


def _large(tokens: Tokens, _stream: Stream, dtype: str) -> None:
    _multiply(tokens, "query", _PEAK / 4)
    _multiply(tokens, "key", _FAR[dtype])


def _rising(tokens: Tokens, stream: Stream, _dtype: str) -> None:
    """Let scores rise or fall with the index of the key, so that the largest one lies at one end."""
    past = tokens["past_key"].shape[2] if "past_key" in tokens else 0
    keys = past + tokens["key"].shape[2]
    positions = np.arange(keys, dtype=np.int64) * min(_STEPS, keys)
    steps = np.floor_divide(positions, max(keys, 1)) * (_STEP if stream.percent(_UPWARDS) else -_STEP)
    if tokens["key"].shape[3]:
        tokens["query"][..., 0] = 1.0
        tokens["key"][..., 0] = steps[past:]
        if past:
            tokens["past_key"][..., 0] = steps[:past]


def _tied(tokens: Tokens, stream: Stream, _dtype: str) -> None:
    """Make every key one of three."""
    for name in _and_past(tokens, "key"):
        keys = tokens[name].shape[2]
        if keys:
            tokens[name] = tokens[name][:, :, whole_numbers(stream, (keys,), 0, min(2, keys - 1))]


def _equal(tokens: Tokens, _stream: Stream, _dtype: str) -> None:
    """Make all keys of a head the same."""
    first = tokens["key"][:, :, :1]
    for name in _and_past(tokens, "key") if first.shape[2] else ():
        tokens[name] = np.broadcast_to(first, tokens[name].shape).copy()


def _nearly_tied(tokens: Tokens, stream: Stream, dtype: str) -> None:
    """Let keys of a head differ in their last digits alone."""
    first = tokens["key"][:, :, :1]
    for name in _and_past(tokens, "key") if first.shape[2] else ():
        apart = whole_numbers(stream, tokens[name].shape, -4, 4) * 2.0**-9
        tokens[name] = rounded_to(first + apart, dtype)


def _cancelling(tokens: Tokens, stream: Stream, dtype: str) -> None:
    """Set values far above and far below 0 in turns, so that little is left of their mean."""
    run = stream.between(1, 3)
    for name in _and_past(tokens, "value"):
        turns = np.floor_divide(np.arange(tokens[name].shape[2], dtype=np.int64), run)
        signs = np.where(np.equal(turns % 2, 0), _APART, -_APART)
        tokens[name] = rounded_to(tokens[name] + signs[:, np.newaxis], dtype)


def _far_below(tokens: Tokens, _stream: Stream, _dtype: str) -> None:
    """Let every score lie far below zero, or far above it for a negative scale."""
    if tokens["key"].shape[3]:
        tokens["query"][..., 0] = 1.0
        for name in _and_past(tokens, "key"):
            tokens[name][..., 0] = FAR_BELOW


_CHANGES: Mapping[str, Callable[[Tokens, Stream, str], None]] = {
    "peaked": lambda tokens, _stream, _dtype: _multiply(tokens, "query", _PEAK / 4),
    "large": _large,
    "rising": _rising,
    "tied": _tied,
    "nearly_tied": _nearly_tied,
    "equal": _equal,
    "uniform": lambda tokens, _stream, _dtype: tokens["query"].fill(0.0),
    "cancelling": _cancelling,
    "tiny": lambda tokens, _stream, dtype: _multiply(tokens, "value", _TINY[dtype]),
    "far_below": _far_below,
}
"""Class of numbers to the change that makes them of plain ones."""

HEAVY = "heavy"

_HEAVY = 5
"""Of a hundred draws, in how many values are heavy."""

_OFF, _SIZE = 4.0, 2.0**13
"""Coarse numbers lie between 2 and 6 then, and all of them between 16384 and 49152: four come to more than 65504."""


def make_heavy(
    words: Words, inputs: dict[str, NDArray[Any]], names: Sequence[str], limits: Limits, *, may_be: bool = True
) -> tuple[str, ...]:
    """Make the values in inputs `names` heavy, and return the feature; for most draws nothing."""
    if not words.of(HEAVY).percent(_HEAVY) or not may_be or not limits.allow(HEAVY):
        return ()
    for name in names:
        if name in inputs:
            inputs[name] = rounded_to(inputs[name] + _OFF, limits.dtype) * _SIZE
    return (HEAVY,)

"""Rows of quantized keys: long, peaked, of equal numbers, of one key; wide heads; what else is owed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes
from attnspec_authoring.recipes.attention.quantized.numbers import E4M3, E5M2, INT8, KEY_SCALES, VALUE_SCALES, quantized

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

STEPS = ("output", "weights", "logsumexp")


def long_rows() -> tuple[AuthoredCase, ...]:
    """Return rows around and beyond the size of a tile."""
    return (
        quantized("keys_129", "129 keys in int8")(Sizes(1, 2, 1, 3, 129, 1, 2), key=INT8, value=INT8),
        quantized("keys_257", "257 keys in float8_e4m3fn, two heads with scales of their own")(
            Sizes(1, 2, 2, 3, 257, 1), key_scale=KEY_SCALES, value_scale=VALUE_SCALES
        ),
        quantized("keys_129_of_query", "129 keys in float8_e5m2, and a quantized query")(
            Sizes(1, 2, 1, 3, 129, 2, 1), query=E5M2, key=E5M2, value=E5M2
        ),
        quantized("keys_64_of_equal_scores", "64 keys of equal scores: every weight is rounded to the same number")(
            Sizes(1, 2, 1, 3, 64, 1, 2), given={"query": np.zeros((1, 2, 3, 1))}
        ),
    )


def other_rows() -> tuple[AuthoredCase, ...]:
    """Return short rows of particular numbers."""
    one = Sizes(1, 2, 2, 3, 5, 2)
    return (
        quantized("peaked", "Scores that lie far apart, in each head otherwise")(
            one, outputs=STEPS, key_scale=(0.37, 1.7), value_scale=VALUE_SCALES
        ),
        quantized("peaked_of_query", "Scores that lie far apart, from a quantized query")(
            one, query=INT8, key=INT8, value=INT8, query_scale=(0.11, 0.31), key_scale=(0.043, 0.029)
        ),
        quantized(
            "equal_numbers",
            "Values that are all one number, in each head with another scale: the mean is that number times the scale",
        )(
            one,
            key=INT8,
            value=INT8,
            key_scale=KEY_SCALES,
            value_scale=VALUE_SCALES,
            given={"value": np.full((1, 2, 5, 2), 113.0)},
        ),
        quantized("one_key", "One key: its value times the scale")(Sizes(3, 2, 2, 4, 1, 2), value_scale=VALUE_SCALES),
        quantized("one_query", "One query over grouped heads, as when a token is generated")(
            Sizes(3, 6, 2, 1, 5, 2), key_scale=KEY_SCALES, value_scale=VALUE_SCALES
        ),
        quantized("width_64", "Heads of 64 features in int8")(
            Sizes(1, 2, 1, 3, 4, 64, 2), key=INT8, value=INT8, key_scale=0.0031
        ),
        quantized("value_width", "Values of another width than the keys")(
            Sizes(1, 2, 2, 3, 4, 2, 5), key_scale=KEY_SCALES, value_scale=VALUE_SCALES
        ),
        quantized("steps_e4m3", "Scores, logits, weights and logsumexp of float8_e4m3fn")(
            Sizes(1, 2, 1, 3, 4, 3), outputs=("output", "weights", "logsumexp", "scores", "logits")
        ),
        quantized("steps_int8", "Weights and logsumexp of int8, a scale for each head")(
            Sizes(1, 2, 2, 3, 4, 3), outputs=STEPS, key=INT8, value=INT8, key_scale=KEY_SCALES, value_scale=VALUE_SCALES
        ),
        quantized("steps_e5m2", "Weights and logsumexp of float8_e5m2")(
            Sizes(1, 2, 1, 3, 4, 3), outputs=STEPS, key=E5M2, value=E5M2
        ),
        quantized("steps_e4m3_per_head", "Weights and logsumexp of float8_e4m3fn, six heads over three")(
            Sizes(1, 6, 3, 2, 4, 2),
            outputs=STEPS,
            key=E4M3,
            value=E4M3,
            key_scale=(0.0123, 0.0415, 0.0067),
            value_scale=(0.37, 0.059, 0.0213),
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases about rows."""
    return (*long_rows(), *other_rows())

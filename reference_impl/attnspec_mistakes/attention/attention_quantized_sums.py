"""What goes wrong where quantized numbers are multiplied and added up: narrow sums, and no maximum."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.attention_quantized_scales import OPERATION, scaling_logits
from attnspec_mistakes.attention.attention_softmax import WITHOUT_MAXIMUM
from attnspec_mistakes.departures import departure
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.phases import score_every_key, weigh_values
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.departures import Computation, Outputs
    from attnspec_reference.precision import Array, Booleans

_INT8, _FLOAT8 = ("int8",), ("float8_e4m3fn", "float8_e5m2")
_BITS = 14
"""Significant bits of the accumulators of tensor cores for float8."""
_STEP = 32
"""Features, or keys, that such a unit adds up at once."""


def where_both_are(formats: tuple[str, ...], computation: Computation) -> Computation:
    """Make a mistake where query and keys both have one of these formats."""

    def attend(**arguments: Any) -> Outputs:
        held = {np.asarray(arguments[name]).dtype.name for name in ("query", "key")}
        return (computation if held <= set(formats) else scaled_dot_product_attention)(**arguments)

    return attend


def adding(add: Callable[[Array, Array], Array]) -> Computation:
    """Make an attention that multiplies numbers without their scales, adds up in its own way, and scales the sums."""

    def summed(factors: Array) -> dict[str, object]:
        def scores(query: Array, key: Array) -> Array:
            return add(query, key) * factors

        return {"score_every_key": scores}

    return scaling_logits(summed)


def wrapped(query: Array, key: Array) -> Array:
    """Add up in 16 bits, whose largest number is followed by the least."""
    sums = score_every_key(query, key)
    return ((sums + 2.0**15) % 2.0**16 - 2.0**15).astype(sums.dtype)


def saturated(query: Array, key: Array) -> Array:
    """Add up in 16 bits, at whose ends sums stay."""
    return np.clip(score_every_key(query, key), -(2.0**15), 2.0**15 - 1)


def cut_to_bits(sums: Array) -> Array:
    """Drop what an accumulator does not hold."""
    significands, exponents = np.frexp(sums)
    kept = np.ldexp(np.trunc(np.ldexp(significands, _BITS)), exponents - _BITS)
    return np.where(np.isfinite(sums), kept, sums).astype(sums.dtype)


def added_in_steps(left: Array, right: Array) -> Array:
    """Take (..., N, K) @ (..., K, M) in steps along K, after each of which the sum is cut."""
    total = np.zeros((*left.shape[:-1], right.shape[-1]), dtype=left.dtype)
    for start in range(0, left.shape[-1], _STEP):
        part = left[..., start : start + _STEP] @ right[..., start : start + _STEP, :]
        total = cut_to_bits(total + part)
    return total


def narrow_scores(query: Array, key: Array) -> Array:
    """Add the features of queries and keys up in few bits."""
    return added_in_steps(query, np.swapaxes(key, -1, -2))


def narrow_values(weights: Array, value: Array, attendable: Booleans) -> Array:
    """Add weighed values up in few bits."""
    if not np.isfinite(value).all():
        return weigh_values(weights, value, attendable)
    return added_in_steps(weights, value)


mistake = partial(Mistake, operation=OPERATION, clause="sdpa.quantized.precision")

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="sdpa.int8_sums_wrapped",
        sentence="Products of int8 were added up in 16 bits, and wrapped around beyond 32767.",
        engineer="The accumulator of the int8 dot product is int16.",
        remedy="Add products of int8 up in int32 or in a float of at least 32 bits.",
        function=where_both_are(_INT8, adding(wrapped)),
    ),
    mistake(
        id="sdpa.int8_sums_saturated",
        sentence="Products of int8 were added up in 16 bits, and stayed at 32767.",
        engineer="A saturating multiply-add into int16 is used, as maddubs is.",
        remedy="Add products of int8 up in int32 or in a float of at least 32 bits.",
        function=where_both_are(_INT8, adding(saturated)),
    ),
    mistake(
        id="sdpa.float8_scores_in_14_bits",
        sentence="Products of queries and keys in float8 were added up in some 14 bits.",
        engineer="The tensor core for fp8 accumulates in 14 bits, and partial sums are not promoted to float32.",
        remedy="Promote partial sums to float32 after every few products.",
        function=where_both_are(_FLOAT8, adding(narrow_scores)),
    ),
    mistake(
        id="sdpa.quantized_values_in_14_bits",
        sentence="Beside a quantized query, weighed values were added up in some 14 bits.",
        engineer="The second product runs in the accumulators for fp8, which have 14 bits.",
        remedy="Promote partial sums to float32 after every few products.",
        function=where_both_are(
            (*_INT8, *_FLOAT8), departure(scaled_dot_product_attention, weigh_values=narrow_values)
        ),
    ),
    mistake(
        id="sdpa.quantized_no_maximum",
        clause="sdpa.softmax.stability",
        sentence="Where query and keys are quantized, no maximum was subtracted before the exponential.",
        engineer="The bounded numbers are taken for bounded scores, and the pass over the maximum is saved.",
        remedy="Subtract from each row its largest logit, whatever the numbers are held in.",
        function=where_both_are((*_INT8, *_FLOAT8), WITHOUT_MAXIMUM),
    ),
)
"""What goes wrong with sums of quantized numbers."""

"""What goes wrong where tokens are rounded to the few bits of a pool."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import Computation, exchanging, patch
from attnspec_reference.caches.write_slots import (
    LARGEST,
    WrittenPools,
    for_each_head,
    quantize,
    saturate,
    to_cache_dtype,
    write_slots,
)
from attnspec_reference.precision import Array, result_dtype, widen


def quantizing(**replaced: Any) -> Computation:
    """Quantize otherwise."""
    return patch(write_slots, quantize=patch(quantize, **replaced))


def multiplied(tokens: Array, scale: Array | None, dtype: np.dtype[Any]) -> Array:
    """Multiply by the scale."""
    return quantize(tokens, None if scale is None else 1.0 / widen(scale, result_dtype(tokens)), dtype)


def scale_ignored(tokens: Array, scale: Array | None, dtype: np.dtype[Any]) -> Array:
    """Round the tokens as they are."""
    return quantize(tokens, None if scale is None else np.ones_like(scale), dtype)


def quotient_in_bfloat16(tokens: Array, scale: Array | None, dtype: np.dtype[Any]) -> Array:
    """Round the quotient to bfloat16 first, so that it is rounded twice."""
    return patch(quantize, saturate=lambda quotient, of: saturate(nearest_bfloat16(quotient), of))(tokens, scale, dtype)


def quotient_in_half(tokens: Array, scale: Array | None, dtype: np.dtype[Any]) -> Array:
    """Round the quotient to the dtype of the tokens first."""
    return patch(quantize, saturate=lambda quotient, of: saturate(quotient.astype(tokens.dtype).astype(float), of))(
        tokens, scale, dtype
    )


def saturated_as_keys(*, key_pool: Array, value_pool: Array, **arguments: Any) -> WrittenPools:
    """Saturate values at the range of the pool of keys, and round them to their own dtype."""
    quantizing_values = patch(
        quantize,
        saturate=lambda quotient, dtype: (
            saturate(quotient, key_pool.dtype) if key_pool.dtype.name in LARGEST else saturate(quotient, dtype)
        ),
        to_cache_dtype=wrapping,
    )
    return patch(write_slots, quantize=quantizing_values)(key_pool=key_pool, value_pool=value_pool, **arguments)


def nearest_bfloat16(array: Array) -> Array:
    """Round to the nearest number of 8 bits."""
    bits = array.astype(np.float32).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) & np.uint64(0xFFFF0000)).astype(np.uint32)
    nearest = rounded.view(np.float32).astype(array.dtype)
    return np.where(np.isfinite(array), nearest, array)


def towards_zero(quotient: Array, dtype: np.dtype[Any]) -> Array:
    """Cut what does not fit."""
    if dtype.kind == "i":
        return np.trunc(quotient).astype(dtype)
    nearest = quotient.astype(dtype).astype(quotient.dtype)
    # Where the nearest is farther from 0, the number before it is taken.
    step = np.nextafter(np.abs(quotient).astype(np.float32), np.float32(0))
    beyond = np.abs(nearest) > np.abs(quotient)
    lower = cut_mantissa(np.copysign(step, quotient).astype(np.float32), dtype)
    return np.where(beyond, lower, nearest).astype(dtype)


def cut_mantissa(numbers: Array, dtype: np.dtype[Any]) -> Array:
    """Keep as many bits of float32 as the dtype has; of its smallest numbers, multiples of the smallest step."""
    kept, smallest = (3, 2.0**-9) if dtype.name == "float8_e4m3fn" else (2, 2.0**-16)
    _, exponents = np.frexp(numbers)
    unit = np.maximum(np.ldexp(np.float32(1), exponents - kept - 1), np.float32(smallest))
    return np.trunc(numbers / unit) * unit


def half_away_from_zero(quotient: Array, dtype: np.dtype[Any]) -> Array:
    """Round what lies in the middle of two numbers away from 0."""
    if dtype.kind == "i":
        return np.copysign(np.floor(np.abs(quotient) + 0.5), quotient).astype(dtype)
    outwards = np.nextafter(quotient.astype(np.float32), np.copysign(np.float32(np.inf), quotient.astype(np.float32)))
    return to_cache_dtype(np.where(np.isfinite(quotient), outwards, quotient), dtype)


def wrapping(quotient: Array, dtype: np.dtype[Any]) -> Array:
    """Let int8 wrap around, and float8 leave its range."""
    if dtype.kind == "i":
        return (
            (np.rint(np.nan_to_num(quotient, posinf=127, neginf=-128)).astype(np.int64) & 0xFF)
            .astype(np.uint8)
            .view(dtype)
        )
    return np.where(np.abs(quotient) > LARGEST[dtype.name], np.nan, quotient).astype(dtype)


def symmetric(quotient: Array, dtype: np.dtype[Any]) -> Array:
    """Keep from -127 to 127."""
    return np.clip(quotient, -LARGEST[dtype.name], LARGEST[dtype.name])


def to_240(quotient: Array, dtype: np.dtype[Any]) -> Array:
    """Take the largest number of another format of 8 bits."""
    return np.clip(saturate(quotient, dtype), -240.0, 240.0)


def infinity_to_nan(quotient: Array, dtype: np.dtype[Any]) -> Array:
    """Saturate finite numbers alone."""
    return np.where(np.isinf(quotient) & (dtype.kind != "i"), np.nan, saturate(quotient, dtype))


def saturated_first(tokens: Array, scale: Array | None, dtype: np.dtype[Any]) -> Array:
    """Saturate before the division, and not behind it."""
    if scale is None:
        return tokens
    working = result_dtype(tokens)
    quotient = saturate(widen(tokens, working), dtype) / for_each_head(widen(scale, working))
    return wrapping(quotient, dtype)


def first_scale(scale: Array) -> Array:
    """Take the scale of the first head for all."""
    return for_each_head(scale.reshape(-1)[0] if scale.size else scale)


def values_by_key_scale(**arguments: Any) -> WrittenPools:
    """Divide values by the scale of keys, where both are given."""
    if arguments.get("key_scale") is None or arguments.get("value_scale") is None:
        return write_slots(**arguments)
    return write_slots(**{**arguments, "value_scale": arguments["key_scale"]})


def cut_to_float16(quotient: Array, dtype: np.dtype[Any]) -> Array:
    """Cut the quotient off to float16 on its way to float8."""
    if dtype.kind == "i":
        return to_cache_dtype(quotient, dtype)
    half = quotient.astype(np.float16)
    beyond = np.abs(half.astype(quotient.dtype)) > np.abs(quotient)
    return to_cache_dtype(np.where(beyond, np.nextafter(half, np.float16(0)), half), dtype)


FUNCTIONS: Mapping[str, Making] = {
    "slots.scale_multiplied": patch(write_slots, quantize=multiplied),
    "slots.scale_ignored": patch(write_slots, quantize=scale_ignored),
    "slots.scales_exchanged": exchanging(write_slots, ("key_scale", "value_scale")),
    "slots.values_by_key_scale": values_by_key_scale,
    "slots.scale_of_first_head": quantizing(for_each_head=first_scale),
    "slots.not_saturated": quantizing(saturate=lambda quotient, _: quotient, to_cache_dtype=wrapping),
    "slots.saturated_first": patch(write_slots, quantize=saturated_first),
    "slots.saturated_symmetrically": quantizing(saturate=symmetric),
    "slots.saturated_at_240": quantizing(saturate=to_240),
    "slots.saturated_as_keys": saturated_as_keys,
    "slots.infinity_to_nan": quantizing(saturate=infinity_to_nan),
    "slots.towards_zero": quantizing(to_cache_dtype=towards_zero),
    "slots.half_away_from_zero": quantizing(to_cache_dtype=half_away_from_zero),
    "slots.quotient_in_bfloat16": patch(write_slots, quantize=quotient_in_bfloat16),
    "slots.quotient_in_half": patch(write_slots, quantize=quotient_in_half),
    "slots.quotient_cut_to_float16": quantizing(to_cache_dtype=cut_to_float16),
}

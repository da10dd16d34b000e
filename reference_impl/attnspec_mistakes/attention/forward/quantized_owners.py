"""What goes wrong in quantized attention: which tensor and which head a scale belongs to, and sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.forward.attention_departures import TENSORS, attention_given, attention_with
from attnspec_mistakes.attention.forward.forward_softmax import WITHOUT_MAXIMUM
from attnspec_mistakes.attention.forward.quantized_scales import scaling_logits
from attnspec_mistakes.patches import by_name, on_calls
from attnspec_reference.attention.attention_logits import output_dtype_or_own
from attnspec_reference.attention.phases import score_every_key, weigh_values
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention
from attnspec_reference.precision import round_to, widen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike

    from attnspec_mistakes.mistake import Making
    from attnspec_mistakes.patches import Computation, Outputs
    from attnspec_reference.precision import Array, Booleans


def all_scales(change: Callable[[Array], Array], rank: int = 0) -> Computation:
    """Make an attention that takes all scales in another way, those of fewer axes as they are."""

    def changed(scale: ArrayLike) -> Array:
        given = np.asarray(scale)
        return given if given.ndim < rank else change(given)

    return attention_given(**{f"{name}_scale": changed for name in TENSORS})


def list_of_entries(**arguments: Any) -> Outputs:
    """Take a list of scales for one for each batch entry where there are as many."""
    batch = np.shape(arguments["key"])[0]
    for name in TENSORS:
        scale = arguments.get(f"{name}_scale")
        if scale is not None and np.shape(scale) == (batch,):
            arguments[f"{name}_scale"] = np.reshape(scale, (batch, 1))
    return scaled_dot_product_attention(**arguments)


def by_query_head(scale: Array, heads: int) -> Array:
    """Take the scale of the query head's own number, as far as there is one, and the last one beyond."""
    matched = scale.reshape((1,) * (2 - scale.ndim) + scale.shape)
    places = np.minimum(np.arange(heads), matched.shape[1] - 1)
    return matched[:, places][:, :, np.newaxis, np.newaxis]


def of_query_heads(**arguments: Any) -> Outputs:
    """Repeat the heads first, and take the scales by the number of the query head."""
    heads, shared = np.shape(arguments["query"])[1], np.shape(arguments["key"])[1]
    given = {f"{name}_scale": arguments.pop(f"{name}_scale") for name in TENSORS if f"{name}_scale" in arguments}
    if not given:
        return scaled_dot_product_attention(**arguments)
    dtype = output_dtype_or_own(arguments["query"], arguments.pop("output_dtype", None))
    for name in ("query", "key", "past_key", "value", "past_value"):
        if arguments.get(name) is None:
            continue
        numbers = np.asarray(arguments[name])
        if name != "query":
            numbers = np.repeat(numbers, heads // max(shared, 1), axis=1)
        scale = given.get(f"{name.removeprefix('past_')}_scale")
        if scale is not None:
            numbers = widen(numbers, dtype) * by_query_head(widen(scale, dtype), heads)
        arguments[name] = numbers
    outputs = by_name(scaled_dot_product_attention(**arguments))
    return {name: round_to(dtype, array) for name, array in outputs.items()}


def scales_made_to_fit(**arguments: Any) -> Outputs:
    """Cut or repeat scales until they fit."""
    batch, shared = np.shape(arguments["key"])[:2]
    for name in TENSORS:
        scale = arguments.get(f"{name}_scale")
        if scale is not None and np.ndim(scale):
            last = np.shape(scale)[-2:] if np.ndim(scale) > 1 else np.shape(scale)
            rows = np.resize(np.reshape(scale, -1), (1, shared) if len(last) < 2 else (batch, shared))
            fits = len(np.shape(scale)) <= 2 and all(
                axis in (1, length) for axis, length in zip(np.shape(scale)[::-1], (shared, batch), strict=False)
            )
            arguments[f"{name}_scale"] = scale if fits else rows
    return scaled_dot_product_attention(**arguments)


def heard_beside(scale: str, other: str) -> Computation:
    """Make an attention that hears one scale only beside another."""

    def attend(**arguments: Any) -> Outputs:
        if other not in arguments and scale in arguments:
            arguments[scale] = np.ones((), dtype=np.float32)
        return scaled_dot_product_attention(**arguments)

    return attend


def squeezed(**arguments: Any) -> Outputs:
    """Drop axes of length 1 from scales, and match what is left with the heads where it fits these."""
    heads = np.shape(arguments["key"])[1]
    for name in ("query_scale", "key_scale", "value_scale"):
        if name in arguments:
            scale = np.squeeze(np.asarray(arguments[name]))
            if scale.shape == (heads,):
                arguments[name] = scale
    return scaled_dot_product_attention(**arguments)


_INT8, _FLOAT8 = ("int8",), ("float8_e4m3fn", "float8_e5m2")

_BITS = 14
"""Significant bits of the accumulators of tensor cores for float8."""

_STEP = 32
"""Features, or keys, that such a unit adds up at once."""


def where_both_are(formats: tuple[str, ...], computation: Computation) -> Computation:
    """Make a mistake where query and keys both have one of these formats."""
    return on_calls(
        scaled_dot_product_attention,
        lambda given: {np.asarray(given[name]).dtype.name for name in ("query", "key")} <= set(formats),
        computation,
    )


def adding(add: Callable[[Array, Array], Array]) -> Computation:
    """Make an attention that multiplies numbers without their scales, adds up in its own way, and scales the sums."""
    return scaling_logits(lambda factors: {"score_every_key": lambda query, key: add(query, key) * factors})


def wrapped(query: Array, key: Array) -> Array:
    """Add up in 16 bits, whose largest number is followed by the least."""
    sums = score_every_key(query, key)
    return ((sums + 2.0**15) % 2.0**16 - 2.0**15).astype(sums.dtype)


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


def narrow_values(weights: Array, value: Array, attendable: Booleans) -> Array:
    """Add weighed values up in few bits."""
    if not np.isfinite(value).all():
        return weigh_values(weights, value, attendable)
    return added_in_steps(weights, value)


FUNCTIONS: Mapping[str, Making] = {
    "sdpa.quantized_scale_of_next_head": all_scales(lambda scale: np.roll(scale, -1, axis=-1), rank=1),
    "sdpa.quantized_scale_of_first_head": all_scales(
        lambda scale: np.broadcast_to(scale[..., :1], scale.shape), rank=1
    ),
    "sdpa.quantized_scale_of_query_head": of_query_heads,
    "sdpa.quantized_scales_averaged": all_scales(
        lambda scale: np.asarray(np.mean(scale.astype(np.float32), dtype=np.float32))
    ),
    "sdpa.quantized_largest_scale": all_scales(lambda scale: np.asarray(np.max(scale))),
    "sdpa.quantized_scale_of_first_entry": all_scales(lambda scale: np.broadcast_to(scale[:1], scale.shape), rank=2),
    "sdpa.quantized_scales_transposed": all_scales(
        lambda scale: scale.T if scale.shape[0] == scale.shape[1] else scale, rank=2
    ),
    "sdpa.quantized_scales_by_entry": list_of_entries,
    "sdpa.scale_shape_not_checked": scales_made_to_fit,
    "sdpa.query_scale_beside_key_scale_alone": heard_beside("query_scale", "key_scale"),
    "sdpa.key_scale_beside_value_scale_alone": heard_beside("key_scale", "value_scale"),
    "sdpa.value_scale_beside_key_scale_alone": heard_beside("value_scale", "key_scale"),
    "sdpa.quantized_scales_squeezed": squeezed,
    "sdpa.quantized_zero_scale_as_none": all_scales(lambda scale: np.where(scale == 0, 1, scale).astype(np.float32)),
    "sdpa.quantized_scale_without_sign": all_scales(np.abs),
    "sdpa.int8_sums_wrapped": where_both_are(_INT8, adding(wrapped)),
    "sdpa.int8_sums_saturated": where_both_are(
        _INT8, adding(lambda query, key: np.clip(score_every_key(query, key), -(2.0**15), 2.0**15 - 1))
    ),
    "sdpa.float8_scores_in_14_bits": where_both_are(
        _FLOAT8, adding(lambda query, key: added_in_steps(query, np.swapaxes(key, -1, -2)))
    ),
    "sdpa.quantized_values_in_14_bits": where_both_are((*_INT8, *_FLOAT8), attention_with(weigh_values=narrow_values)),
    "sdpa.quantized_no_maximum": where_both_are((*_INT8, *_FLOAT8), WITHOUT_MAXIMUM),
}

"""What goes wrong with quantized tensors: their numbers, their scales, and whose scale it is."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attnspec_mistakes.attention.forward.attention_patches import TENSORS, attention_given, attention_with, tensors_of
from attnspec_mistakes.attention.forward.forward_softmax import WITHOUT_MAXIMUM
from attnspec_mistakes.mistake import Making
from attnspec_mistakes.patches import Computation, Outputs, by_name, exchanging, ignoring, on_calls
from attnspec_reference.attention.attention_logits import (
    add_mask,
    cap_scores,
    dequantize,
    is_boolean,
    of_each_head,
    output_dtype_or_own,
)
from attnspec_reference.attention.phases import divide_by_total, join_sinks, score_every_key, weigh_values
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention
from attnspec_reference.precision import Array, Booleans, round_to, widen

_E4M3, _E5M2 = "float8_e4m3fn", "float8_e5m2"
_LEAST_NORMAL = {_E4M3: 2.0**-6, _E5M2: 2.0**-14}

_FLOAT8 = tuple(_LEAST_NORMAL)


def reading(read: Callable[[Array], Array], *formats: str) -> Computation:
    """Make an attention that reads the numbers of quantized tensors of some formats in another way."""

    def attend(**arguments: Any) -> Outputs:
        for name, given in tensors_of(arguments).items():
            numbers = np.asarray(given)
            arguments[name] = read(numbers) if numbers.dtype.name in formats else numbers
        return scaled_dot_product_attention(**arguments)

    return attend


def not_a_number_as_number(numbers: Array) -> Array:
    """Go on counting where the format has NaN."""
    wide = numbers.astype(np.float64)
    return np.where(np.isnan(wide), np.copysign(480.0, wide), wide)


def without_the_least(numbers: Array) -> Array:
    """Take numbers below the least normal one for 0."""
    wide = numbers.astype(np.float64)
    return np.where(np.abs(wide) < _LEAST_NORMAL[numbers.dtype.name], 0, wide)


def keys_scale_as(name: str) -> Computation:
    """Make an attention in which the scale of the keys stands for another one as well."""

    def attend(**arguments: Any) -> Outputs:
        if {"key_scale", name} <= arguments.keys():
            arguments[name] = arguments["key_scale"]
        return scaled_dot_product_attention(**arguments)

    return attend


def multiplying(change: Callable[[Array, ArrayLike, np.dtype[Any]], Array]) -> Computation:
    """Make an attention in which scales act on numbers in another way."""
    return attention_with(
        dequantize=lambda numbers, scale, dtype: (
            np.asarray(numbers) if scale is None else change(np.asarray(numbers), scale, dtype)
        )
    )


def scale_in_bfloat16(numbers: Array, scale: ArrayLike, dtype: np.dtype[Any]) -> Array:
    """Round the scale to bfloat16."""
    import ml_dtypes  # only where there is something to round: the catalogue itself needs NumPy alone

    return dequantize(numbers, np.asarray(scale).astype(ml_dtypes.bfloat16).astype(np.float32), dtype)


def power_of_two(numbers: Array, scale: ArrayLike, dtype: np.dtype[Any]) -> Array:
    """Round the scale down to a power of two, as block formats have it."""
    mantissa, exponent = np.frexp(np.asarray(scale))
    return dequantize(numbers, np.ldexp(np.where(mantissa == 0, 0, 0.5), exponent), dtype)


def of_new_tokens_alone(**arguments: Any) -> Outputs:
    """Multiply the new keys and values by the scales, and leave the past as it is stored."""
    products = dict(arguments)
    dtype = output_dtype_or_own(arguments["query"], arguments.get("output_dtype"))
    for name in ("key", "value"):
        if f"past_{name}" in arguments and products.pop(f"{name}_scale", None) is not None:
            products[name] = dequantize(arguments[name], arguments[f"{name}_scale"], dtype)
            products[f"past_{name}"] = widen(arguments[f"past_{name}"], dtype)
    return scaled_dot_product_attention(**products)


def scales_of_scores(arguments: dict[str, Any]) -> tuple[Array, np.dtype[Any]]:
    """Take the scales of queries and keys from the arguments; give their product for each query head."""
    heads = np.shape(arguments["query"])[1]
    dtype = output_dtype_or_own(arguments["query"], arguments.pop("output_dtype", None))
    factors = widen(np.ones(()), dtype)
    for name in ("query", "key"):
        scale = arguments.pop(f"{name}_scale", None)
        if scale is not None:
            factors = factors * of_each_head(widen(scale, dtype), heads)
    for name in ("query", "key", "past_key"):
        if arguments.get(name) is not None:
            arguments[name] = widen(arguments[name], dtype)
    return factors, dtype


def scaling_logits(change: Callable[[Array], dict[str, object]]) -> Computation:
    """Make an attention in which the scales of queries and keys multiply scores, at another step."""

    def attend(**arguments: Any) -> Outputs:
        if "key_scale" not in arguments and "query_scale" not in arguments:
            return scaled_dot_product_attention(**arguments)
        factors, dtype = scales_of_scores(arguments)
        replaced = change(factors)
        outputs = by_name(attention_with(**replaced)(**arguments))
        return {name: round_to(dtype, array) for name, array in outputs.items()}

    return attend


def after_the_mask(factors: Array) -> dict[str, object]:
    """Multiply logits by the scales, float mask and distances included."""
    return {"add_mask": lambda scores, mask: add_mask(scores, mask) * factors}


def after_the_sinks(factors: Array) -> dict[str, object]:
    """Multiply the logits by the scales, the sinks included."""
    return {"join_sinks": lambda logits, sinks, query_lengths: join_sinks(logits, sinks, query_lengths) * factors}


def value_scale_in_weights(**arguments: Any) -> Outputs:
    """Multiply the weights by the scales of values, and give them back like that."""
    outputs = by_name(scaled_dot_product_attention(**arguments))
    scale = arguments.get("value_scale")
    if scale is None:
        return outputs
    weights = outputs["weights"]
    factors = of_each_head(widen(scale, weights.dtype), weights.shape[1])
    return {**outputs, "weights": (widen(weights, weights.dtype) * factors).astype(weights.dtype)}


def mask_scaled_too(**arguments: Any) -> Outputs:
    """Multiply a float mask by the scales of queries and keys, which were folded into the scale."""
    mask = arguments.get("mask")
    if mask is None or is_boolean(mask):
        return scaled_dot_product_attention(**arguments)
    return scaling_logits(after_the_mask)(**arguments)


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
    indices = np.minimum(np.arange(heads), matched.shape[1] - 1)
    return matched[:, indices][:, :, np.newaxis, np.newaxis]


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


_INT8 = ("int8",)

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


def first_features_alone(**arguments: Any) -> Any:
    """Take the numbers of a row from the 129th on for zeros."""
    for name, numbers in tensors_of(arguments).items():
        kept = np.array(numbers)
        kept[..., 128:] = 0
        arguments[name] = kept
    return scaled_dot_product_attention(**arguments)


FUNCTIONS: Mapping[str, Making] = {
    "sdpa.e4m3_as_e5m2": reading(lambda numbers: numbers.view(np.dtype(_E5M2)), _E4M3),
    "sdpa.e5m2_as_e4m3": reading(lambda numbers: numbers.view(np.dtype(_E4M3)), _E5M2),
    "sdpa.e4m3_as_fnuz": reading(lambda numbers: numbers.view(np.dtype("float8_e4m3fnuz")), _E4M3),
    "sdpa.float8_saturated_at_240": reading(lambda numbers: np.clip(numbers.astype(np.float64), -240, 240), _E4M3),
    "sdpa.float8_subnormals_flushed": reading(without_the_least, *_FLOAT8),
    "sdpa.float8_nan_as_number": reading(not_a_number_as_number, _E4M3),
    "sdpa.float8_bits_as_integers": reading(lambda numbers: numbers.view(np.uint8).astype(np.float64), *_FLOAT8),
    "sdpa.int8_as_unsigned": reading(lambda numbers: numbers.view(np.uint8).astype(np.float64), "int8"),
    "sdpa.int8_with_zero_point": reading(lambda numbers: numbers.astype(np.float64) - 128, "int8"),
    "sdpa.int8_clipped_to_127": reading(lambda numbers: np.clip(numbers, -127, 127), "int8"),
    "sdpa.quantized_scales_ignored": ignoring(scaled_dot_product_attention, "query_scale", "key_scale", "value_scale"),
    "sdpa.key_scale_ignored": ignoring(scaled_dot_product_attention, "key_scale"),
    "sdpa.value_scale_ignored": ignoring(scaled_dot_product_attention, "value_scale"),
    "sdpa.query_scale_ignored": ignoring(scaled_dot_product_attention, "query_scale"),
    "sdpa.quantized_scales_divided": multiplying(
        lambda numbers, scale, dtype: widen(numbers, dtype) / of_each_head(widen(scale, dtype), numbers.shape[1])
    ),
    "sdpa.key_scale_divided": attention_given(key_scale=np.reciprocal),
    "sdpa.key_scale_squared": attention_given(key_scale=np.square),
    "sdpa.value_scale_divided": attention_given(value_scale=np.reciprocal),
    "sdpa.value_scale_squared": attention_given(value_scale=np.square),
    "sdpa.query_scale_divided": attention_given(query_scale=np.reciprocal),
    "sdpa.query_scale_squared": attention_given(query_scale=np.square),
    "sdpa.quantized_scales_swapped": exchanging(scaled_dot_product_attention, ("key_scale", "value_scale")),
    "sdpa.key_scale_for_values": keys_scale_as("value_scale"),
    "sdpa.query_scale_of_keys": keys_scale_as("query_scale"),
    "sdpa.quantized_scales_twice": multiplying(
        lambda numbers, scale, dtype: dequantize(dequantize(numbers, scale, dtype), scale, dtype)
    ),
    "sdpa.quantized_scales_by_root": multiplying(
        lambda numbers, scale, dtype: dequantize(numbers, np.copysign(np.sqrt(np.abs(scale)), scale), dtype)
    ),
    "sdpa.quantized_past_unscaled": of_new_tokens_alone,
    "sdpa.key_scale_after_softmax": scaling_logits(
        lambda factors: {"divide_by_total": lambda exponentials, total: divide_by_total(exponentials, total) * factors}
    ),
    "sdpa.softcap_before_descale": scaling_logits(
        lambda factors: {"cap_scores": lambda scores, softcap: cap_scores(scores, softcap) * factors}
    ),
    "sdpa.mask_descaled_too": mask_scaled_too,
    "sdpa.biases_descaled_too": scaling_logits(after_the_mask),
    "sdpa.sinks_descaled_too": scaling_logits(after_the_sinks),
    "sdpa.value_scale_in_weights": value_scale_in_weights,
    "sdpa.dequantized_to_float16": multiplying(
        lambda numbers, scale, dtype: widen(dequantize(numbers, scale, dtype).astype(np.float16), dtype)
    ),
    "sdpa.dequantized_to_own_format": multiplying(
        lambda numbers, scale, dtype: widen(dequantize(numbers, scale, dtype).astype(numbers.dtype), dtype)
    ),
    "sdpa.quantized_scale_in_bfloat16": multiplying(scale_in_bfloat16),
    "sdpa.quantized_scale_power_of_two": multiplying(power_of_two),
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
    "sdpa.quantized_first_128_features": first_features_alone,
}

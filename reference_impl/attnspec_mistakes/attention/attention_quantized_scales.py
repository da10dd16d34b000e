"""What goes wrong with the scales of quantized tensors of attention: what they do, and at which step."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import altered, by_name, departure, exchanging, ignoring
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.attention_keys import is_boolean
from attnspec_reference.attention.attention_logits import add_mask, cap_scores
from attnspec_reference.attention.attention_scales import dequantize, of_each_head, output_dtype_or_own
from attnspec_reference.attention.attention_softmax import divide_by_total, join_sinks
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention
from attnspec_reference.precision import round_to, widen

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from attnspec_mistakes.departures import Computation, Outputs
    from attnspec_reference.precision import Array, Integers

OPERATION = "scaled_dot_product_attention"


def keys_scale_as(name: str) -> Computation:
    """Make an attention in which the scale of the keys stands for another one as well."""

    def attend(**arguments: Any) -> Outputs:
        if {"key_scale", name} <= arguments.keys():
            arguments[name] = arguments["key_scale"]
        return scaled_dot_product_attention(**arguments)

    return attend


def multiplying(change: Callable[[Array, ArrayLike, np.dtype[Any]], Array]) -> Computation:
    """Make an attention in which scales act on numbers in another way."""

    def acted(numbers: ArrayLike, scale: ArrayLike | None, dtype: np.dtype[Any]) -> Array:
        return np.asarray(numbers) if scale is None else change(np.asarray(numbers), scale, dtype)

    return departure(scaled_dot_product_attention, dequantize=acted)


def divided(numbers: Array, scale: ArrayLike, dtype: np.dtype[Any]) -> Array:
    """Divide by the scale."""
    return widen(numbers, dtype) / of_each_head(widen(scale, dtype), numbers.shape[1])


def twice(numbers: Array, scale: ArrayLike, dtype: np.dtype[Any]) -> Array:
    """Multiply by the scale twice."""
    return dequantize(dequantize(numbers, scale, dtype), scale, dtype)


def by_root(numbers: Array, scale: ArrayLike, dtype: np.dtype[Any]) -> Array:
    """Multiply by the root of the scale, as if the other half were elsewhere."""
    return dequantize(numbers, np.copysign(np.sqrt(np.abs(scale)), scale), dtype)


def rounded_back(numbers: Array, scale: ArrayLike, dtype: np.dtype[Any]) -> Array:
    """Round the product to the format of the numbers."""
    return widen(dequantize(numbers, scale, dtype).astype(numbers.dtype), dtype)


def through_float16(numbers: Array, scale: ArrayLike, dtype: np.dtype[Any]) -> Array:
    """Round the product to float16, where it may overflow."""
    return widen(dequantize(numbers, scale, dtype).astype(np.float16), dtype)


def scale_in_bfloat16(numbers: Array, scale: ArrayLike, dtype: np.dtype[Any]) -> Array:
    """Round the scale to bfloat16."""
    import ml_dtypes  # only where there is something to round: the catalogue itself needs NumPy alone

    return dequantize(numbers, np.asarray(scale).astype(ml_dtypes.bfloat16).astype(np.float32), dtype)


def power_of_two(numbers: Array, scale: ArrayLike, dtype: np.dtype[Any]) -> Array:
    """Round the scale down to a power of two, as block formats have it."""
    mantissa, exponent = np.frexp(np.asarray(scale))
    return dequantize(numbers, np.ldexp(np.where(mantissa == 0, 0, 0.5), exponent), dtype)


def of_new_tokens_alone(**arguments: Any) -> Outputs:
    """Multiply the new keys and values by the scales, and leave the past as it is held."""
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
        outputs = by_name(departure(scaled_dot_product_attention, **replaced)(**arguments))
        return {name: round_to(dtype, array) for name, array in outputs.items()}

    return attend


def after_the_softcap(factors: Array) -> dict[str, object]:
    """Cap the scores of numbers, and multiply by the scales then."""

    def capped(scores: Array, softcap: float | None) -> Array:
        return cap_scores(scores, softcap) * factors

    return {"cap_scores": capped}


def after_the_mask(factors: Array) -> dict[str, object]:
    """Multiply logits by the scales, float mask and distances included."""

    def masked(scores: Array, mask: ArrayLike | None) -> Array:
        return add_mask(scores, mask) * factors

    return {"add_mask": masked}


def after_the_sinks(factors: Array) -> dict[str, object]:
    """Multiply the logits by the scales, the sinks included."""

    def joined(logits: Array, sinks: Array | None, query_lengths: Integers | int) -> Array:
        return join_sinks(logits, sinks, query_lengths) * factors

    return {"join_sinks": joined}


def after_the_softmax(factors: Array) -> dict[str, object]:
    """Multiply weights by the scales of queries and keys, which the softmax never saw."""

    def divided_and_scaled(exponentials: Array, total: Array) -> Array:
        return divide_by_total(exponentials, total) * factors

    return {"divide_by_total": divided_and_scaled}


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


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="sdpa.quantized_scales_ignored",
        clause="sdpa.quantized.key",
        sentence="The scales of quantized tensors were ignored: their numbers count as they are.",
        engineer="The descale operands do not reach the kernel that was dispatched to.",
        remedy="Multiply the numbers of query, key and value by their scales.",
        function=ignoring(scaled_dot_product_attention, "query_scale", "key_scale", "value_scale"),
        source="https://github.com/flashinfer-ai/flashinfer/issues/4979",
    ),
    mistake(
        id="sdpa.key_scale_ignored",
        clause="sdpa.quantized.key",
        sentence="The scale of the keys was ignored.",
        engineer="k_descale is not folded into the softmax scale.",
        remedy="Multiply the keys, or their scores, by the scale of the keys.",
        function=ignoring(scaled_dot_product_attention, "key_scale"),
    ),
    mistake(
        id="sdpa.value_scale_ignored",
        clause="sdpa.quantized.value",
        sentence="The scale of the values was ignored.",
        engineer="v_descale is not applied in the epilogue.",
        remedy="Multiply the values, or the output, by the scale of the values.",
        function=ignoring(scaled_dot_product_attention, "value_scale"),
        source="https://github.com/sgl-project/sglang/pull/34765",
    ),
    mistake(
        id="sdpa.query_scale_ignored",
        clause="sdpa.quantized.query",
        sentence="The scale of the queries was ignored.",
        engineer="q_descale is left out of the factor of the scores.",
        remedy="Multiply the queries, or their scores, by the scale of the queries.",
        function=ignoring(scaled_dot_product_attention, "query_scale"),
        source="https://github.com/vllm-project/vllm/pull/42080",
    ),
    mistake(
        id="sdpa.quantized_scales_divided",
        clause="sdpa.quantized.key",
        sentence="Quantized numbers were divided by their scales instead of multiplied.",
        engineer="The operand is taken for the writer's scale; a descale is its inverse.",
        remedy="Multiply: a number times its scale is the key.",
        function=multiplying(divided),
        source="https://github.com/ROCm/aiter/issues/2360",
    ),
    mistake(
        id="sdpa.key_scale_divided",
        clause="sdpa.quantized.key",
        sentence="The keys alone were divided by their scale; the others were multiplied.",
        engineer="k_descale is handed over as the writer's scale, its inverse.",
        remedy="Multiply the keys by `key_scale`.",
        function=altered(scaled_dot_product_attention, key_scale=np.reciprocal),
    ),
    mistake(
        id="sdpa.key_scale_squared",
        clause="sdpa.quantized.key",
        sentence="The keys were multiplied by their scale twice.",
        engineer="k_descale is applied on load and again to the result.",
        remedy="Apply `key_scale` in one place alone.",
        function=altered(scaled_dot_product_attention, key_scale=np.square),
    ),
    mistake(
        id="sdpa.value_scale_divided",
        clause="sdpa.quantized.value",
        sentence="The values alone were divided by their scale; the others were multiplied.",
        engineer="v_descale is handed over as the writer's scale, its inverse.",
        remedy="Multiply the values by `value_scale`.",
        function=altered(scaled_dot_product_attention, value_scale=np.reciprocal),
    ),
    mistake(
        id="sdpa.value_scale_squared",
        clause="sdpa.quantized.value",
        sentence="The values were multiplied by their scale twice.",
        engineer="v_descale is applied on load and again to the result.",
        remedy="Apply `value_scale` in one place alone.",
        function=altered(scaled_dot_product_attention, value_scale=np.square),
    ),
    mistake(
        id="sdpa.query_scale_divided",
        clause="sdpa.quantized.query",
        sentence="The queries alone were divided by their scale; the others were multiplied.",
        engineer="q_descale is handed over as the writer's scale, its inverse.",
        remedy="Multiply the queries by `query_scale`.",
        function=altered(scaled_dot_product_attention, query_scale=np.reciprocal),
    ),
    mistake(
        id="sdpa.query_scale_squared",
        clause="sdpa.quantized.query",
        sentence="The queries were multiplied by their scale twice.",
        engineer="q_descale is applied on load and again to the result.",
        remedy="Apply `query_scale` in one place alone.",
        function=altered(scaled_dot_product_attention, query_scale=np.square),
    ),
    mistake(
        id="sdpa.quantized_scales_swapped",
        clause="sdpa.quantized.value",
        sentence="Keys were multiplied by the scale of the values, and values by that of the keys.",
        engineer="k_descale and v_descale are passed in the wrong order.",
        remedy="Multiply keys by `key_scale` and values by `value_scale`.",
        function=exchanging(scaled_dot_product_attention, ("key_scale", "value_scale")),
    ),
    mistake(
        id="sdpa.key_scale_for_values",
        clause="sdpa.quantized.value",
        sentence="Values were multiplied by the scale of the keys, like the keys.",
        engineer="One kv scale is read for both halves of the cache.",
        remedy="Multiply values by `value_scale`; the two differ.",
        function=keys_scale_as("value_scale"),
    ),
    mistake(
        id="sdpa.query_scale_of_keys",
        clause="sdpa.quantized.query",
        sentence="Queries were multiplied by the scale of the keys.",
        engineer="q_descale is read from the pointer of k_descale.",
        remedy="Multiply queries by `query_scale`.",
        function=keys_scale_as("query_scale"),
    ),
    mistake(
        id="sdpa.quantized_scales_twice",
        clause="sdpa.quantized.key",
        sentence="Quantized numbers were multiplied by their scales twice.",
        engineer="The cache is dequantized on load, and the descale is folded into the softmax scale as well.",
        remedy="Apply each scale in one place alone.",
        function=multiplying(twice),
    ),
    mistake(
        id="sdpa.quantized_scales_by_root",
        clause="sdpa.quantized.key",
        sentence="Quantized numbers were multiplied by the root of their scales.",
        engineer="The descale is split over two operands, of which one does not get its half.",
        remedy="Multiply by the scale itself.",
        function=multiplying(by_root),
    ),
    mistake(
        id="sdpa.quantized_past_unscaled",
        clause="sdpa.quantized.past",
        sentence="Past keys and values were not multiplied by their scales; new ones were.",
        engineer="The cache is read raw, and only the appended tokens are dequantized.",
        remedy="Multiply past keys and values by the same scales as the new ones.",
        function=of_new_tokens_alone,
    ),
    mistake(
        id="sdpa.key_scale_after_softmax",
        clause="sdpa.quantized.order",
        sentence="The scales of queries and keys were applied after the softmax, to the weights.",
        engineer="All descales are multiplied into the epilogue.",
        remedy="Scores need the scales of queries and keys before the softmax; only that of values may wait.",
        function=scaling_logits(after_the_softmax),
    ),
    mistake(
        id="sdpa.softcap_before_descale",
        clause="sdpa.quantized.order",
        sentence="The softcap was applied to the scores of numbers, before their scales.",
        engineer="tanh is taken of the raw product, and the descale follows it.",
        remedy="Multiply by the scales first, then cap.",
        function=scaling_logits(after_the_softcap),
    ),
    mistake(
        id="sdpa.mask_descaled_too",
        clause="sdpa.quantized.order",
        sentence="The float mask was multiplied by the scales of queries and keys, too.",
        engineer="The descale is folded into the factor of the exponent, behind the bias.",
        remedy="Multiply scores by the scales before anything is added to them.",
        function=mask_scaled_too,
    ),
    mistake(
        id="sdpa.biases_descaled_too",
        clause="sdpa.quantized.order",
        sentence="Everything that is added to scores was multiplied by the scales of queries and keys, too.",
        engineer="The descale is applied to logits instead of scores: ALiBi and mask are inside.",
        remedy="Multiply scores by the scales before anything is added to them.",
        function=scaling_logits(after_the_mask),
    ),
    mistake(
        id="sdpa.sinks_descaled_too",
        clause="sdpa.quantized.order",
        sentence="The sinks were multiplied by the scales of queries and keys.",
        engineer="The sink joins the row before the descale.",
        remedy="Let the sinks join after the scales.",
        function=scaling_logits(after_the_sinks),
    ),
    mistake(
        id="sdpa.value_scale_in_weights",
        clause="sdpa.quantized.value",
        sentence="The weights that were returned are multiplied by the scale of the values; the output is right.",
        engineer="v_descale is folded into P, which is written out after that.",
        remedy="Return weights that no scale of values has met.",
        function=value_scale_in_weights,
    ),
    mistake(
        id="sdpa.dequantized_to_float16",
        clause="sdpa.quantized.precision",
        sentence="Products of numbers and scales were rounded to float16, where large ones overflow.",
        engineer="The cache is dequantized into a half buffer, whatever the dtype of the query.",
        remedy="Carry products in float32, or in a dtype that holds them.",
        function=multiplying(through_float16),
    ),
    mistake(
        id="sdpa.dequantized_to_own_format",
        clause="sdpa.quantized.precision",
        sentence="Products of numbers and scales were rounded back to the format of the numbers.",
        engineer="The product is stored in the cache's own dtype: fp8 times scale in fp8.",
        remedy="Widen the numbers before they are multiplied.",
        function=multiplying(rounded_back),
    ),
    mistake(
        id="sdpa.quantized_scale_in_bfloat16",
        clause="sdpa.quantized.precision",
        sentence="The scales were rounded to bfloat16.",
        engineer="Scales are cast to the dtype of the model with all its parameters.",
        remedy="Keep scales in float32.",
        function=multiplying(scale_in_bfloat16),
    ),
    mistake(
        id="sdpa.quantized_scale_power_of_two",
        clause="sdpa.quantized.precision",
        sentence="The scales were rounded down to powers of two.",
        engineer="The scale is stored as an exponent (E8M0), as block formats have it.",
        remedy="Keep scales in float32, with their mantissa.",
        function=multiplying(power_of_two),
    ),
)

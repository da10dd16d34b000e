"""Other ways with the scales of quantized queries, keys and values: folded into factors, or applied at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_controls.attention.attention_products import indexed_heads
from attnspec_controls.attention.attention_softmax import from_logits, online, powers_of_two
from attnspec_controls.control import Control
from attnspec_mistakes.attention.forward.attention_patches import TENSORS, check_scales, of_products, tensors_of
from attnspec_mistakes.patches import by_name, patch
from attnspec_reference.attention.attention_logits import dequantize, of_each_head, output_dtype_or_own
from attnspec_reference.attention.phases import score_every_key, weigh_values
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention
from attnspec_reference.precision import round_to, widen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_mistakes.patches import Computation, Outputs
    from attnspec_reference.precision import Array, Booleans

OPERATION = "scaled_dot_product_attention"


def of_numbers(attend: Callable[[dict[str, Any], Mapping[str, Array]], Outputs]) -> Computation:
    """Make an attention of numbers without their scales, which it gets beside: one factor for each query head."""

    def computation(**arguments: Any) -> Outputs:
        if not tensors_of(arguments):
            return scaled_dot_product_attention(**arguments)
        check_scales(arguments)
        dtype = output_dtype_or_own(arguments["query"], arguments.pop("output_dtype", None))
        heads = np.shape(arguments["query"])[1]
        one = widen(np.ones(()), dtype)
        scales = {name: arguments.pop(f"{name}_scale", None) for name in TENSORS}
        factors = {
            name: one if scale is None else of_each_head(widen(scale, dtype), heads) for name, scale in scales.items()
        }
        for name in ("query", "key", "value", "past_key", "past_value"):
            if arguments.get(name) is not None:
                arguments[name] = widen(arguments[name], dtype)
        outputs = by_name(attend(arguments, factors))
        return {name: round_to(dtype, np.asarray(array)) for name, array in outputs.items()}

    return computation


def folded_steps(factors: Mapping[str, Array]) -> dict[str, Callable[..., Array]]:
    """Fold the scales of queries and keys into the scale of the scores, and multiply the output by that of values."""

    def scaled(raw_scores: Array, scale: float) -> Array:
        return raw_scores * (factors["query"] * factors["key"] * scale)

    def weighed(weights: Array, value: Array, attendable: Booleans) -> Array:
        return weigh_values(weights, value, attendable) * factors["value"]

    return {"scale_scores": scaled, "weigh_values": weighed}


def folded(arguments: dict[str, Any], factors: Mapping[str, Array]) -> Outputs:
    """Attend to numbers, with the scales in factors."""
    return patch(scaled_dot_product_attention, **folded_steps(factors))(**arguments)


def folded_powers_of_two(arguments: dict[str, Any], factors: Mapping[str, Array]) -> Outputs:
    """Attend to numbers with the scales in factors, and take powers of two."""
    return patch(scaled_dot_product_attention, exponentiate=powers_of_two, **folded_steps(factors))(**arguments)


def scores_first(arguments: dict[str, Any], factors: Mapping[str, Array]) -> Outputs:
    """Multiply scores by the scales one after the other, before the scale."""

    def scored(query: Array, key: Array) -> Array:
        return score_every_key(query, key) * factors["query"] * factors["key"]

    steps = {**folded_steps(factors), "score_every_key": scored}
    del steps["scale_scores"]
    return patch(scaled_dot_product_attention, **steps)(**arguments)


def in_the_query(arguments: dict[str, Any], factors: Mapping[str, Array]) -> Outputs:
    """Multiply queries by the scales of queries and keys, before any product."""
    arguments["query"] = arguments["query"] * (factors["query"] * factors["key"])
    return patch(scaled_dot_product_attention, weigh_values=folded_steps(factors)["weigh_values"])(**arguments)


def in_the_weights(arguments: dict[str, Any], factors: Mapping[str, Array]) -> Outputs:
    """Multiply the weights by the scales of values, and weigh numbers with them."""

    def weighed(weights: Array, value: Array, attendable: Booleans) -> Array:
        return weigh_values(weights * factors["value"], value, attendable)

    return patch(scaled_dot_product_attention, **{**folded_steps(factors), "weigh_values": weighed})(**arguments)


def folded_tiles(arguments: dict[str, Any], factors: Mapping[str, Array]) -> Outputs:
    """Go over tiles of two keys, and multiply by the scale of values once, at the end."""
    scores = patch(scaled_dot_product_attention, scale_scores=folded_steps(factors)["scale_scores"])
    outputs = by_name(from_logits(online(2), scores)(**arguments))
    return {**outputs, "output": outputs["output"] * factors["value"]}


def key_by_key(**arguments: Any) -> Outputs:
    """Multiply each token by its scale by itself, when it is read, and pick shared heads by index."""

    def each_token(numbers: Array, scale: Array | None, dtype: np.dtype[Any]) -> Array:
        if scale is None or not np.shape(numbers)[2]:
            return dequantize(numbers, scale, dtype)
        tokens = [dequantize(numbers[:, :, [token]], scale, dtype) for token in range(np.shape(numbers)[2])]
        return np.concatenate(tokens, axis=2)

    return patch(scaled_dot_product_attention, dequantize=each_token, repeat_heads=indexed_heads)(**arguments)


CONTROLS: tuple[Control, ...] = (
    Control(
        id="sdpa.dequantized_first",
        operation=OPERATION,
        sentence="Queries, keys and values are multiplied by their scales before the call.",
        function=of_products(scaled_dot_product_attention),
    ),
    Control(
        id="sdpa.dequantized_key_by_key",
        operation=OPERATION,
        sentence="Each token is multiplied by its scale when it is read.",
        function=key_by_key,
    ),
    Control(
        id="sdpa.quantized_scales_folded",
        operation=OPERATION,
        sentence="The scales of queries and keys are folded into that of the scores; that of values meets the output.",
        function=of_numbers(folded),
    ),
    Control(
        id="sdpa.quantized_scales_of_scores",
        operation=OPERATION,
        sentence="Scores are multiplied by the scales of queries and keys, one after the other.",
        function=of_numbers(scores_first),
    ),
    Control(
        id="sdpa.quantized_scales_in_query",
        operation=OPERATION,
        sentence="Queries are multiplied by the scales of the keys, too.",
        function=of_numbers(in_the_query),
    ),
    Control(
        id="sdpa.value_scale_on_weights",
        operation=OPERATION,
        sentence="Weights are multiplied by the scale of values before they weigh numbers.",
        function=of_numbers(in_the_weights),
    ),
    Control(
        id="sdpa.quantized_scales_folded_base_two",
        operation=OPERATION,
        sentence="The scales are folded into factors, and the exponentials are powers of two.",
        function=of_numbers(folded_powers_of_two),
    ),
    Control(
        id="sdpa.quantized_scales_folded_tiles_of_2",
        operation=OPERATION,
        sentence="The scales are folded into factors, and the softmax is taken online over tiles of two keys.",
        function=of_numbers(folded_tiles),
    ),
)

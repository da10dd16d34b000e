"""Other ways to the products of attention: shared heads, scores, scale, weighted sums."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_controls.control import Control
from attnspec_mistakes.patches import in_working_precision, patch
from attnspec_reference.attention.attention_logits import prepend_past
from attnspec_reference.attention.phases import applied_scale
from attnspec_reference.attention.scaled_dot_product_attention import Attention, scaled_dot_product_attention

if TYPE_CHECKING:
    from attnspec_reference.precision import Array, Booleans

OPERATION = "scaled_dot_product_attention"


@in_working_precision
def scale_split(**arguments: Any) -> Attention:
    """Multiply query and key by the square root of the scale each, as ONNX does."""
    scale = applied_scale(arguments.pop("scale", None), arguments["query"].shape[-1])
    root = math.sqrt(abs(scale))
    present_key = prepend_past(arguments.get("past_key"), arguments["key"])
    arguments["query"] = arguments["query"] * math.copysign(root, scale)
    for name in ("key", "past_key"):
        if arguments.get(name) is not None:
            arguments[name] = arguments[name] * root
    return scaled_dot_product_attention(**arguments, scale=1.0)._replace(present_key=present_key)


@in_working_precision
def scale_first(**arguments: Any) -> Attention:
    """Multiply the query by the scale, before any dot product."""
    scale = applied_scale(arguments.pop("scale", None), arguments["query"].shape[-1])
    arguments["query"] = arguments["query"] * scale
    return scaled_dot_product_attention(**arguments, scale=1.0)


def indexed_heads(shared: Array, heads: int) -> Array:
    """Pick for each query head the head that it reads."""
    group = heads // max(shared.shape[1], 1)
    return shared[:, [head // group for head in range(heads)]]


def scores_feature_by_feature(query: Array, key: Array) -> Array:
    """Add the products of the features one after the other."""
    scores = np.zeros((*query.shape[:-1], key.shape[-2]), dtype=query.dtype)
    for feature in range(query.shape[-1]):
        scores = scores + query[..., :, np.newaxis, feature] * key[..., np.newaxis, :, feature]
    return scores


def sum_key_by_key(exponentials: Array) -> Array:
    """Add the exponentials one after the other."""
    total = np.zeros((*exponentials.shape[:-1], 1), dtype=exponentials.dtype)
    for key in range(exponentials.shape[-1]):
        total = total + exponentials[..., key : key + 1]
    return total


def values_key_by_key(weights: Array, value: Array, attendable: Booleans) -> Array:
    """Add the weighted values one after the other, leaving out what may not be attended."""
    output = np.zeros((*weights.shape[:-1], value.shape[-1]), dtype=weights.dtype)
    for key in range(value.shape[-2]):
        share = weights[..., key, np.newaxis] * value[..., np.newaxis, key, :]
        output = output + np.where(attendable[..., key, np.newaxis], share, 0)
    return output


CONTROLS: tuple[Control, ...] = (
    Control(
        id="sdpa.scale_split",
        operation=OPERATION,
        sentence="Query and key are each multiplied by the square root of the scale.",
        function=scale_split,
    ),
    Control(
        id="sdpa.scale_first",
        operation=OPERATION,
        sentence="The query is multiplied by the scale before the dot products.",
        function=scale_first,
    ),
    Control(
        id="sdpa.heads_indexed",
        operation=OPERATION,
        sentence="The shared heads are picked by index instead of repeated.",
        function=patch(scaled_dot_product_attention, repeat_heads=indexed_heads),
    ),
    Control(
        id="sdpa.sums_in_order",
        operation=OPERATION,
        sentence="Every sum is taken strictly one number after the other.",
        function=patch(
            scaled_dot_product_attention,
            score_every_key=scores_feature_by_feature,
            sum_over_keys=sum_key_by_key,
            weigh_values=values_key_by_key,
        ),
    ),
)

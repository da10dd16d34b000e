"""Building blocks of trivial answers of all operations of attention: other scales, heads read in another order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.families.attention.steps.quantized import is_quantized, product_with_scale

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_draws.generators.trivial_answers import Answered

_BEYOND = 1.01
"""A scale off by 1%: less than users' own tolerances notice as a rule."""


def of_products(answer: Callable[[Answered], Mapping[str, Any]]) -> Callable[[Answered], Mapping[str, Any]]:
    """Return a trivial answer that takes quantized tensors, too: it is given their products with the scales."""

    def answer_any(call: Answered) -> Mapping[str, Any]:
        inputs = call.inputs
        if not is_quantized(inputs):
            return answer(call)
        shared = inputs["key"].shape[1]
        products = {
            name: product_with_scale(inputs[name], inputs.get(f"{name.removeprefix('past_')}_scale"), shared)
            for name in ("query", "key", "value", "past_key", "past_value")
            if name in inputs
        }
        others = {name: array for name, array in inputs.items() if not name.endswith("_scale")}
        attributes = {name: value for name, value in call.attributes.items() if name != "output_dtype"}
        return answer(call._replace(inputs={**others, **products}, attributes=attributes))

    return answer_any


def scale_of(call: Answered) -> float:
    """Return the scale of a call."""
    scale = call.attributes.get("scale")
    return default_scale(call) if scale is None else float(scale)


def default_scale(call: Answered) -> float:
    """Return the scale of a call that states none."""
    return 1 / math.sqrt(max(call.inputs["query"].shape[3], 1))


def scale_slightly_off(call: Answered) -> dict[str, Any]:
    """Return the attributes of a call with a scale that is 1% too large."""
    return {**call.attributes, "scale": _BEYOND * scale_of(call)}


def with_heads_tiled(call: Answered) -> dict[str, Any]:
    """Return the inputs of a call with a key head for each query head, h % Hkv instead of h // group."""
    heads, shared = call.inputs["query"].shape[1], call.inputs["key"].shape[1]
    group = heads // max(shared, 1)
    tiled = {
        name: np.tile(call.inputs[name], (1, group, 1, 1))
        for name in ("key", "value", "past_key", "past_value")
        if name in call.inputs
    }
    return {**call.inputs, **tiled}

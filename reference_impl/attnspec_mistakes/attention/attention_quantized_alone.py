"""What goes wrong where one tensor is quantized and another is not, and where a scale could be read in two ways."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.attention_quantized_owners import all_scales
from attnspec_mistakes.departures import altered
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from attnspec_mistakes.departures import Computation, Outputs
    from attnspec_reference.precision import Array

OPERATION = "scaled_dot_product_attention"


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


def zero_as_none(scale: ArrayLike) -> Array:
    """Take 1 where a scale is 0."""
    return np.where(np.equal(scale, 0), 1, scale).astype(np.float32)


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="sdpa.query_scale_beside_key_scale_alone",
        clause="sdpa.quantized.query",
        sentence="The scale of the queries was left out where the keys are not quantized.",
        engineer="The quantized path is entered by the dtype of the keys.",
        remedy="Multiply the queries by `query_scale` whatever the keys are.",
        function=heard_beside("query_scale", "key_scale"),
    ),
    mistake(
        id="sdpa.key_scale_beside_value_scale_alone",
        clause="sdpa.quantized.key",
        sentence="The scale of the keys was left out where the values are not quantized.",
        engineer="The cache counts as quantized by the dtype of its values.",
        remedy="Multiply the keys by `key_scale` whatever the values are.",
        function=heard_beside("key_scale", "value_scale"),
    ),
    mistake(
        id="sdpa.value_scale_beside_key_scale_alone",
        clause="sdpa.quantized.value",
        sentence="The scale of the values was left out where the keys are not quantized.",
        engineer="The cache counts as quantized by the dtype of its keys.",
        remedy="Multiply the values by `value_scale` whatever the keys are.",
        function=heard_beside("value_scale", "key_scale"),
    ),
    mistake(
        id="sdpa.quantized_scales_squeezed",
        clause="sdpa.quantized.batch",
        sentence="Scales of batch entries were taken for scales of heads where there are as many.",
        engineer="Axes of length 1 are squeezed from the scales, so that (B, 1) is a list.",
        remedy="Match the axes of a scale from the right, and keep those of length 1.",
        function=squeezed,
    ),
    mistake(
        id="sdpa.quantized_zero_scale_as_none",
        clause="sdpa.quantized.key",
        sentence="A scale of 0 was taken for none: its numbers count as they are.",
        engineer="The scale is tested for truth, or guarded against division by 0.",
        remedy="Multiply by every scale that is given; a product with 0 is 0.",
        function=all_scales(zero_as_none),
    ),
    mistake(
        id="sdpa.quantized_scale_without_sign",
        clause="sdpa.quantized.key",
        sentence="The sign of a scale was lost.",
        engineer="Scales are taken for magnitudes.",
        remedy="Multiply by the scale as it is.",
        function=altered(
            scaled_dot_product_attention, **dict.fromkeys(("query_scale", "key_scale", "value_scale"), np.abs)
        ),
    ),
)
"""What goes wrong with scales of tensors that are quantized alone, and with scales that fit more than one axis."""

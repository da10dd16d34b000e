"""Directions of systematic errors of attention: the scale of the scores, and a factor of what is returned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.families.record import Arrays, Compute, Direction, Shapes

_SMALL, _LARGE = 1e-3, 1e-2
"""Relative changes of the scale. Between them the derivative must stay, for elements where it is to speak."""

_CURVED = 0.1
"""Share by which an element may leave the straight line, within the larger change: a robust fit is content with that,
and with less the elements that a scale moves most would be left out."""

_STILL = 1e-12
"""Relative change of an element that is the rounding of float64 alone: the scale does not move it."""

_WIDTH: Mapping[str, Callable[[Shapes, Mapping[str, Any]], int]] = {
    "scaled_dot_product_attention": lambda shapes, _: shapes["query"][-1],
    "scaled_dot_product_attention_backward": lambda shapes, _: shapes["query"][-1],
    "context_vector": lambda shapes, _: shapes["decoder_state"][-1],
    "single_head_attention": lambda shapes, _: shapes["w_query"][-1],
    "multi_head_attention": lambda shapes, attributes: shapes["w_query"][-1] // attributes["num_heads"],
    "latent_attention": lambda shapes, _: shapes["query_content"][-1] + shapes["query_rotary"][-1],
    "absorbed_latent_attention": lambda shapes, _: shapes["query_latent"][-1] + shapes["query_rotary"][-1],
}
"""Operation to the width of its heads, of which the default scale is made."""

_OUTPUTS = {
    "scaled_dot_product_attention_backward": ("grad_query", "grad_key", "grad_value"),
    "context_vector": ("context",),
    "absorbed_latent_attention": ("output_latent",),
}
"""Operation to the outputs in which a direction shows, where these are others than its output."""


def scale_of(operation: str, shapes: Shapes, attributes: Mapping[str, Any]) -> float:
    """Return the scale of a call, stated or by default; 0 where no width gives one."""
    width, stated = _WIDTH[operation](shapes, attributes), attributes.get("scale")
    return stated if stated is not None else attributes.get("magnitude", 1.0) ** 2 * width**-0.5 if width else 0.0


def by_scale(compute: Compute, operation: str, shapes: Shapes, attributes: Mapping[str, Any]) -> Arrays:
    """Return the derivatives of outputs by the logarithm of the scale, central differences; NaN where not straight."""
    scale = scale_of(operation, shapes, attributes)
    with np.errstate(all="ignore"):
        lower, low, high, higher = (
            compute({**attributes, "scale": scale * (1 + change)}) for change in (-_LARGE, -_SMALL, _SMALL, _LARGE)
        )
        return {name: _straight(lower[name], low[name], high[name], higher[name]) for name in low}


def _straight(lower: NDArray[Any], low: NDArray[Any], high: NDArray[Any], higher: NDArray[Any]) -> NDArray[np.float64]:
    """Return the slopes of elements at four changes of the scale; NaN where these do not lie on a line."""
    slope, wide = (high - low) / (2 * _SMALL), (higher - lower) / (2 * _LARGE)
    bend = np.abs((higher + lower) / 2 - (high + low) / 2)
    still = np.abs(higher - lower) <= _STILL * np.abs(high)
    straight = (np.abs(wide - slope) <= _CURVED * np.abs(slope)) & (bend <= _CURVED * _LARGE * np.abs(slope))
    return np.where(still, 0.0, np.where(straight, slope, np.nan))


@cache
def directions(operation: str) -> tuple[Direction, ...]:
    """Return the directions of an operation, of those that are measured; none for the others."""
    if operation not in _WIDTH:
        return ()
    outputs = _OUTPUTS.get(operation, ("output",))
    returned = "the gradients are" if len(outputs) > 1 else "the output is"
    return (Direction("scale", "the scale is", outputs, by_scale, scale_of), Direction("output", returned, outputs))

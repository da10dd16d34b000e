"""Other ways to causal masks, and to split and combined heads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_controls.control import Control
from attnspec_mistakes.patches import named_output

if TYPE_CHECKING:
    from attnspec_reference.precision import Array


def triangle(*, query_length: int, key_length: int | None = None, offset: int = 0, additive: bool = False) -> Array:
    """Draw the triangle that the diagonal closes."""
    mask = np.tri(query_length, query_length if key_length is None else key_length, offset, dtype=np.bool_)
    if not additive:
        return mask
    numbers = np.zeros(mask.shape)
    numbers[~mask] = -np.inf
    return numbers


def sliced(*, x: Any, num_heads: int) -> Array:
    """Cut the slices one by one, as equal parts, and stack them."""
    return np.stack(np.split(x, num_heads, axis=-1), axis=1)


def concatenated(*, x: Any) -> Array:
    """Lay the heads side by side, one by one."""
    return np.concatenate([x[:, head] for head in range(np.shape(x)[1])], axis=-1)


CONTROLS: tuple[Control, ...] = (
    Control(
        id="causal_mask.triangle",
        operation="causal_mask",
        sentence="The mask is drawn as a lower triangle.",
        function=named_output(triangle),
    ),
    Control(
        id="split_heads.sliced",
        operation="split_heads",
        sentence="The heads are sliced one by one and stacked.",
        function=named_output(sliced),
    ),
    Control(
        id="combine_heads.concatenated",
        operation="combine_heads",
        sentence="The heads are concatenated one by one.",
        function=named_output(concatenated),
    ),
)

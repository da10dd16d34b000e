"""What goes wrong in the gradient of a float mask: sums over what it was repeated along, and its exclusions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.attention.backward_departures import changing, mistake
from attnspec_mistakes.departures import departure
from attnspec_reference.attention.attention_gradients import sum_to_mask
from attnspec_reference.attention.attention_keys import is_boolean
from attnspec_reference.attention.scaled_dot_product_attention_backward import scaled_dot_product_attention_backward

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike

    from attnspec_mistakes.attention.backward_departures import Backward
    from attnspec_reference.precision import Array


def collected(collect: Callable[[Array, tuple[int, ...]], Array]) -> Backward:
    """Make a backward pass that does something else along the axes that the mask was repeated along."""

    def gradient(grad_logits: Array, mask: ArrayLike | None) -> Array | None:
        if mask is None or is_boolean(mask):
            return None
        shape = np.shape(mask)
        missing = grad_logits.ndim - len(shape)
        repeated = [*range(missing), *(missing + axis for axis, length in enumerate(shape) if length == 1)]
        return collect(grad_logits, tuple(repeated)).reshape(shape)

    return departure(scaled_dot_product_attention_backward, sum_to_mask=gradient)


def averaged(grad_logits: Array, repeated: tuple[int, ...]) -> Array:
    """Take the mean along the axes."""
    count = np.prod([grad_logits.shape[axis] for axis in repeated], initial=1)
    return grad_logits.sum(axis=repeated) / max(count, 1)


def first(grad_logits: Array, repeated: tuple[int, ...]) -> Array:
    """Take the first place of the axes."""
    kept = [slice(0, 1) if axis in repeated else slice(None) for axis in range(grad_logits.ndim)]
    return grad_logits[tuple(kept)].sum(axis=repeated)


def of_first_entry(grad_logits: Array, repeated: tuple[int, ...]) -> Array:
    """Sum within the first batch entry where the mask is repeated for all."""
    return grad_logits[:1].sum(axis=repeated) if 0 in repeated else grad_logits.sum(axis=repeated)


def last_tile(tile: int) -> Callable[[Array, tuple[int, ...]], Array]:
    """Take what the last tile of queries gave where the mask is repeated along queries."""

    def collect(grad_logits: Array, repeated: tuple[int, ...]) -> Array:
        start = max(grad_logits.shape[2] - 1, 0) // tile * tile
        return (grad_logits[:, :, start:] if 2 in repeated else grad_logits).sum(axis=repeated)

    return collect


def within_group(grad_logits: Array, repeated: tuple[int, ...]) -> Array:
    """Leave out the second half of the heads where the mask is repeated along them."""
    return (grad_logits[:, : -(-grad_logits.shape[1] // 2)] if 1 in repeated else grad_logits).sum(axis=repeated)


def nan_where_excluded(gradient: Array, arguments: Mapping[str, Any]) -> Array:
    """Subtract minus infinity from itself on the way."""
    return np.where(np.isneginf(np.asarray(arguments["mask"]).astype(float)), np.nan, gradient)


def one_where_excluded(gradient: Array, arguments: Mapping[str, Any]) -> Array:
    """Give what is excluded the gradient of a query that sums to one."""
    excluded = np.isneginf(np.asarray(arguments["mask"]).astype(float))
    return np.where(excluded, -gradient.sum(axis=-1, keepdims=True) - 1, gradient)


def not_summed(grad_logits: Array, mask: ArrayLike | None) -> Array | None:
    """Return a gradient for every score."""
    return None if mask is None or is_boolean(mask) else grad_logits


def transposed(grad_logits: Array, mask: ArrayLike | None) -> Array | None:
    """Put the keys into the rows and the queries into the columns, and leave the shape."""
    if mask is None or is_boolean(mask):
        return None
    return sum_to_mask(np.swapaxes(grad_logits, -1, -2).reshape(grad_logits.shape), mask)


MISTAKES = (
    mistake(
        id="sdpa_backward.mask_averaged",
        clause="sdpa_backward.grad_mask.broadcast",
        sentence="The gradient of the mask is the mean over what it was repeated for, not the sum.",
        engineer="The bias gradient is reduced with mean over the broadcast axes.",
        remedy="Sum over every axis along which the mask was repeated.",
        function=collected(averaged),
    ),
    mistake(
        id="sdpa_backward.mask_of_first_place",
        clause="sdpa_backward.grad_mask.broadcast",
        sentence="The gradient of the mask came from the first place of each axis that it was repeated along.",
        engineer="The bias gradient is written by the first program of a broadcast axis alone.",
        remedy="Sum over every axis along which the mask was repeated.",
        function=collected(first),
    ),
    mistake(
        id="sdpa_backward.mask_of_first_entry_alone",
        clause="sdpa_backward.grad_mask.broadcast",
        sentence="The gradient of a mask that all batch entries share came from the first entry alone.",
        engineer="The bias gradient of a batch-broadcast bias is right for a batch of 1 only.",
        remedy="Sum over the batch entries, too.",
        function=collected(of_first_entry),
    ),
    mistake(
        id="sdpa_backward.mask_of_half_the_heads",
        clause="sdpa_backward.grad_mask.broadcast",
        sentence="The gradient of a mask that all heads share came from the first half of the heads.",
        engineer="The bias gradient is summed over key heads where query heads are meant.",
        remedy="Sum over all query heads.",
        function=collected(within_group),
    ),
    mistake(
        id="sdpa_backward.mask_of_last_queries",
        clause="sdpa_backward.grad_mask.broadcast",
        sentence="The gradient of a mask that all queries share came from the last two queries at most.",
        engineer="Each query tile of 2 overwrites the bias gradient instead of adding to it.",
        remedy="Add what every query gives.",
        function=collected(last_tile(2)),
    ),
    mistake(
        id="sdpa_backward.mask_not_summed",
        clause="sdpa_backward.grad_mask.broadcast",
        sentence="The gradient of the mask has a number for each score, where the mask was repeated.",
        engineer="The bias gradient is returned at full shape (B, Hq, Sq, Sk).",
        remedy="Return the gradient in the shape of the mask.",
        function=departure(scaled_dot_product_attention_backward, sum_to_mask=not_summed),
    ),
    mistake(
        id="sdpa_backward.mask_transposed",
        clause="sdpa_backward.grad_mask",
        sentence="Rows and columns of the gradient of the mask changed places.",
        engineer="The bias gradient is stored from a transposed dS tile.",
        remedy="Write the gradient of the mask with a row for each query.",
        function=departure(scaled_dot_product_attention_backward, sum_to_mask=transposed),
    ),
    mistake(
        id="sdpa_backward.mask_negated",
        clause="sdpa_backward.grad_mask",
        sentence="The gradient of the mask has the wrong sign.",
        engineer="The bias gradient is -dS.",
        remedy="Take the gradients of the logits as they are: the mask is added.",
        function=changing(grad_mask=lambda gradient, _: -gradient),
    ),
    mistake(
        id="sdpa_backward.mask_nan_where_excluded",
        clause="sdpa_backward.grad_mask.excluded",
        sentence="The gradient of the mask is NaN where the mask is minus infinity.",
        engineer="-inf minus -inf reaches the bias gradient.",
        remedy="Give what is excluded the gradient 0.",
        function=changing(grad_mask=nan_where_excluded),
    ),
    mistake(
        id="sdpa_backward.mask_nonzero_where_excluded",
        clause="sdpa_backward.grad_mask.excluded",
        sentence="The gradient of the mask is not 0 where the mask is minus infinity.",
        engineer="The bias gradient is stored without the exclusion.",
        remedy="Give what is excluded the gradient 0.",
        function=changing(grad_mask=one_where_excluded),
    ),
)
"""In the order of the page."""

"""The operations of attention that the oracle evaluates: here merged states, and those that involve no scores."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_oracle.attention.grouped_rows import GroupedAttention
from attnspec_oracle.attention.latents import absorbed_latent_attention, latent_attention
from attnspec_oracle.attention.logits import Scale, exact_logits
from attnspec_oracle.attention.projections import multi_head_attention, single_head_attention
from attnspec_oracle.attention.scaled_dot_product_attention import context_vector, means, scaled_dot_product_attention
from attnspec_oracle.attention.scaled_dot_product_attention_backward import scaled_dot_product_attention_backward
from attnspec_oracle.attention.softmax import Softmax
from attnspec_oracle.exact import exact_array

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from attnspec_oracle.certification import Elements, Outputs


def merge_states(
    *, output_a: NDArray[Any], logsumexp_a: NDArray[Any], output_b: NDArray[Any], logsumexp_b: NDArray[Any]
) -> Outputs:
    """Evaluate ``merge_states`` (clauses ``merge.*``).

    Parameters
    ----------
    output_a, output_b
        (B, H, S, Ev).
    logsumexp_a, logsumexp_b
        (B, H, S); -inf for a part without keys.

    Returns
    -------
    dict[str, Callable]
        ``output`` (B, H, S, Ev); ``logsumexp`` (B, H, S).

    Raises
    ------
    ValueError
        When shapes contradict each other.
    """
    if output_a.shape != output_b.shape or not output_a.shape[:-1] == logsumexp_a.shape == logsumexp_b.shape:
        raise ValueError(
            f"The parts have outputs of shape {output_a.shape} and {output_b.shape}, logarithms of shape "
            f"{logsumexp_a.shape} and {logsumexp_b.shape}; they do not fit."
        )
    rows, width = logsumexp_a.size, output_a.shape[-1]
    # Each row is a query of its own, and its two parts are its keys: (rows, 1, 2) and (rows, 2, width).
    logits = np.stack([logsumexp_a, logsumexp_b], axis=-1).reshape(rows, 1, 2)
    values = np.stack([output_a, output_b], axis=-2).reshape(rows, 2, width)
    softmax = Softmax(exact_logits(exact_array(logits), Scale(Fraction(1))), logits != -np.inf)

    def output(elements: Elements) -> NDArray[np.float64]:
        return means("output", softmax, exact_array(values), elements).reshape(output_a.shape)

    def logsumexp(elements: Elements) -> NDArray[np.float64]:
        return softmax.logsumexp("logsumexp", elements).reshape(logsumexp_a.shape)

    return {"output": output, "logsumexp": logsumexp}


def softmax(*, x: NDArray[Any], axis: int | None = -1) -> Outputs:
    """Evaluate ``softmax`` (clauses ``softmax.*``): any shape, along an axis, or as a whole for None."""
    flat = x.reshape(1, -1) if axis is None else np.moveaxis(x, axis, -1)
    rows = Softmax.over_every_key(exact_logits(exact_array(flat), Scale(Fraction(1))))

    def output(elements: Elements) -> NDArray[np.float64]:
        if elements is not None and axis is not None:
            indices = np.moveaxis(np.arange(x.size).reshape(x.shape), axis, -1)
            elements = np.flatnonzero(np.isin(indices, elements)).tolist()
        weights = rows.weights("output", elements)
        return weights.reshape(x.shape) if axis is None else np.moveaxis(weights, -1, axis)

    return {"output": output}


def causal_mask(
    *, query_length: int, key_length: int | None = None, offset: int = 0, additive: bool = False
) -> Outputs:
    """Evaluate ``causal_mask`` (clauses ``causal_mask.*``): (query_length, key_length), bool or 0/-inf."""
    columns = query_length if key_length is None else key_length
    attended = np.tri(query_length, columns, offset, dtype=np.bool_)
    return {"output": lambda _: np.where(attended, 0.0, -np.inf) if additive else attended}


def split_heads(*, x: NDArray[Any], num_heads: int) -> Outputs:
    """Evaluate ``split_heads`` (clauses ``split_heads.*``): (B, S, H*E) to (B, H, S, E)."""
    batch, length, width = x.shape
    if num_heads < 1 or width % num_heads:
        raise ValueError(f"The width {width} cannot be split into {num_heads} heads of equal width.")
    return {"output": lambda _: x.reshape(batch, length, num_heads, width // num_heads).transpose(0, 2, 1, 3)}


def combine_heads(*, x: NDArray[Any]) -> Outputs:
    """Evaluate ``combine_heads`` (clauses ``combine_heads.*``): (B, H, S, E) to (B, S, H*E)."""
    batch, heads, length, width = x.shape
    return {"output": lambda _: x.transpose(0, 2, 1, 3).reshape(batch, length, heads * width)}


OPERATIONS: Mapping[str, Callable[..., Outputs]] = {
    function.__name__: function
    for function in (
        softmax,
        causal_mask,
        split_heads,
        combine_heads,
        scaled_dot_product_attention,
        scaled_dot_product_attention_backward,
        merge_states,
        single_head_attention,
        multi_head_attention,
        latent_attention,
        absorbed_latent_attention,
        context_vector,
    )
}
"""The operations of attention by name; ``glorot_normal`` is random and has no golden values."""

BY_ROWS = {"scaled_dot_product_attention": GroupedAttention}
"""Those that are evaluated a row at a time, too, by name."""

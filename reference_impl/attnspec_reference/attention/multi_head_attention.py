"""Multi-head attention: several attentions side by side.

Projected queries, keys and values are split into heads, each head attends by itself, and a last projection
mixes the heads. The specification page is ``spec/operations/attention/multi_head_attention.md``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.attention.combine_heads import combine_heads
from attnspec_reference.attention.phases import applied_scale, project
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention
from attnspec_reference.attention.split_heads import split_heads
from attnspec_reference.precision import Array, quietly, result_dtype, round_to, widen, widen_if_given


class MultiHeadAttention(NamedTuple):
    """What multi-head attention computes, the result first.

    Attributes
    ----------
    output
        Mixed tokens (B, Sq, D).
    weights
        Share of each key in each head (B, H, Sq, Sk).
    """

    output: Array
    weights: Array


@quietly
def multi_head_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    w_query: ArrayLike,
    w_key: ArrayLike,
    w_value: ArrayLike,
    w_output: ArrayLike,
    b_query: ArrayLike | None = None,
    b_key: ArrayLike | None = None,
    b_value: ArrayLike | None = None,
    b_output: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    num_heads: int,
    is_causal: bool = False,
    scale: float | None = None,
) -> MultiHeadAttention:
    """Attend in several heads at once.

    Parameters
    ----------
    query
        Tokens (B, Sq, D) that query. Their dtype is the dtype of the results.
    key, value
        Tokens (B, Sk, D) that are queried, and that answer.
    w_query, w_key, w_value, w_output
        Weight matrices (D, D), applied from the right.
    b_query, b_key, b_value, b_output
        Biases (D,), or None.
    mask
        Rank 2 to 4, broadcast from the right to (B, H, Sq, Sk), as in scaled dot-product attention.
    num_heads
        Number of heads, H, a divisor of D.
    is_causal
        Whether a query may attend only to keys at and before its own position.
    scale
        Factor of the dot products; one over the square root of D / H when None.

    Returns
    -------
    attention
        ``output`` and ``weights``, in the dtype of ``query``.

    Raises
    ------
    ValueError
        The shapes do not fit together, or D is no multiple of ``num_heads``.
    """
    # Check the inputs
    check_tokens(np.shape(query), np.shape(key), np.shape(value))
    width = np.shape(query)[-1]
    check_parameters(width, {"w_query": w_query, "w_key": w_key, "w_value": w_value, "w_output": w_output}, rank=2)
    check_parameters(width, {"b_query": b_query, "b_key": b_key, "b_value": b_value, "b_output": b_output}, rank=1)
    check_heads(width, num_heads)

    # Widen
    dtype = result_dtype(query)
    query, key, value = widen(query, dtype), widen(key, dtype), widen(value, dtype)
    w_query, b_query = widen(w_query, dtype), widen_if_given(b_query, dtype)
    w_key, b_key = widen(w_key, dtype), widen_if_given(b_key, dtype)
    w_value, b_value = widen(w_value, dtype), widen_if_given(b_value, dtype)
    w_output, b_output = widen(w_output, dtype), widen_if_given(b_output, dtype)

    # Project
    query = project(query, w_query, b_query)
    key = project(key, w_key, b_key)
    value = project(value, w_value, b_value)

    # Split the heads
    query = split_heads(query, num_heads=num_heads)
    key = split_heads(key, num_heads=num_heads)
    value = split_heads(value, num_heads=num_heads)

    # Attend in every head
    attention = scaled_dot_product_attention(
        query, key, value, mask, is_causal=is_causal, scale=applied_scale(scale, width // num_heads)
    )

    # Combine the heads
    combined = combine_heads(attention.output)

    # Project the output
    output = project(combined, w_output, b_output)

    # Round
    return MultiHeadAttention(output=round_to(dtype, output), weights=round_to(dtype, attention.weights))


def check_tokens(query: tuple[int, ...], key: tuple[int, ...], value: tuple[int, ...]) -> None:
    """Refuse tokens that do not fit together."""
    for name, shape in (("query", query), ("key", key), ("value", value)):
        if len(shape) != 3:
            raise ValueError(f"{name} has shape {shape}; it needs rank 3: (batch, tokens, features).")
    shapes = f"query has shape {query}, key {key}, value {value}"
    if not query[0] == key[0] == value[0]:
        raise ValueError(f"{shapes}: all three need the same batch size.")
    if not query[2] == key[2] == value[2]:
        raise ValueError(f"{shapes}: all three need the same number of features.")
    if key[1] != value[1]:
        raise ValueError(f"{shapes}: key and value need the same number of tokens.")


def check_parameters(width: int, parameters: dict[str, ArrayLike | None], rank: int) -> None:
    """Refuse weight matrices (rank 2) and biases (rank 1) that do not have the width of a token."""
    wanted = (width,) * rank
    for name, parameter in parameters.items():
        if parameter is not None and np.shape(parameter) != wanted:
            raise ValueError(f"{name} has shape {np.shape(parameter)}; tokens of {width} features need {wanted}.")


def check_heads(width: int, num_heads: int) -> None:
    """Refuse a number of heads that does not divide the width."""
    if num_heads < 1 or width % num_heads or width == 0:
        raise ValueError(f"Tokens of {width} features cannot be cut into {num_heads} heads of equal width.")

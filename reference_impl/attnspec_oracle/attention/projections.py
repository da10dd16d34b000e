"""Attention between projections: single-head and multi-head attention.

The projections before the softmax are exact. A matrix that follows it acts linearly on the means of the
values, so it is applied to the values instead, again without error, and balls enter only where the softmax
does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_oracle.attention.attending import read_mask, transposed
from attnspec_oracle.attention.logits import exact_logits, scale_for
from attnspec_oracle.attention.placement import placed
from attnspec_oracle.attention.rows import Sum
from attnspec_oracle.attention.scaled_dot_product_attention import means, row_means
from attnspec_oracle.attention.softmax import Softmax, rounded_logits
from attnspec_oracle.certification import certify
from attnspec_oracle.exact import ExactArray, add, exact_array, matmul, overridden

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_oracle.certification import Elements, Outputs


def single_head_attention(
    *,
    x: NDArray[Any],
    w_query: NDArray[Any],
    w_key: NDArray[Any],
    w_value: NDArray[Any],
    w_output: NDArray[Any] | None = None,
    scale: float | None = None,
) -> Outputs:
    """Evaluate ``single_head_attention`` (clauses ``single_head.*``).

    Parameters
    ----------
    x
        (S, D).
    w_query, w_key, w_value
        (D, d_k), (D, d_k), (D, d_v).
    w_output
        (d_v, any), or None for no output projection.
    scale
        The factor of the dot products; 1/sqrt(d_k) when None.

    Returns
    -------
    dict[str, Callable]
        ``output`` (S, last width), ``weights`` and ``scores`` (S, S), ``query`` and ``key`` (S, d_k),
        ``value`` (S, d_v).
    """
    tokens = exact_array(x)
    query, key, value = (matmul(tokens, exact_array(matrix)) for matrix in (w_query, w_key, w_value))
    projected = value if w_output is None else matmul(value, exact_array(w_output))
    dots = matmul(query, transposed(key))
    softmax = Softmax.over_every_key(exact_logits(dots, scale_for(scale, query.shape[-1])))
    return {
        "output": lambda elements: means("output", softmax, projected, elements),
        "weights": lambda elements: softmax.weights("weights", elements),
        "scores": lambda elements: rounded_logits("scores", softmax.logits, elements),
        "query": lambda _: query.rounded(),
        "key": lambda _: key.rounded(),
        "value": lambda _: value.rounded(),
    }


def multi_head_attention(
    *,
    query: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    w_query: NDArray[Any],
    w_key: NDArray[Any],
    w_value: NDArray[Any],
    w_output: NDArray[Any],
    num_heads: int,
    b_query: NDArray[Any] | None = None,
    b_key: NDArray[Any] | None = None,
    b_value: NDArray[Any] | None = None,
    b_output: NDArray[Any] | None = None,
    mask: NDArray[Any] | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> Outputs:
    """Evaluate ``multi_head_attention`` (clauses ``multi_head.*``).

    Parameters
    ----------
    query, key, value
        (B, Sq, D), (B, Sk, D), (B, Sk, D).
    w_query, w_key, w_value, w_output
        (D, D), applied as ``x @ w``.
    num_heads
        H, a divisor of D.
    b_query, b_key, b_value, b_output
        (D,), or None for no bias.
    mask
        As in :func:`scaled_dot_product_attention`, broadcast to (B, H, Sq, Sk).
    is_causal
        Whether a query attends to the keys up to its position only, counted from the top left.
    scale
        The factor of the dot products; 1/sqrt(D/H) when None.

    Returns
    -------
    dict[str, Callable]
        ``output`` (B, Sq, D), ``weights`` (B, H, Sq, Sk).

    Raises
    ------
    ValueError
        When ``num_heads`` does not divide the width.
    """
    width: int = w_query.shape[-1]
    if num_heads < 1 or width % num_heads:
        raise ValueError(f"The width {width} cannot be split into {num_heads} heads of equal width.")
    queries, keys, values = (
        _projected_heads(tokens, matrix, bias, num_heads)
        for tokens, matrix, bias in (
            (query, w_query, b_query),
            (key, w_key, b_key),
            (value, w_value, b_value),
        )
    )
    dots = matmul(queries, transposed(keys))
    factor = scale_for(scale, width // num_heads)
    attended, addends = read_mask(mask, dots.shape)
    placement = placed(batch=dots.shape[0], queries=dots.shape[-2], keys=dots.shape[-1])
    attended = attended & placement.attendable(is_causal=is_causal, window=None)
    softmax = Softmax(exact_logits(dots, factor, addends), attended)
    output_matrix = exact_array(w_output).rearranged(lambda moved: moved.reshape(num_heads, width // num_heads, -1))
    bias = exact_array(np.zeros(width) if b_output is None else b_output)
    return {
        "output": lambda elements: _means_over_heads(softmax, matmul(values, output_matrix), bias, elements),
        "weights": lambda elements: softmax.weights("weights", elements),
    }


def _projected_heads(
    tokens: NDArray[Any], matrix: NDArray[Any], bias: NDArray[Any] | None, num_heads: int
) -> ExactArray:
    """Project tokens (B, S, D) and split the result into heads, (B, H, S, E)."""
    projected = matmul(exact_array(tokens), exact_array(matrix))
    if bias is not None:
        projected = add(projected, exact_array(bias))
    batch, length, width = projected.shape
    heads = (batch, length, num_heads, width // num_heads)
    return projected.rearranged(lambda moved: moved.reshape(heads).transpose(0, 2, 1, 3))


def _means_over_heads(
    softmax: Softmax, values: ExactArray, bias: ExactArray, elements: Elements
) -> NDArray[np.float64]:
    """Average values (B, H, Sk, D), then add up the heads and a bias (D,): (B, Sq, D)."""
    batch, heads, length = softmax.logits.shape[:3]
    of_row = row_means(softmax, values)

    def sum_of_heads(index: int) -> Sum:
        item, query = divmod(index, length)
        return Sum([of_row((item * heads + head) * length + query) for head in range(heads)], bias)

    with np.errstate(invalid="ignore"):
        nonfinite = softmax.nonfinite_means(values).sum(axis=1) + bias.nonfinite
    certified = certify("output", sum_of_heads, (batch, length, values.shape[-1]), elements)
    return overridden(certified, nonfinite)

"""Single-head attention: the tokens of one sequence attend to each other.

Three weight matrices make a query, a key and a value of every token; attention mixes the values. The
specification page is ``spec/operations/attention/single_head_attention.md``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.attention.phases import applied_scale, project, scale_scores, score_every_key, weigh_values
from attnspec_reference.attention.softmax import softmax
from attnspec_reference.precision import Array, quietly, result_dtype, round_to, widen


class SingleHeadAttention(NamedTuple):
    """What single-head attention computes, the result first.

    Attributes
    ----------
    output
        Mixed values (S, d_v), or (S, D') after an output projection.
    weights
        Share of each key (S, S); rows sum to one.
    scores
        Dot products times the scale (S, S).
    query, key, value
        Projected tokens (S, d_k), (S, d_k) and (S, d_v).
    """

    output: Array
    weights: Array
    scores: Array
    query: Array
    key: Array
    value: Array


@quietly
def single_head_attention(
    x: ArrayLike,
    w_query: ArrayLike,
    w_key: ArrayLike,
    w_value: ArrayLike,
    w_output: ArrayLike | None = None,
    *,
    scale: float | None = None,
) -> SingleHeadAttention:
    """Let every token of a sequence attend to every token.

    Parameters
    ----------
    x
        Tokens (S, D). Their dtype is the dtype of the results.
    w_query, w_key
        Weight matrices (D, d_k).
    w_value
        Weight matrix (D, d_v).
    w_output
        Weight matrix (d_v, D') of the result, or None for no output projection.
    scale
        Factor of the dot products; one over the square root of d_k when None.

    Returns
    -------
    attention
        ``output``, ``weights``, ``scores``, ``query``, ``key`` and ``value``, in the dtype of ``x``.

    Raises
    ------
    ValueError
        The shapes do not fit together.
    """
    # Check the inputs
    check_inputs(x, w_query, w_key, w_value, w_output)

    # Widen
    dtype = result_dtype(x)
    x = widen(x, dtype)

    # Project
    query = project(x, widen(w_query, dtype))
    key = project(x, widen(w_key, dtype))
    value = project(x, widen(w_value, dtype))

    # Score every key
    raw_scores = score_every_key(query, key)

    # Scale
    scores = scale_scores(raw_scores, applied_scale(scale, query.shape[-1]))

    # Softmax over keys
    weights = softmax(scores, axis=-1)

    # Weigh the values
    output = weigh_values(weights, value)

    # Project the output
    if w_output is not None:
        output = project(output, widen(w_output, dtype))

    # Round
    return SingleHeadAttention(
        output=round_to(dtype, output),
        weights=round_to(dtype, weights),
        scores=round_to(dtype, scores),
        query=round_to(dtype, query),
        key=round_to(dtype, key),
        value=round_to(dtype, value),
    )


def check_inputs(
    x: ArrayLike, w_query: ArrayLike, w_key: ArrayLike, w_value: ArrayLike, w_output: ArrayLike | None
) -> None:
    """Refuse shapes that do not fit together."""
    given = {"x": x, "w_query": w_query, "w_key": w_key, "w_value": w_value, "w_output": w_output}
    shapes = {name: np.shape(array) for name, array in given.items() if array is not None}
    for name, shape in shapes.items():
        if len(shape) != 2:
            raise ValueError(f"{name} has shape {shape}; it needs rank 2.")
    for name in ("w_query", "w_key", "w_value"):
        if shapes[name][0] != shapes["x"][1]:
            raise ValueError(
                f"x has shape {shapes['x']}, {name} {shapes[name]}: "
                "a weight matrix needs one row for each feature of a token."
            )
    if shapes["w_query"][1] != shapes["w_key"][1] or shapes["w_query"][1] == 0:
        raise ValueError(
            f"w_query has shape {shapes['w_query']}, w_key {shapes['w_key']}: "
            "queries and keys need the same number of features, at least one."
        )
    if "w_output" in shapes and shapes["w_output"][0] != shapes["w_value"][1]:
        raise ValueError(
            f"w_value has shape {shapes['w_value']}, w_output {shapes['w_output']}: "
            "the output projection needs one row for each feature of a value."
        )

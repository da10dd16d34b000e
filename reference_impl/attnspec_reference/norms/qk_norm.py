"""QK-norm: queries and keys, each by an RMS norm of its own, and rotated then.

The specification page is ``spec/operations/norms/qk_norm.md``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.norms.rms_norm import check_weight_offset, divide_by_root, mean_square_of, multiply
from attnspec_reference.precision import Array, quietly, result_dtype, round_to, widen, widen_if_given
from attnspec_reference.rotary.apply_rotary import check_pairing, for_every_head, pairs_of, put_back, rotate

Shape = tuple[int, ...]


class NormalizedPair(NamedTuple):
    """Queries and keys of one size.

    Attributes
    ----------
    query_output
        Queries (B, H, S, E).
    key_output
        Keys (B, Hk, S, E).
    """

    query_output: Array
    key_output: Array


@quietly
def qk_norm(
    query: ArrayLike,
    key: ArrayLike,
    query_weight: ArrayLike,
    key_weight: ArrayLike,
    cos: ArrayLike | None = None,
    sin: ArrayLike | None = None,
    *,
    epsilon: float,
    normalized_over: str = "head",
    weight_offset: str = "zero",
    pairing: str = "half",
) -> NormalizedPair:
    """Normalize queries and keys, and rotate them where tables are given.

    Parameters
    ----------
    query
        Queries (B, H, S, E). Their dtype is the dtype of the results.
    key
        Keys of the same tokens (B, Hk, S, E).
    query_weight
        What each feature of a query is multiplied by: (E,), or (H·E,) where those of all heads are normalized together.
    key_weight
        The same of a key: (E,) or (Hk·E,).
    cos
        Cosines of the tokens' angles (B, S, R/2); None to rotate nothing.
    sin
        Sines, alike.
    epsilon
        What is added to the mean of the squares.
    normalized_over
        ``head``: each head is normalized by itself. ``all_heads``: all features of a token together.
    weight_offset
        ``zero``: the weights are taken as they are. ``one``: 1 is added to them.
    pairing
        ``half``: feature i goes with feature i + R/2. ``interleaved``: feature 2i goes with feature 2i + 1.

    Returns
    -------
    normalized
        ``query_output`` and ``key_output``, in the dtype of ``query``.

    Raises
    ------
    ValueError
        Query and key, weights or tables do not fit each other, or a word is unknown.
    """
    # Check the inputs
    check_inputs(np.shape(query), np.shape(key))
    check_weights(np.shape(query), np.shape(query_weight), normalized_over)
    check_weights(np.shape(key), np.shape(key_weight), normalized_over)
    check_weight_offset(weight_offset)
    check_tables(np.shape(query), None if cos is None else np.shape(cos), None if sin is None else np.shape(sin))

    # Widen
    dtype = result_dtype(query)
    query, query_weight = widen(query, dtype), widen(query_weight, dtype)
    key, key_weight = widen(key, dtype), widen(key_weight, dtype)
    cos, sin = widen_if_given(cos, dtype), widen_if_given(sin, dtype)

    # Normalize
    query = normalize(query, query_weight, epsilon, normalized_over, weight_offset)
    key = normalize(key, key_weight, epsilon, normalized_over, weight_offset)

    # Rotate
    if cos is not None and sin is not None:
        check_pairing(pairing)
        query, key = turn(query, cos, sin, pairing), turn(key, cos, sin, pairing)

    # Round
    return NormalizedPair(query_output=round_to(dtype, query), key_output=round_to(dtype, key))


def check_inputs(query: Shape, key: Shape) -> None:
    """Refuse queries and keys that are not of the same tokens, or not of the same width."""
    if len(query) != 4 or len(key) != 4:
        raise ValueError(f"query has shape {query}, key {key}; both need rank 4: (batch, heads, tokens, features).")
    if (query[0], *query[2:]) != (key[0], *key[2:]):
        raise ValueError(f"query has shape {query}, key {key}; they may differ in the number of heads alone.")


def check_weights(x: Shape, weight: Shape, normalized_over: str) -> None:
    """Refuse weights that are not one for each feature that is normalized together."""
    if normalized_over not in ("head", "all_heads"):
        raise ValueError(f"normalized_over is {normalized_over!r}; it must be 'head' or 'all_heads'.")
    features = x[3] if normalized_over == "head" else x[1] * x[3]
    if weight != (features,):
        raise ValueError(f"A weight has shape {weight}; {features} features are normalized together: ({features},).")


def check_tables(query: Shape, cos: Shape | None, sin: Shape | None) -> None:
    """Refuse one table alone, and tables that do not fit the tokens or each other."""
    if cos != sin:
        raise ValueError(f"cos has shape {cos}, sin {sin}; both need the same one, or neither is given.")
    if cos is None:
        return
    if len(cos) != 3 or cos[:2] != (query[0], query[2]):
        raise ValueError(f"query has shape {query}, cos {cos}; the tables need (batch, tokens, pairs).")
    if 2 * cos[2] > query[3]:
        raise ValueError(f"cos has shape {cos}: its {cos[2]} pairs are more than the {query[3]} features make.")


def normalize(x: Array, weight: Array, epsilon: float, normalized_over: str, weight_offset: str) -> Array:
    """Normalize (B, H, S, E) by the features of each head, or by those of all heads of a token."""
    together = heads_side_by_side(x) if normalized_over == "all_heads" else x
    normalized = divide_by_root(together, mean_square_of(together), epsilon)
    output = multiply(normalized, weight, weight_offset)
    return heads_apart(output, x.shape) if normalized_over == "all_heads" else output


def heads_side_by_side(x: Array) -> Array:
    """Turn (B, H, S, E) into (B, S, H·E), head after head."""
    batch, heads, tokens, features = x.shape
    return np.moveaxis(x, 1, 2).reshape(batch, tokens, heads * features)


def heads_apart(together: Array, shape: Shape) -> Array:
    """Turn (B, S, H·E) into (B, H, S, E) again."""
    batch, heads, tokens, features = shape
    return np.moveaxis(together.reshape(batch, tokens, heads, features), 2, 1)


def turn(x: Array, cos: Array, sin: Array, pairing: str) -> Array:
    """Rotate the first R features of every head in pairs, as ``apply_rotary`` does, and leave the others."""
    rotated_width = 2 * cos.shape[-1]
    first, second = pairs_of(x[..., :rotated_width], pairing)
    first, second = rotate(first, second, for_every_head(cos), for_every_head(sin))
    return put_back(first, second, pairing, x[..., rotated_width:])

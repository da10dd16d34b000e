"""Combine heads: several narrow tokens become one wide one.

The inverse of splitting: the heads of each token are laid side by side again. The specification page is
``spec/operations/attention/combine_heads.md``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.precision import Array


def combine_heads(x: ArrayLike) -> Array:
    """Lay the heads of each token side by side.

    Parameters
    ----------
    x
        Heads (B, H, S, E), any dtype.

    Returns
    -------
    output
        Tokens (B, S, H*E), same dtype, in memory of its own.

    Raises
    ------
    ValueError
        ``x`` is not of rank 4.
    """
    # Check the inputs
    check_inputs(np.shape(x))

    # Put tokens before heads
    slices = tokens_before_heads(np.array(x))

    # Join the features
    return join_features(slices)


def check_inputs(shape: tuple[int, ...]) -> None:
    """Refuse what has no head axis."""
    if len(shape) != 4:
        raise ValueError(
            f"x has shape {shape}; combining heads needs rank 4: (batch, heads, tokens, features of a head)."
        )


def tokens_before_heads(x: Array) -> Array:
    """Turn (B, H, S, E) into (B, S, H, E)."""
    return x.transpose(0, 2, 1, 3)


def join_features(slices: Array) -> Array:
    """Join (B, S, H, E) to (B, S, H*E): the features of head 0 come first."""
    batch, tokens, heads, width = slices.shape
    return slices.reshape(batch, tokens, heads * width)

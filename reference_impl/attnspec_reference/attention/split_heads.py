"""Split heads: one wide token becomes several narrow ones.

The features of each token are cut into equal slices, a slice for each head, and the heads are put before the
tokens. The specification page is ``spec/operations/attention/split_heads.md``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.precision import Array


def split_heads(x: ArrayLike, *, num_heads: int) -> Array:
    """Cut the features of each token into heads.

    Parameters
    ----------
    x
        Tokens (B, S, H*E), any dtype.
    num_heads
        Number of heads, H.

    Returns
    -------
    output
        Heads (B, H, S, E), same dtype, in memory of its own.

    Raises
    ------
    ValueError
        The width is no multiple of ``num_heads``, or ``x`` is not of rank 3.
    """
    # Check the inputs
    check_inputs(np.shape(x), num_heads)

    # Cut the features
    slices = cut_features(np.array(x), num_heads)

    # Put heads before tokens
    return heads_before_tokens(slices)


def check_inputs(shape: tuple[int, ...], num_heads: int) -> None:
    """Refuse what cannot be cut into equal heads."""
    if len(shape) != 3:
        raise ValueError(f"x has shape {shape}; splitting heads needs rank 3: (batch, tokens, features).")
    if num_heads < 1 or shape[-1] % num_heads:
        raise ValueError(f"x has shape {shape}: its {shape[-1]} features cannot be cut into {num_heads} heads.")


def cut_features(x: Array, num_heads: int) -> Array:
    """Cut (B, S, H*E) into consecutive slices (B, S, H, E): head 0 takes the first E features."""
    batch, tokens, width = x.shape
    return x.reshape(batch, tokens, num_heads, width // num_heads)


def heads_before_tokens(slices: Array) -> Array:
    """Turn (B, S, H, E) into (B, H, S, E)."""
    return slices.transpose(0, 2, 1, 3)

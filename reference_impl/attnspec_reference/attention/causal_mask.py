"""Causal mask: a token looks back, never ahead.

The causal mask says which keys each query may attend to when text is read in order: those at its own
position and before it. The specification page is ``spec/operations/attention/causal_mask.md``.
"""

from __future__ import annotations

import numpy as np

from attnspec_reference.precision import Array, Booleans, Integers


def causal_mask(
    *, query_length: int, key_length: int | None = None, offset: int | Integers = 0, additive: bool = False
) -> Array:
    """Mark the keys that each query may attend to.

    Parameters
    ----------
    query_length
        Number of queries, Sq.
    key_length
        Number of keys, Sk; as many as queries when None.
    offset
        Position of the first query among the keys; an array (..., 1, 1) of positions gives a mask for each.
    additive
        Whether to return numbers that are added to scores instead of truth values.

    Returns
    -------
    output
        Mask (Sq, Sk): True at the keys that may be attended; with ``additive``, float64 that is 0 there and
        minus infinity elsewhere.
    """
    # Take the lengths
    key_length = query_length if key_length is None else key_length

    # Compare the positions
    attendable = at_or_before(query_length, key_length, offset)

    # Write the mask
    return as_additive(attendable) if additive else attendable


def at_or_before(query_length: int, key_length: int, offset: int | Integers) -> Booleans:
    """Say whether key j stands at or before query i, which stands at position i + offset."""
    query_positions = np.arange(query_length)[:, np.newaxis] + offset
    key_positions = np.arange(key_length)[np.newaxis, :]
    return key_positions <= query_positions


def as_additive(attendable: Booleans) -> Array:
    """Write 0 where a key may be attended and minus infinity where it may not."""
    return np.where(attendable, 0.0, -np.inf)

"""Rotary tables: the cosine and the sine of every pair of features at every position.

A pair of frequency f has turned by p times f when the text has come to position p. The specification page is
``spec/operations/rotary/rotary_tables.md``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.precision import Array, Integers, quietly, result_dtype, round_to, widen


class RotaryTables(NamedTuple):
    """By how much every token's pairs are turned.

    Attributes
    ----------
    cos
        Cosines times the attention factor (B, S, R/2).
    sin
        Sines times the attention factor (B, S, R/2).
    """

    cos: Array
    sin: Array


@quietly
def rotary_tables(
    position_ids: ArrayLike, inverse_frequencies: ArrayLike, *, attention_factor: float = 1.0
) -> RotaryTables:
    """Take the cosine and the sine of position times frequency, and multiply both by the attention factor.

    Parameters
    ----------
    position_ids
        Positions of the tokens (B, S), integers.
    inverse_frequencies
        Radians a position (R/2,). Their dtype is the dtype of the results.
    attention_factor
        What cosines and sines are multiplied by.

    Returns
    -------
    tables
        ``cos`` and ``sin``, in the dtype of ``inverse_frequencies``.

    Raises
    ------
    ValueError
        ``position_ids`` is not of rank 2, or ``inverse_frequencies`` not of rank 1.
    """
    # Check the inputs
    positions = check_inputs(position_ids, inverse_frequencies)

    # Widen
    dtype = result_dtype(inverse_frequencies)
    frequencies = widen(inverse_frequencies, dtype)

    # Multiply positions and frequencies
    phases = phases_of(positions, frequencies)

    # Take cosine and sine
    cos, sin = cosine_and_sine(phases)

    # Apply the attention factor
    cos, sin = multiply(cos, attention_factor), multiply(sin, attention_factor)

    # Round
    return RotaryTables(cos=round_to(dtype, cos), sin=round_to(dtype, sin))


def check_inputs(position_ids: ArrayLike, inverse_frequencies: ArrayLike) -> Integers:
    """Refuse positions and frequencies that are no table and no row, and give the positions."""
    positions = np.asarray(position_ids)
    if positions.ndim != 2:
        raise ValueError(f"position_ids has shape {positions.shape}; it needs rank 2: (batch, tokens).")
    shape = np.shape(inverse_frequencies)
    if len(shape) != 1:
        raise ValueError(f"inverse_frequencies has shape {shape}; it needs rank 1: (pairs,).")
    return positions


def phases_of(positions: Integers, frequencies: Array) -> Array:
    """Multiply (B, S) positions and (R/2,) frequencies to (B, S, R/2) radians, in the dtype of the frequencies."""
    return positions[:, :, np.newaxis].astype(frequencies.dtype) * frequencies


def cosine_and_sine(phases: Array) -> tuple[Array, Array]:
    """Take both."""
    return np.cos(phases), np.sin(phases)


def multiply(table: Array, attention_factor: float) -> Array:
    """Multiply a table by the attention factor."""
    return table * np.asarray(attention_factor, dtype=table.dtype)

"""Other ways to rotary tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_controls.control import Control
from attnspec_mistakes.patches import in_working_precision, patch
from attnspec_reference.rotary.rotary_tables import RotaryTables, check_inputs, rotary_tables

if TYPE_CHECKING:
    from attnspec_reference.precision import Array, Integers


def by_complex_exponential(phases: Array) -> tuple[Array, Array]:
    """Take both from one complex exponential."""
    turns = np.exp(1j * phases)
    return np.real(turns).astype(phases.dtype), np.imag(turns).astype(phases.dtype)


def outer(positions: Integers, frequencies: Array) -> Array:
    """Multiply a column of positions by a row of frequencies."""
    column = positions.reshape(-1, 1).astype(frequencies.dtype)
    return (column @ frequencies.reshape(1, -1)).reshape(*positions.shape, -1)


def in_float64(positions: Integers, frequencies: Array) -> Array:
    """Multiply in float64, whatever the dtype."""
    return positions[:, :, np.newaxis] * frequencies.astype(np.float64)


def looked_up(*, position_ids: Any, inverse_frequencies: Any, attention_factor: float = 1.0) -> RotaryTables:
    """Compute a row for every position that occurs, and look the rows up."""
    positions, indices = np.unique(check_inputs(position_ids, inverse_frequencies), return_inverse=True)
    phases = positions[:, np.newaxis].astype(inverse_frequencies.dtype) * inverse_frequencies
    factor = np.asarray(attention_factor, dtype=phases.dtype)
    indices = indices.reshape(np.shape(position_ids))
    return RotaryTables((np.cos(phases) * factor)[indices], (np.sin(phases) * factor)[indices])


CONTROLS: tuple[Control, ...] = (
    Control(
        id="rotary_tables.by_complex_exponential",
        operation="rotary_tables",
        sentence="Cosine and sine are the two parts of a complex exponential.",
        function=patch(rotary_tables, cosine_and_sine=by_complex_exponential),
    ),
    Control(
        id="rotary_tables.outer_product",
        operation="rotary_tables",
        sentence="The phases are a matrix product of positions and frequencies.",
        function=patch(rotary_tables, phases_of=outer),
    ),
    Control(
        id="rotary_tables.phases_in_float64",
        operation="rotary_tables",
        sentence="The phases are kept in float64, whatever the dtype.",
        function=patch(rotary_tables, phases_of=in_float64),
    ),
    Control(
        id="rotary_tables.looked_up",
        operation="rotary_tables",
        sentence="Each position that occurs has one row in a cache, where it is looked up.",
        function=in_working_precision(looked_up),
    ),
)

"""Other ways to rotary tables, and to apply a rotation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_controls.control import Control
from attnspec_mistakes.patches import in_working_precision, named_output, patch
from attnspec_reference.precision import quietly, result_dtype, round_to, widen
from attnspec_reference.rotary.apply_rotary import apply_rotary, check_inputs, check_pairing
from attnspec_reference.rotary.rotary_tables import RotaryTables, rotary_tables
from attnspec_reference.rotary.rotary_tables import check_inputs as check_positions

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
    positions, indices = np.unique(check_positions(position_ids, inverse_frequencies), return_inverse=True)
    phases = positions[:, np.newaxis].astype(inverse_frequencies.dtype) * inverse_frequencies
    factor = np.asarray(attention_factor, dtype=phases.dtype)
    indices = indices.reshape(np.shape(position_ids))
    return RotaryTables((np.cos(phases) * factor)[indices], (np.sin(phases) * factor)[indices])


def by_complex_product(first: Array, second: Array, cos: Array, sin: Array) -> tuple[Array, Array]:
    """Multiply complex numbers."""
    turned = complex_of(first, second) * complex_of(cos, sin)
    return np.real(turned), np.imag(turned)


def complex_of(real: Array, imaginary: Array) -> Array:
    """Put two arrays side by side, as the parts of complex numbers."""
    # Not by a product with 1j, in which an infinity would meet a 0.
    parts = np.stack(np.broadcast_arrays(real, imaginary), axis=-1)
    return parts.view(np.complex128 if parts.dtype == np.float64 else np.complex64)[..., 0]


def by_small_matrices(first: Array, second: Array, cos: Array, sin: Array) -> tuple[Array, Array]:
    """Multiply each pair by a matrix of two rows and two columns."""
    matrices = np.stack([np.stack([cos, -sin], axis=-1), np.stack([sin, cos], axis=-1)], axis=-2)
    turned = (matrices * np.stack([first, second], axis=-1)[..., np.newaxis, :]).sum(axis=-1)
    return turned[..., 0], turned[..., 1]


@quietly
def by_rotated_halves(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Add x times wide cosines to the exchanged features times wide sines."""
    check_inputs(np.shape(x), np.shape(cos), np.shape(sin))
    check_pairing(pairing)
    dtype = result_dtype(x)
    width = 2 * np.shape(cos)[-1]
    features = widen(x, dtype)[..., :width]
    if pairing == "half":
        cosines, sines = (np.concatenate([table, table], axis=-1) for table in (widen(cos, dtype), widen(sin, dtype)))
        exchanged = np.concatenate([-features[..., width // 2 :], features[..., : width // 2]], axis=-1)
    else:
        cosines, sines = (np.repeat(widen(table, dtype), 2, axis=-1) for table in (cos, sin))
        exchanged = np.stack([-features[..., 1::2], features[..., 0::2]], axis=-1).reshape(features.shape)
    turned = features * cosines[:, np.newaxis] + exchanged * sines[:, np.newaxis]
    return np.concatenate([round_to(dtype, turned), np.asarray(x)[..., width:]], axis=-1)


def head_by_head(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Rotate one head after the other, into a copy of x."""
    turned = np.array(x)
    for head in range(turned.shape[1]):
        turned[:, head : head + 1] = apply_rotary(turned[:, head : head + 1], cos, sin, pairing=pairing)
    return turned


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
    Control(
        id="apply_rotary.by_complex_product",
        operation="apply_rotary",
        sentence="Each pair is a complex number, and is multiplied by one.",
        function=named_output(patch(apply_rotary, rotate=by_complex_product)),
    ),
    Control(
        id="apply_rotary.by_small_matrices",
        operation="apply_rotary",
        sentence="Each pair is multiplied by a matrix of its own.",
        function=named_output(patch(apply_rotary, rotate=by_small_matrices)),
    ),
    Control(
        id="apply_rotary.by_rotated_halves",
        operation="apply_rotary",
        sentence="The tables are widened to all features, and the features of each pair exchanged.",
        function=named_output(by_rotated_halves),
    ),
    Control(
        id="apply_rotary.head_by_head",
        operation="apply_rotary",
        sentence="The heads are rotated one by one, in a copy.",
        function=named_output(head_by_head),
    ),
)

"""Other ways to apply a rotation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_controls.control import Control
from attnspec_mistakes.patches import named_output, patch
from attnspec_reference.precision import quietly, result_dtype, round_to, widen
from attnspec_reference.rotary.apply_rotary import apply_rotary, check_inputs, check_pairing

if TYPE_CHECKING:
    from attnspec_reference.precision import Array


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

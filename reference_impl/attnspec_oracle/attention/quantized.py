"""Quantized numbers times their scales: exact products, which float64 holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def products(numbers: NDArray[Any], scale: NDArray[Any] | None, shared: int) -> NDArray[Any]:
    """Multiply numbers (B, H, S, E) by the scales of the key heads that they belong to.

    A number of 8 bits times a scale in float32 has at most 32 significant bits, so that the product in float64 is
    exact.

    Parameters
    ----------
    numbers
        Queries, keys or values.
    scale
        (), (Hkv,) or (B, Hkv), an axis of length 1 standing for all; None for numbers that count as they are.
    shared
        Hkv.

    Raises
    ------
    ValueError
        When the scales do not match, or a product has more bits than float64 holds.
    """
    if scale is None:
        return numbers
    batch, heads = numbers.shape[:2]
    matched = np.broadcast_to(scale.astype(np.float64), (batch, shared))
    factors = np.repeat(matched, heads // shared, axis=1)[:, :, np.newaxis, np.newaxis]
    wide = numbers.astype(np.float64)
    for name, array, bits in (("number", wide, 8), ("scale", matched, 24)):
        mantissas, _ = np.frexp(array[np.isfinite(array)])
        if (mantissas * 2.0**bits % 1).any():
            raise ValueError(f"A quantized {name} has more than {bits} significant bits.")
    return wide * factors

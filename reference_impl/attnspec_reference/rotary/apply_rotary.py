"""Apply rotary: turn each pair of features by the angle of its token.

Query and key are turned alike, so that their dot product depends on how far their tokens are apart and not on where
they stand. The specification page is ``spec/operations/rotary/apply_rotary.md``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from attnspec_reference.precision import Array, quietly, result_dtype, round_to, widen

Shape = tuple[int, ...]


@quietly
def apply_rotary(x: ArrayLike, cos: ArrayLike, sin: ArrayLike, *, pairing: str = "half") -> Array:
    """Rotate the first R features of every head in pairs, and leave the others.

    Parameters
    ----------
    x
        Queries or keys (B, H, S, E). Their dtype is the dtype of the result.
    cos
        Cosines of the tokens' angles (B, S, R/2), from :func:`rotary_tables`.
    sin
        Sines, alike.
    pairing
        ``half``: feature i goes with feature i + R/2. ``interleaved``: feature 2i goes with feature 2i + 1.

    Returns
    -------
    output
        Rotated features (B, H, S, E), in memory of its own.

    Raises
    ------
    ValueError
        The tables do not fit ``x`` or each other, or the pairing is unknown.
    """
    # Check the inputs
    check_inputs(np.shape(x), np.shape(cos), np.shape(sin))
    check_pairing(pairing)

    # Widen
    dtype = result_dtype(x)
    features = widen(x, dtype)
    cos, sin = for_every_head(widen(cos, dtype)), for_every_head(widen(sin, dtype))

    # Form the pairs
    rotated_width = 2 * cos.shape[-1]
    first, second = pairs_of(features[..., :rotated_width], pairing)

    # Rotate each pair
    first, second = rotate(first, second, cos, sin)

    # Round
    first, second = round_to(dtype, first), round_to(dtype, second)

    # Put the pairs back
    return put_back(first, second, pairing, np.asarray(x)[..., rotated_width:])


def check_inputs(x: Shape, cos: Shape, sin: Shape) -> None:
    """Refuse tables that do not fit the features or each other."""
    if len(x) != 4:
        raise ValueError(f"x has shape {x}; it needs rank 4: (batch, heads, tokens, features).")
    if len(cos) != 3 or cos != sin:
        raise ValueError(f"cos has shape {cos}, sin {sin}; both need the same one, of rank 3: (batch, tokens, pairs).")
    if cos[:2] != (x[0], x[2]):
        raise ValueError(f"x has shape {x}, cos {cos}; both need the same batch and the same number of tokens.")
    if 2 * cos[2] > x[3]:
        raise ValueError(f"cos has shape {cos}: its {cos[2]} pairs are more than the {x[3]} features of x make.")


def check_pairing(pairing: str) -> None:
    """Refuse a pairing that is neither of the two."""
    if pairing not in ("half", "interleaved"):
        raise ValueError(f"pairing is {pairing!r}; it must be 'half' or 'interleaved'.")


def for_every_head(table: Array) -> Array:
    """Turn (B, S, R/2) into (B, 1, S, R/2), the same for all heads."""
    return table[:, np.newaxis]


def pairs_of(features: Array, pairing: str) -> tuple[Array, Array]:
    """Give the first and the second feature of every pair."""
    if pairing == "interleaved":
        return features[..., 0::2], features[..., 1::2]
    pairs = features.shape[-1] // 2
    return features[..., :pairs], features[..., pairs:]


def rotate(first: Array, second: Array, cos: Array, sin: Array) -> tuple[Array, Array]:
    """Turn each pair, seen as a point of the plane, from the first axis towards the second."""
    return cos * first - sin * second, sin * first + cos * second


def put_back(first: Array, second: Array, pairing: str, rest: Array) -> Array:
    """Give every feature of the pairs its position, and let the features that were not rotated follow."""
    if pairing == "interleaved":
        paired = np.stack([first, second], axis=-1).reshape(*first.shape[:-1], 2 * first.shape[-1])
    else:
        paired = np.concatenate([first, second], axis=-1)
    return np.concatenate([paired, rest], axis=-1)

"""Pictures of the operations of rotary positions: pairs of features are points, and what turns is an angle."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

import attnspec_reference as reference
from attnspec_authoring.pictures.drawing import angles, heat_map, picture


def rotary_frequencies() -> str:
    """Draw how far each of four pairs turns from one token to the next, and in sixteen."""
    frequencies = reference.rotary_frequencies(width=8).inverse_frequencies
    start = (1.0, 0.0)

    def after(tokens: int) -> list[tuple[str, list[tuple[float, float]]]]:
        turns = (tokens * float(frequency) for frequency in frequencies)
        return [(f"pair {pair}", [start, (math.cos(turn), math.sin(turn))]) for pair, turn in enumerate(turns)]

    return picture(
        "Four pairs of features: the first turns by 1 radian from token to token, each later one ten times slower",
        angles("turned after 1 token", after(1), note="grey: token 0"),
        angles("turned after 16 tokens", after(16)),
    )


def rotary_tables() -> str:
    """Draw cosine and sine of two pairs at two positions, as the points that they are."""
    tables = reference.rotary_tables(np.array([[0, 3]]), np.array([1.0, 0.5]))
    cos, sin = tables.cos[0], tables.sin[0]
    points = [
        (f"pair {pair}", [(float(c), float(s)) for c, s in zip(cos[:, pair], sin[:, pair], strict=True)])
        for pair in range(2)
    ]
    pairs = ["pair 0", "pair 1"]
    return picture(
        "Two pairs at the positions 0 and 3: cosine is how far right a point lies, sine how far up",
        heat_map("cos", cos, rows=["position 0", "position 3"], columns=pairs),
        heat_map("sin", sin, columns=pairs),
        angles("cosine to the right, sine up", points, note="grey: position 0"),
    )


def apply_rotary() -> str:
    """Draw the two pairs of the example before and after, under both pairings."""
    x = np.arange(1.0, 6.0).reshape(1, 1, 1, 5)
    cos, sin = np.array([[[0.0, 1.0]]]), np.array([[[1.0, 0.0]]])
    pairings = {"half": (slice(0, 2), slice(2, 4)), "interleaved": (slice(0, 4, 2), slice(1, 4, 2))}
    turned = {pairing: reference.apply_rotary(x, cos, sin, pairing=pairing)[0, 0, 0] for pairing in pairings}
    circles = [
        angles(
            f"its pairs, {pairing}",
            [(f"pair {n}", [(a[i][n], a[j][n]) for a in (x[0, 0, 0], turned[pairing])]) for n in range(2)],
        )
        for pairing, (i, j) in pairings.items()
    ]
    rows = heat_map("features", np.stack([x[0, 0, 0], *turned.values()]), rows=["x", *pairings], digits=0)
    return picture(
        "Two pairs of features under each pairing: the first is turned by a right angle, the second stays",
        rows,
        *circles,
    )


PICTURES: Mapping[str, Callable[[], str]] = {
    draw.__name__: draw for draw in (rotary_frequencies, rotary_tables, apply_rotary)
}
"""Operation to what draws its picture."""

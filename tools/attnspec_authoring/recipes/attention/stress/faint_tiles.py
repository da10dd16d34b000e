"""Whole tiles of keys with hardly any weight, which float64 sees all the same.

A tile whose scores lie far below the greatest looks as if it could be left out. Larger values would make it seen in
float32, too, but who merges parts as ``out + w (part - out)`` loses such a part there, and is right for all else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.attention.attention import attention
from attnspec_authoring.recipes.attention.stress.one_feature import asked, row, shared
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

FAINT = -24.0
"""A weight of 4e-11: a hundred thousand roundings of float64."""
FIRST = 8
"""Keys of ordinary weight: fewer than any tile has."""
LENGTHS = (19, 72, 136)
"""Beyond a tile of 8 or 16, of 32 or 64, and of 128."""


def cases() -> tuple[AuthoredCase, ...]:
    """Return rows that begin or end with keys of ordinary weight."""
    made: list[AuthoredCase] = []
    for keys in LENGTHS:
        behind = np.arange(keys) >= FIRST
        for order, is_faint in (("falling", behind), ("rising", behind[::-1])):
            case_id = f"stress/faint_{order}_over_{keys}_keys"
            values = grid(f"{case_id}/value", (keys,)) + 4.0
            made.append(
                attention(case_id, f"{keys} keys, most of them of a weight of 4e-11, {order}")(
                    shared(keys),
                    clauses=("sdpa.output", "sdpa.softmax.keys"),
                    dtypes=("float64",),
                    query=asked(1.0, 0.9375, 1.0625),
                    key=row(np.where(is_faint, FAINT, 0.0)),
                    value=row(values),
                    scale=1.0,
                )
            )
    return tuple(made)

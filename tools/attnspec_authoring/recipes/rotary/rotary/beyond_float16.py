"""Features, tables and frequencies that bfloat16 and float32 hold and float16 does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.authoring import BEYOND_FLOAT16, WITHOUT_FLOAT16
from attnspec_authoring.recipes.generator import grid
from attnspec_authoring.recipes.rotary.rotary.frequencies import plain
from attnspec_authoring.recipes.rotary.rotary.rotations import rotation
from attnspec_authoring.recipes.rotary.rotary.tables import tables

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

LARGE, TINY = BEYOND_FLOAT16.values()


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases: the first token has large numbers, the second one tiny ones."""
    shape, name = (1, 2, 2, 6), "rotary/beyond_float16"
    of_tokens = np.array([LARGE, TINY])[:, np.newaxis]
    table = (1, 2, 2)
    return (
        *(
            rotation(f"beyond_float16_features_{pairing}", f"features too large and too small for float16, {pairing}")(
                shape, 4, pairing=pairing, x=of_tokens * grid(f"{name}/x", shape), dtypes=WITHOUT_FLOAT16
            )
            for pairing in ("half", "interleaved")
        ),
        rotation("beyond_float16_tables", "tables too large and too small for float16")(
            shape,
            4,
            cos=of_tokens * grid(f"{name}/cos", table),
            sin=of_tokens * grid(f"{name}/sin", table),
            dtypes=WITHOUT_FLOAT16,
        ),
        tables("beyond_float16", "frequencies too small for float16, at positions that make something of them")(
            [[0, 65536, 131071]], (1.0, TINY, 3 * TINY), ("precision.phases",), dtypes=WITHOUT_FLOAT16
        ),
        tables("beyond_float16_of_one_token", "frequencies too small for float16, at one position far into a text")(
            [[98304], [131071]], (2 * TINY, TINY), ("precision.phases", "batch"), dtypes=WITHOUT_FLOAT16
        ),
        plain("theta_of_a_trillion", "frequencies too small for float16")(width=8, theta=1e12),
    )

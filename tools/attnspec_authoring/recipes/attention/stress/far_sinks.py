"""Sinks beside logits that all lie far below zero, or far above it, with the sink near them or far away.

The largest number of a row is looked for among logits and sink. Who begins at zero finds none below it, and who leaves
the sink out finds one too small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.attention.attention import attention
from attnspec_authoring.recipes.attention.stress.magnitudes import SMALL, STEPS, with_scores
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, SINGLE_AND_DOUBLE

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

HEIGHTS = {"minus_120": -120.0, "plus_120": 120.0, "minus_800": -800.0, "minus_1500": -1500.0, "plus_1500": 1500.0}
"""Beyond where exponentials of float32, and of float64, vanish or overflow."""
BESIDE = np.array(
    [[0.0, 1.0, -2.0, -1.0, 0.5, -3.0], [-1.0, 2.0, 0.0, -2.0, 1.0, 0.0], [3.0, 0.0, 1.0, -1.0, 0.0, 2.0]]
)


def cases() -> tuple[AuthoredCase, ...]:
    """Return rows of each height, with sinks of the same height, of none, and of the opposite one."""
    made: list[AuthoredCase] = []
    for name, height in HEIGHTS.items():
        dtypes = EVERY_DTYPE if abs(height) < 500.0 else SINGLE_AND_DOUBLE
        for where, of_sinks in (("near", height), ("opposite", -height)):
            made.append(
                attention(
                    f"stress/sinks_{where}_scores_around_{name}",
                    f"Scores around {height:g}, and sinks around {of_sinks:g}",
                )(
                    SMALL,
                    clauses=("sdpa.softmax.stability", "sdpa.sinks.denominator"),
                    dtypes=dtypes,
                    outputs=STEPS,
                    sinks=[of_sinks + 1.0, of_sinks - 2.0],
                    **with_scores((height + BESIDE).tolist()),
                )
            )
    return tuple(made)

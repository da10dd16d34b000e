"""Many keys of equal or nearly equal weight: their roundings do not cancel, but add up with the values that they meet.

Nobody is wrong here who rounds weights to half precision, or adds up one key after the other. These cases hold the
tolerance to that, and see who drops, adds or weighs keys otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.attention.attention import attention
from attnspec_authoring.recipes.attention.stress.one_feature import asked, row, shared
from attnspec_authoring.recipes.authoring import headed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

CLAUSES = ("sdpa.precision.accumulation", "sdpa.output")


@headed
def tied(case_id: str, title: str, scores: NDArray[np.float64], values: NDArray[np.float64]) -> AuthoredCase:
    """Make a case of one feature: the first query asks for the scores as they are, the others for parts of them."""
    return attention(f"stress/{case_id}", title)(
        shared(scores.size),
        clauses=CLAUSES,
        query=asked(1.0, 0.875, 0.5),
        key=row(scores),
        value=row(values),
        scale=1.0,
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of ties."""
    first = np.arange(256) % 2 == 0
    steps = np.arange(128)
    # Scores up to 2**-9 apart lie within one rounding step of bfloat16; the largest key makes their weights no power.
    near = np.where(steps == 0, 0.703125, steps % 32 * 2.0**-14)
    alternating, halves = np.where(first, 1.0, -1.0), np.where(np.arange(256) < 128, 1.0, -1.0)
    # Sums in single precision over more keys than these, strictly in order, come near to their tolerance.
    risen = np.where(steps % 64 == 0, np.where(steps < 64, 0.75, 1.0625), 0.0)
    dominant = np.where(np.arange(129) == 0, 0.0, -16.5)
    return (
        tied("ties_of_two_groups_64", "64 keys in two groups of equal scores whose values cancel")(
            np.where(first[:64], 0.0, -0.1171875), alternating[:64]
        ),
        tied("ties_of_two_groups_256", "256 keys in two groups of equal scores whose values cancel")(
            np.where(first, 0.0, -0.1171875), alternating
        ),
        tied("ties_in_halves", "256 keys of equal scores in two halves, each with values of one sign")(
            np.where(np.arange(256) < 128, 0.0, -0.1171875), halves
        ),
        tied("ties_under_a_rising_maximum", "Equal scores whose values change their sign where a larger maximum comes")(
            risen, np.where(steps < 64, 1.0, -1.0)
        ),
        tied(
            "ties_within_a_step",
            "128 scores that half precision hardly tells apart; the sign of the value goes with the score",
        )(near, np.where(near > 2.0**-10, 1.0, -1.0)),
        tied(
            "ties_below_the_last_digit",
            "One dominant key and 128 whose weights lie just above the last digit of a sum in single precision",
        )(dominant, np.where(np.arange(129) == 0, 0.75, 1.375)),
    )

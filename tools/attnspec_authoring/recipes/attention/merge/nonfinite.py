"""NaN and infinity in parts that have keys: which element they reach, and which they must leave alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.attention.merge.parts import NONE, merging
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

SHAPE = (1, 2, 3, 2)
CLAUSES = ("average", "nonfinite")


def holding(name: str, number: float, *, rank: int = 4, place: tuple[int, ...] = (0, 1, 2, 1)) -> NDArray[np.float64]:
    """Draw a tensor of a part, and put a number in one place of it."""
    numbers = grid(f"merge/holding_{name}", SHAPE[:rank])
    numbers[place[:rank]] = number
    return numbers


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of NaN and infinity in parts that have keys."""
    empty_elsewhere = np.zeros(SHAPE[:3])
    empty_elsewhere[0, 0] = NONE
    return (
        merging("nan_in_first", "NaN in an output of the first part")(
            SHAPE, CLAUSES, output_a=holding("first", np.nan)
        ),
        merging("nan_in_second", "NaN in an output of the second part")(
            SHAPE, CLAUSES, output_b=holding("second", np.nan)
        ),
        merging("nan_beside_empty_rows", "NaN in an output of the first part, which has no keys elsewhere")(
            SHAPE, (*CLAUSES, "empty.one"), output_a=holding("beside_empty", np.nan), logsumexp_a=empty_elsewhere
        ),
        merging("nan_in_the_part_with_keys", "NaN in an output of the second part, where the first has no keys")(
            SHAPE, (*CLAUSES, "empty.one"), output_b=holding("with_keys", np.nan), logsumexp_a=NONE
        ),
        merging("infinity_in_first", "infinity in an output of the first part")(
            SHAPE, CLAUSES, output_a=holding("inf", np.inf)
        ),
        merging("infinity_in_second", "minus infinity in an output of the second part")(
            SHAPE, CLAUSES, output_b=holding("minus_inf", -np.inf)
        ),
        merging("opposite_infinities", "infinity and minus infinity in the same output")(
            SHAPE, CLAUSES, output_a=holding("opposite_a", np.inf), output_b=holding("opposite_b", -np.inf)
        ),
        merging(
            "infinity_in_the_part_with_keys", "infinity in an output of the first part, where the second has no keys"
        )(SHAPE, (*CLAUSES, "empty.one"), output_a=holding("inf_with_keys", np.inf), logsumexp_b=NONE),
        merging("nan_logarithm_of_first", "a logarithm of the first part that is NaN")(
            SHAPE, CLAUSES, logsumexp_a=holding("logarithm_a", np.nan, rank=3)
        ),
        merging("nan_logarithm_of_second", "a logarithm of the second part that is NaN")(
            SHAPE, CLAUSES, logsumexp_b=holding("logarithm_b", np.nan, rank=3)
        ),
        merging("nan_of_a_light_part", "NaN in an output of a part whose weight underflows in some dtypes")(
            SHAPE, CLAUSES, output_a=holding("light", np.nan), logsumexp_a=-40.0, logsumexp_b=0.5
        ),
        merging(
            "nan_of_a_part_that_weighs_nothing", "NaN in an output of a part whose weight underflows in every dtype"
        )(SHAPE, CLAUSES, output_b=holding("nothing", np.nan), logsumexp_a=0.5, logsumexp_b=-9984.0),
    )

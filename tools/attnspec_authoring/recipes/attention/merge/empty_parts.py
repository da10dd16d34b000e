"""Parts without keys, whatever their outputs hold, and NaN and infinity in parts that have keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.merge.parts import NONE, merging, of_side
from attnspec_authoring.recipes.attention.merge.weights import WITHOUT_FLOAT16
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

BOTH_NAN = "vllm-project/vllm/pull/27491"
BOTH_NAN_AGAIN = "flashinfer-ai/flashinfer/issues/4051"
SIGN = "vllm-project/vllm/issues/15492"
FINITE = "vllm-project/vllm/issues/49294"
CHUNKS = "vllm-project/vllm/issues/39148"
PREFIX = "vllm-project/vllm/pull/28181"

SMALL = (1, 1, 3, 2)
ONE = ("average", "empty.one")
BOTH = ("average", "empty.both")
FOUR = [[1.0, NONE, 0.5, NONE], [NONE, 2.0, NONE, -1.0], [NONE, NONE, 3.0, 0.25]]
OTHER_FOUR = [[0.0, 1.5, NONE, NONE], [2.0, NONE, NONE, 0.5], [NONE, -2.0, NONE, 1.0]]
"""Of the rows of each head, both parts have keys, or one, or neither."""

MIXED = (1, 3, 4, 2)


def plain() -> tuple[AuthoredCase, ...]:
    """Hold empty parts whose outputs are 0, as attention leaves them."""
    first: dict[str, Any] = {"logsumexp_a": NONE, "output_a": 0.0}
    second: dict[str, Any] = {"logsumexp_b": NONE, "output_b": 0.0}
    heads = np.zeros((2, 3, 1))
    heads[:, 1] = NONE
    entries = np.zeros((3, 1, 1))
    entries[1] = NONE
    return (
        merging("empty_first", "a first part without keys")(SMALL, ONE, **first),
        merging("empty_second", "a second part without keys")(SMALL, ONE, **second),
        merging("empty_both", "no keys in either part")(SMALL, BOTH, **first, **second, report=BOTH_NAN),
        merging("empty_rows", "rows with keys in both parts, one and neither")(
            MIXED, (*ONE, "empty.both"), logsumexp_a=FOUR, logsumexp_b=OTHER_FOUR, report=CHUNKS
        ),
        merging("empty_heads", "a head whose first part has no keys")(
            (2, 3, 2, 2), ONE, logsumexp_a=heads, report=PREFIX
        ),
        merging("empty_entries", "a batch entry whose second part has no keys")((3, 2, 2, 2), ONE, logsumexp_b=entries),
        merging("empty_first_negative_zeros", "a first part without keys beside minus 0")(
            SMALL, ONE, **first, output_b=-0.0
        ),
        merging("empty_first_beside_a_low_logarithm", "no keys beside a logarithm of -9984, which is no empty part")(
            SMALL, ONE, **first, logsumexp_b=-9984.0, report=FINITE
        ),
        merging("empty_second_beside_a_low_logarithm", "a logarithm of -9984, which is no empty part, beside no keys")(
            SMALL, ONE, **second, logsumexp_a=-9984.0
        ),
        merging("empty_second_beside_zero", "a logarithm of 0 beside no keys")(SMALL, ONE, **second, logsumexp_a=0.0),
        merging("empty_first_beside_a_sentinel", "no keys beside a logarithm of minus 2 to the power of 100")(
            SMALL, ONE, **first, logsumexp_b=-(2.0**100), dtypes=WITHOUT_FLOAT16
        ),
    )


def garbage(name: str, number: float) -> NDArray[np.float64]:
    """Draw an output, and put a number into every other element."""
    numbers = grid(f"merge/garbage_{name}", SMALL)
    numbers.reshape(-1)[::2] = number
    return numbers


def holding() -> tuple[AuthoredCase, ...]:
    """Hold empty parts whose outputs hold numbers, large numbers, NaN and infinities."""
    stored: tuple[tuple[str, str, float, tuple[str, ...]], ...] = (
        ("numbers", "numbers", 24576.0, ()),
        ("huge_numbers", "numbers near the largest of float32", 2.0**127, WITHOUT_FLOAT16),
        ("nan", "NaN", np.nan, ()),
        ("infinity", "infinity", np.inf, ()),
    )
    parts = (("first", "a"), ("second", "b"))
    every = ("float64", "float32", "float16", "bfloat16")
    return (
        *(
            merging(f"empty_{ordinal}_holds_{name}", f"a {ordinal} part without keys holds {what}")(
                SMALL,
                (*ONE, "empty.ignored"),
                **of_side(side, output=garbage(name, number), logsumexp=NONE),
                dtypes=dtypes or every,
            )
            for name, what, number, dtypes in stored
            for ordinal, side in parts
            if name != "huge_numbers"
        ),
        *(
            merging(f"empty_both_hold_{name}", f"parts without keys hold {what}")(
                SMALL,
                (*BOTH, "empty.ignored"),
                output_a=garbage(name, number),
                output_b=garbage(f"{name}_too", number),
                logsumexp_a=NONE,
                logsumexp_b=NONE,
                dtypes=dtypes or every,
                report=BOTH_NAN_AGAIN,
            )
            for name, what, number, dtypes in stored
        ),
        merging(
            "empty_rows_hold_nan", "rows with keys in both parts, one and neither, where a part without keys is NaN"
        )(
            MIXED,
            (*ONE, "empty.both", "empty.ignored"),
            logsumexp_a=FOUR,
            logsumexp_b=OTHER_FOUR,
            output_a=nan_where_empty("empty_rows_a", FOUR),
            output_b=nan_where_empty("empty_rows_b", OTHER_FOUR),
            report=SIGN,
        ),
        merging(
            "empty_rows_hold_infinity",
            "rows with keys in both parts, one and neither, where a part without keys is infinite",
        )(
            MIXED,
            (*ONE, "empty.both", "empty.ignored"),
            logsumexp_a=FOUR,
            logsumexp_b=OTHER_FOUR,
            output_a=nan_where_empty("infinite_rows_a", FOUR, np.inf),
            output_b=nan_where_empty("infinite_rows_b", OTHER_FOUR, -np.inf),
        ),
    )


def nan_where_empty(name: str, logarithms: list[list[float]], number: float = np.nan) -> NDArray[np.float64]:
    """Draw an output that is a number wherever a part has no keys."""
    empty = np.isneginf(np.array(logarithms))[np.newaxis, ..., np.newaxis]
    return np.where(empty, number, grid(f"merge/{name}", MIXED))


SHAPE = (1, 2, 3, 2)
CLAUSES = ("average", "nonfinite")


def holding_numbers(
    name: str, number: float, *, rank: int = 4, index: tuple[int, ...] = (0, 1, 2, 1)
) -> NDArray[np.float64]:
    """Draw a tensor of a part, and put a number at one index of it."""
    numbers = grid(f"merge/holding_{name}", SHAPE[:rank])
    numbers[index[:rank]] = number
    return numbers


def nonfinite_cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of NaN and infinity in parts that have keys."""
    empty_elsewhere = np.zeros(SHAPE[:3])
    empty_elsewhere[0, 0] = NONE
    return (
        merging("nan_in_first", "NaN in an output of the first part")(
            SHAPE, CLAUSES, output_a=holding_numbers("first", np.nan)
        ),
        merging("nan_in_second", "NaN in an output of the second part")(
            SHAPE, CLAUSES, output_b=holding_numbers("second", np.nan)
        ),
        merging("nan_beside_empty_rows", "NaN in an output of the first part, which has no keys elsewhere")(
            SHAPE,
            (*CLAUSES, "empty.one"),
            output_a=holding_numbers("beside_empty", np.nan),
            logsumexp_a=empty_elsewhere,
        ),
        merging("nan_in_the_part_with_keys", "NaN in an output of the second part, where the first has no keys")(
            SHAPE, (*CLAUSES, "empty.one"), output_b=holding_numbers("with_keys", np.nan), logsumexp_a=NONE
        ),
        merging("infinity_in_first", "infinity in an output of the first part")(
            SHAPE, CLAUSES, output_a=holding_numbers("inf", np.inf)
        ),
        merging("infinity_in_second", "minus infinity in an output of the second part")(
            SHAPE, CLAUSES, output_b=holding_numbers("minus_inf", -np.inf)
        ),
        merging("opposite_infinities", "infinity and minus infinity in the same output")(
            SHAPE,
            CLAUSES,
            output_a=holding_numbers("opposite_a", np.inf),
            output_b=holding_numbers("opposite_b", -np.inf),
        ),
        merging(
            "infinity_in_the_part_with_keys", "infinity in an output of the first part, where the second has no keys"
        )(SHAPE, (*CLAUSES, "empty.one"), output_a=holding_numbers("inf_with_keys", np.inf), logsumexp_b=NONE),
        merging("nan_logarithm_of_first", "a logarithm of the first part that is NaN")(
            SHAPE, CLAUSES, logsumexp_a=holding_numbers("logarithm_a", np.nan, rank=3)
        ),
        merging("nan_logarithm_of_second", "a logarithm of the second part that is NaN")(
            SHAPE, CLAUSES, logsumexp_b=holding_numbers("logarithm_b", np.nan, rank=3)
        ),
        merging("nan_of_a_light_part", "NaN in an output of a part whose weight underflows in some dtypes")(
            SHAPE, CLAUSES, output_a=holding_numbers("light", np.nan), logsumexp_a=-40.0, logsumexp_b=0.5
        ),
        merging(
            "nan_of_a_part_that_weighs_nothing", "NaN in an output of a part whose weight underflows in every dtype"
        )(SHAPE, CLAUSES, output_b=holding_numbers("nothing", np.nan), logsumexp_a=0.5, logsumexp_b=-9984.0),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (*plain(), *holding(), *nonfinite_cases())

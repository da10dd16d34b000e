"""Parts of like and unlike weight, large logarithms, cancelling and large outputs, numbers of many digits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.merge.parts import merging, of_side
from attnspec_authoring.recipes.authoring import SINGLE_AND_DOUBLE, WITHOUT_FLOAT16, row, table
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

MIXED_BASES = "sgl-project/sglang/issues/40903"
BASE_2_AS_E = "vllm-project/vllm/pull/28840"
OF_PREFIX_HITS = "vllm-project/vllm/pull/52796"
MANTISSAS = "ROCm/fleet-chiplet-megakernel/pull/8"
ALIASED = "paiml/aprender/issues/2753"
RENORMALISED = "pytorch/torchtitan/pull/2211"

SMALL = (1, 1, 3, 2)
GAPS = (20.0, 90.0, 200.0)
LIGHTER = np.array([13.0, 16.0, 19.0, 22.0, 25.0, 28.0, 31.0])
"""As far as a part may lie below the other and still be seen in float64, at sizes of outputs that are so unlike."""


def digits(name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Draw numbers of many digits that float32 holds."""
    return grid(f"merge/{name}", shape) + grid(f"merge/{name}/more", shape) / 8192.0


def gaps() -> tuple[AuthoredCase, ...]:
    """Hold parts of equal weight, and either one heavier, by little and by much."""
    weights: tuple[str, ...] = ("average", "weights")
    stable = (*weights, "stability")
    ladder = np.array([0.0, 0.0078125, 0.5, 2.0, 8.0, 17.0, 36.0, 104.0])
    return (
        merging("equal_logarithms", "parts of equal weight")(SMALL, weights, logsumexp_a=1.5, logsumexp_b=1.5),
        merging("both_zero", "two logarithms of 0: the sum is 2")(SMALL, weights, logsumexp_a=0.0, logsumexp_b=0.0),
        merging("one_above", "a first part heavier by a power of e, and not of 2")(
            SMALL, weights, logsumexp_a=1.0, logsumexp_b=0.0, report=MIXED_BASES
        ),
        merging("three_below", "a first part lighter by the third power of e")(
            SMALL, weights, logsumexp_a=-2.0, logsumexp_b=1.0, report=BASE_2_AS_E
        ),
        *(
            merging(f"gap_{gap:.0f}_{side}", f"a {ordinal} part heavier by e to the power of {gap:.0f}")(
                SMALL, stable, **of_side(side, logsumexp=gap / 2.0), **of_side(other, logsumexp=-gap / 2.0)
            )
            for gap in GAPS
            for side, other, ordinal in (("a", "b", "first"), ("b", "a", "second"))
        ),
        *(
            merging(f"gap_10000_{side}", f"a {ordinal} part heavier by e to the power of 9984")(
                SMALL, stable, **of_side(side, logsumexp=9984.0), **of_side(other, logsumexp=0.0)
            )
            for side, other, ordinal in (("a", "b", "first"), ("b", "a", "second"))
        ),
        merging("gap_tiny", "logarithms that differ in their last digits alone")(
            SMALL, weights, logsumexp_a=1.0, logsumexp_b=1.0078125
        ),
        merging("gaps_in_one_head", "rows of every gap, the first part heavier")(
            (1, 1, 8, 2), weights, logsumexp_a=ladder, logsumexp_b=0.0
        ),
        merging("gaps_the_other_way", "rows of every gap, the second part heavier")(
            (1, 1, 8, 2), weights, logsumexp_a=-1.0, logsumexp_b=ladder - 1.0
        ),
        merging("gaps_of_heads", "heads of which either part is heavier")(
            (2, 3, 2, 2),
            weights,
            logsumexp_a=[[[3.0], [-2.0], [0.5]], [[-40.0], [0.0], [6.0]]],
            logsumexp_b=[[[-1.0], [2.5], [0.25]], [[1.0], [40.0], [5.0]]],
            report=OF_PREFIX_HITS,
        ),
        *(
            merging(
                f"lighter_and_larger_{side}",
                f"a {ordinal} part that is lighter and lighter, and whose outputs are large",
            )(
                (1, 1, 7, 2),
                weights,
                **of_side(side, logsumexp=-LIGHTER, output=grid(f"merge/lighter_{side}", (1, 1, 7, 2)) * 2.0**20),
                **of_side(other, logsumexp=0.0),
                dtypes=WITHOUT_FLOAT16,
            )
            for side, other, ordinal in (("a", "b", "first"), ("b", "a", "second"))
        ),
        *(
            merging(f"light_and_large_{side}", f"a {ordinal} part of little weight and large outputs")(
                SMALL,
                weights,
                **of_side(side, logsumexp=-10.0, output=grid(f"merge/light_{side}", SMALL) * 2.0**20),
                dtypes=WITHOUT_FLOAT16,
            )
            for side, ordinal in (("a", "first"), ("b", "second"))
        ),
    )


def logarithms() -> tuple[AuthoredCase, ...]:
    """Hold logarithms whose own power overflows or vanishes, near and far from each other, and many digits of them."""
    stable = ("average", "weights", "stability")
    beyond = (
        row("beyond_float16", "powers beyond the largest number of float16")(12.0, 12.5, ()),
        row("beyond_float32", "powers beyond the largest number of float32")(96.0, 97.5, ()),
        row("beyond_float64", "powers beyond the largest number of float64")(
            716.0, 714.0, ("float64", "float32", "float16")
        ),
        row("below_float64", "powers below the smallest number of float64")(
            -752.0, -754.0, ("float64", "float32", "float16")
        ),
        row("ten_thousand", "logarithms around 10000")(10000.5, 9999.25, SINGLE_AND_DOUBLE),
        row("minus_ten_thousand", "logarithms around -10000")(-10000.5, -9999.25, SINGLE_AND_DOUBLE),
        row("ten_thousand_roughly", "logarithms around 10000 of few digits")(9984.0, 9984.0, ()),
        row("minus_ten_thousand_roughly", "logarithms around -10000 of few digits")(-9984.0, -10048.0, ()),
        row("eighty_thousand", "logarithms around 80000")(80000.5, 79999.5, SINGLE_AND_DOUBLE),
        row("minus_eighty_thousand", "logarithms around -80000")(-80000.5, -79999.5, SINGLE_AND_DOUBLE),
        row("eighty_thousand_apart", "logarithms of 79872 and -79872")(79872.0, -79872.0, WITHOUT_FLOAT16),
        row("like_a_sentinel", "equal logarithms of minus 2 to the power of 100")(
            -(2.0**100), -(2.0**100), WITHOUT_FLOAT16
        ),
        row("digits_lost", "logarithms in which 1 is lost in every dtype")(2.0**60, 2.0**60, WITHOUT_FLOAT16),
        row("above_a_sentinel", "a logarithm of minus 2 to the power of 100 beside 0.5")(
            -(2.0**100), 0.5, WITHOUT_FLOAT16
        ),
        *(
            row(f"nearly_largest_{kind}_{dtypes[-1]}", f"logarithms nearly the largest of {dtypes[-1]}, {how}")(
                a, b, dtypes
            )
            for dtypes, largest in (
                (("float64",), 2.0**1020),
                (WITHOUT_FLOAT16, 2.0**127),
                (("float64", "float32", "bfloat16", "float16"), 2.0**15),
            )
            for kind, how, a, b in (
                ("alike", "both above 0", 1.25 * largest, 1.25 * largest),
                ("below", "both below 0", -1.25 * largest, -1.25 * largest),
                ("apart", "on either side of 0", 1.25 * largest, -1.125 * largest),
            )
        ),
        row("opposite", "logarithms of opposite sign")(0.75, -0.75, ()),
        row("sum_of_one", "two halves of a denominator of 1, whose logarithm is nearly 0")(
            -0.693359375, -0.693359375, ("float64", "float32", "float16")
        ),
    )
    return (
        *(
            merging(name, title)(
                SMALL,
                stable,
                logsumexp_a=a,
                logsumexp_b=b,
                dtypes=dtypes or ("float64", "float32", "float16", "bfloat16"),
            )
            for name, title, a, b, dtypes in beyond
        ),
        merging("large_in_some_rows", "rows of large, small and ordinary logarithms")(
            (1, 2, 4, 2),
            stable,
            logsumexp_a=[[1984.0, -1984.0, 1.0, 0.0], [0.5, -960.0, 992.0, -2976.0]],
            logsumexp_b=[[1984.0, -1992.0, -1.0, 104.0], [-0.5, -964.0, 988.0, -2976.0]],
            report=ALIASED,
        ),
        merging("large_in_one_entry", "batch entries of large and of very low logarithms")(
            (2, 1, 2, 2),
            stable,
            logsumexp_a=[[[1984.0, 1.0]], [[-1.0, -1984.0]]],
            logsumexp_b=[[[1984.0, 2.0]], [[-2.0, -1984.0]]],
        ),
        merging("digits_of_logarithms", "logarithms of many digits")(
            SMALL,
            ("average", "weights"),
            logsumexp_a=digits("digits_a", SMALL[:3]) + 6.0,
            logsumexp_b=digits("digits_b", SMALL[:3]) + 6.0,
            dtypes=SINGLE_AND_DOUBLE,
            report=MANTISSAS,
        ),
        merging("digits_of_outputs", "outputs of many digits")(
            SMALL, output_a=digits("outputs_a", SMALL), output_b=digits("outputs_b", SMALL), dtypes=SINGLE_AND_DOUBLE
        ),
    )


def outputs() -> tuple[AuthoredCase, ...]:
    """Hold outputs that are equal, opposite, nearly so, 0, of either sign, large and small."""
    case = table(merging, shape=SMALL)
    one = grid("merge/one_output", SMALL)
    nearly = one * 8.0
    small: dict[str, Any] = {"logsumexp_a": 0.5, "logsumexp_b": 0.5}
    return (
        case("equal_outputs", "equal outputs stay what they are")(output_a=one, output_b=one),
        case("ones", "outputs of 1 stay 1: the shares sum to 1")(output_a=1.0, output_b=1.0, report=RENORMALISED),
        case("opposite_outputs", "opposite outputs of equal weight cancel to 0")(output_a=one, output_b=-one, **small),
        case("cancelling_outputs", "outputs that nearly cancel")(
            output_a=nearly + np.sign(nearly) * 0.5, output_b=-nearly, logsumexp_a=0.25, logsumexp_b=0.25
        ),
        case("zero_outputs", "outputs of 0")(output_a=0.0, output_b=0.0),
        case("negative_zeros", "outputs of minus 0")(output_a=-0.0, output_b=-0.0),
        case("zero_beside_numbers", "an output of 0 still has its weight")(output_a=0.0),
        case("numbers_beside_zero", "a second output of 0 still has its weight")(output_b=0.0),
        case("large_outputs", "outputs around a million")(
            output_a=one * 2.0**20, output_b=grid("merge/large_outputs", SMALL) * 2.0**20, dtypes=WITHOUT_FLOAT16
        ),
        case("opposite_outputs_nearly_largest", "opposite outputs whose difference exceeds float16")(
            output_a=np.sign(one) * 1.5 * 2.0**15, output_b=np.sign(one) * -1.25 * 2.0**15
        ),
        case("huge_outputs", "outputs whose squares overflow float32")(
            output_a=one * 2.0**100, output_b=grid("merge/huge_outputs", SMALL) * 2.0**100, dtypes=WITHOUT_FLOAT16
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of weights, logarithms and outputs."""
    return (*gaps(), *logarithms(), *outputs())

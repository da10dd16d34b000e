"""Softmax over several axes and ranks, and context vectors, which are softmax over one score a token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.attention.attention import made_for
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, SINGLE_AND_DOUBLE, AuthoredCase, headed
from attnspec_authoring.recipes.generator import grid, require_exact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

AXIS = ("softmax.definition", "softmax.axis.explicit")


@headed
def softmax(
    name: str,
    title: str,
    x: NDArray[Any] | tuple[int, ...],
    *,
    clauses: tuple[str, ...] = ("softmax.definition", "softmax.axis.default"),
    dtypes: tuple[str, ...] = EVERY_DTYPE,
    profile: str = "layout",
    memory_order: str | None = None,
    sample: tuple[int, ...] = (),
    changed_argument: ChangedArgument | None = None,
    revision: int = 1,
    **attributes: Any,
) -> AuthoredCase:
    """Make a case of softmax from an array, or from a shape that is drawn."""
    case_id = f"{profile}/softmax_{name}"
    drawn = grid(f"{case_id}/x", x) if isinstance(x, tuple) else x
    return AuthoredCase(
        id=case_id,
        title=f"Softmax: {title}",
        operation="softmax",
        clauses=clauses,
        source=made_for(profile),
        inputs={"x": require_exact(drawn, dtypes, named=case_id)},
        attributes=attributes,
        dtypes=dtypes,
        memory_order={} if memory_order is None else {"x": memory_order},
        sample={"output": sample} if sample else {},
        changed_argument=changed_argument,
        revision=revision,
    )


def softmax_cases() -> tuple[AuthoredCase, ...]:
    """Hold every axis of arrays of one to four axes, and rows that need the greatest number subtracted."""
    rows = grid("layout/softmax_rows/x", (3, 5))
    hidden = np.where(rows < -1.0, -np.inf, rows)
    hidden[:, 2] = 0.5
    stability = ("softmax.stability", "softmax.definition")
    return (
        softmax("rows", "the rows of a table")(rows),
        softmax("rows_other_values", "the rows of a table with other values")((3, 5)),
        softmax("columns", "the columns of a table")(
            rows, clauses=AXIS, axis=0, changed_argument=ChangedArgument("x", reversed=True), revision=2
        ),
        softmax("columns_by_negative_axis", "the columns, counted from the end")(
            rows, clauses=AXIS, axis=-2, changed_argument=ChangedArgument("axis", -1), revision=2
        ),
        softmax("last_axis_stated", "the last axis, stated")(rows, clauses=AXIS, axis=1),
        softmax("whole_table", "the whole table")(rows, clauses=("softmax.axis.whole",), axis=None),
        softmax("vector", "a single row without other axes")((7,)),
        softmax("vector_whole", "a single row as a whole")((7,), clauses=("softmax.axis.whole",), axis=None),
        softmax("one_number", "a number without axes")(np.array(0.5), clauses=("softmax.axis.whole",), axis=None),
        softmax("rank_3", "three axes, along the last")((2, 3, 4)),
        softmax("rank_3_middle", "three axes, along the middle one")((2, 3, 4), clauses=AXIS, axis=1),
        softmax("rank_3_first", "three axes, along the first")((2, 3, 4), clauses=AXIS, axis=0),
        softmax("rank_3_whole", "three axes, as a whole")((2, 3, 4), clauses=("softmax.axis.whole",), axis=None),
        softmax("rank_4", "four axes, along the last but one")((2, 3, 5, 2), clauses=AXIS, axis=-2),
        softmax("many_rows", "thirty-three rows of two")((33, 2)),
        softmax("one_column", "rows of one number: all weights are one")((4, 1)),
        softmax("equal", "rows of equal numbers")(np.broadcast_to(rows[:, :1], (3, 5))),
        *(
            softmax(f"equal_everywhere_{name}", f"equal numbers, {how}")(
                np.full(shape, 0.5), clauses=clauses, axis=axis
            )
            for name, how, shape, axis, clauses in (
                ("first", "along the first of two axes", (3, 5), 0, AXIS),
                ("last_but_one", "along the last axis but one", (3, 5), -2, AXIS),
                ("middle", "along the middle one of three axes", (2, 3, 4), 1, AXIS),
                ("whole", "as a whole", (2, 3, 4), None, ("softmax.axis.whole",)),
            )
        ),
        *(
            softmax(f"same_numbers_{length}_long", f"the same twelve numbers as those beside it, in rows of {length}")(
                grid("layout/softmax_same_numbers/x", (12,)).reshape(-1, length)
            )
            for length in (3, 4, 6)
        ),
        softmax("large", "numbers around 1000")(rows * 4.0 + 1000.0, clauses=stability, dtypes=SINGLE_AND_DOUBLE),
        softmax("negative", "numbers around minus 1000")(
            rows * 4.0 - 1000.0, clauses=stability, dtypes=SINGLE_AND_DOUBLE
        ),
        softmax(
            "large_in_every_dtype", "a row of 120 and its neighbours, whose exponentials overflow single precision"
        )(np.array([[120.0, 119.0, 118.0, 112.0], [-120.0, -119.0, -124.0, -128.0]]), clauses=stability),
        softmax("far_apart", "rows whose numbers lie far from those of other rows")(
            rows + np.array([[-2048.0], [0.0], [2048.0]]), clauses=stability, dtypes=SINGLE_AND_DOUBLE
        ),
        # Below every finite number that is taken for minus infinity; float16 ends before that.
        softmax("far_below_zero", "numbers far below zero")(
            np.array([[-(2.0**40), -(2.0**40), -(2.0**41)], [-(2.0**99), -(2.0**100), -(2.0**99)]]),
            clauses=stability,
            dtypes=("float64", "float32", "bfloat16"),
            revision=2,
        ),
        softmax("below_1e30", "numbers below every number that stands for minus infinity but the lowest of float32")(
            np.array([[-1.25, -1.0, -1.5, -1.0], [-1.0, -1.25, -1.0, -1.75]]) * 2.0**110,
            clauses=stability,
            dtypes=("float64", "float32", "bfloat16"),
        ),
        # A sum of ones in bfloat16 stays at 256.
        softmax("equal_300", "three hundred equal numbers")(np.zeros((1, 300)), sample=(0, 150, 299)),
        softmax("one_hot", "one number far above the others")(
            np.where(np.eye(3, 5, 1) > 0, 96.0, rows), clauses=stability
        ),
        softmax("minus_infinity", "minus infinity gets the weight zero")(hidden),
        softmax("rising", "forty numbers that rise by one quarter")(np.arange(40.0)[np.newaxis] / 4.0),
        softmax("fortran_ordered", "a table held column by column")((3, 5), memory_order="fortran"),
        softmax("reversed_axes", "a table held backwards")((4, 6), memory_order="reversed"),
    )


def first_at_minus_infinity() -> Iterator[AuthoredCase]:
    """Begin sums with numbers that are minus infinity, more of them than a tile holds."""
    for hidden, count in ((1, 4), (4, 7), (9, 12), (17, 20), (66, 70)):
        rows = grid(f"layout/softmax_minus_infinity_before_{hidden}/x", (2, count))
        rows[0, :hidden] = -np.inf
        rows[1, : hidden // 2] = -np.inf
        said = f"minus infinity in the first {hidden} of {count} numbers"
        yield from (
            softmax(f"minus_infinity_before_{hidden}", said)(rows),
            softmax(f"minus_infinity_above_{hidden}", f"{said}, in columns")(rows.T.copy(), clauses=AXIS, axis=0),
        )


def far_below(count: int) -> NDArray[np.float64]:
    """Return one 0 and numbers below -7.75: equal ones would add up their rounding errors, too."""
    return np.where(np.arange(count) == 0, 0.0, -7.75 - np.arange(count) % 8 / 8)


def sum_cases() -> tuple[AuthoredCase, ...]:
    """Hold sums that lose all but their first terms where they are kept in half precision."""
    return (
        AuthoredCase(
            id="layout/softmax_many_small",
            title="One number and 160 so far below it that a sum in half precision never sees them",
            operation="softmax",
            clauses=("softmax.definition", "softmax.stability"),
            source=made_for("layout"),
            inputs={"x": far_below(161)},
            dtypes=EVERY_DTYPE,
            sample={"output": (0, 1, 160)},
        ),
        AuthoredCase(
            id="layout/softmax_many_small_down",
            title="The same down two columns of 130 numbers",
            operation="softmax",
            clauses=AXIS,
            source=made_for("layout"),
            inputs={"x": np.stack([far_below(130), far_below(130)[::-1]], axis=-1)},
            attributes={"axis": 0},
            dtypes=EVERY_DTYPE,
            sample={"output": (0, 1, 258, 259)},
        ),
    )


def of_length_one() -> Iterator[AuthoredCase]:
    """Hold axes of length 1 beside the one that is summed: they are not it."""
    shapes: tuple[tuple[tuple[int, ...], int | None], ...] = (
        ((4, 1), 0),
        ((5, 1), None),
        ((1, 4), 0),
        ((1, 5), None),
        ((2, 3, 1), 1),
        ((3, 2, 1), 0),
        ((1, 3, 2), 1),
        ((1, 6, 1), None),
    )
    for shape, axis in shapes:
        spelt = "_by_".join(map(str, shape))
        along = "the whole" if axis is None else f"axis {axis}"
        yield softmax(
            f"{spelt}_over_{along.replace(' ', '_')}", f"{' x '.join(map(str, shape))} numbers, over {along}"
        )(
            grid(f"layout/softmax_{spelt}_{along}", shape) * 2.0,
            clauses=("softmax.axis.whole",) if axis is None else AXIS,
            axis=axis,
        )


@headed
def context(
    name: str,
    title: str,
    tokens: int,
    width: int,
    *,
    clause: str = "context_vector.scale.default",
    profile: str = "layout",
    replaced: Mapping[str, NDArray[Any]] | None = None,
    dtypes: tuple[str, ...] = EVERY_DTYPE,
    memory_order: Mapping[str, str] | None = None,
    changed_argument: ChangedArgument | None = None,
    revision: int = 1,
    **attributes: Any,
) -> AuthoredCase:
    """Make a case of the context vector with drawn states; what is `replaced` goes before them."""
    case_id = f"{profile}/context_{name}"
    return AuthoredCase(
        id=case_id,
        title=f"Context vector: {title}",
        operation="context_vector",
        clauses=(clause, "context_vector.raw_scores", "context_vector.softmax", "context_vector.context"),
        source=made_for(profile),
        inputs={
            "encoder_states": grid(f"{case_id}/encoder_states", (tokens, width)),
            "decoder_state": grid(f"{case_id}/decoder_state", (width,)),
            **(replaced or {}),
        },
        attributes=attributes,
        outputs=("context", "weights", "scores", "raw_scores"),
        dtypes=dtypes,
        memory_order=memory_order or {},
        changed_argument=changed_argument,
        revision=revision,
    )


def nearly_largest() -> Iterator[AuthoredCase]:
    """Hold numbers of more than half of the largest one of each dtype: multiplied by anything, they are infinite."""
    mantissas = np.array([[1.5, 1.75, 1.984375, 1.25], [1.984375, 1.5, 1.984375, 1.125], [1.25, 1.25, 1.5, 1.75]])
    for dtype, exponent in (("float16", 15), ("bfloat16", 127), ("float32", 127), ("float64", 1023)):
        largest = 2.0**exponent
        for side, signs in (("above", 1.0), ("below", -1.0), ("above_and_below", np.array([1.0, -1.0, 1.0, -1.0]))):
            yield softmax(f"nearly_largest_{dtype}_{side}", f"nothing but numbers near the largest of {dtype}: {side}")(
                mantissas * largest * signs, clauses=("softmax.stability", "softmax.definition"), dtypes=(dtype,)
            )
    for dtype, lowest in (
        ("float16", -65504.0),
        ("bfloat16", -(2.0 - 2.0**-7) * 2.0**127),
        ("float32", -(2.0 - 2.0**-23) * 2.0**127),
        ("float64", -(2.0 - 2.0**-52) * 2.0**1023),
    ):
        yield softmax(
            f"lowest_{dtype}_beside_minus_infinity", f"minus infinity beside nothing but the lowest number of {dtype}"
        )(
            np.array([[lowest, -np.inf, lowest, -np.inf], [-np.inf, -np.inf, lowest, -np.inf], [lowest] * 4]),
            clauses=("softmax.stability", "softmax.definition"),
            dtypes=(dtype,),
        )
    yield softmax("below_every_float32", "columns of numbers that lie below the lowest of float32")(
        np.array([[-1.0, -1.5, -2.0], [-1.25, -1.0, -1.0]]) * 2.0**200,
        clauses=(*AXIS, "softmax.stability"),
        dtypes=("float64",),
        axis=0,
    )


def context_cases() -> tuple[AuthoredCase, ...]:
    """Hold context vectors of unequal numbers of tokens and features."""
    default, explicit = "context_vector.scale.default", "context_vector.scale.explicit"
    return (
        context("more_tokens", "six tokens of three features")(
            6, 3, clause=default, changed_argument=ChangedArgument("encoder_states", reversed=True), revision=2
        ),
        context("more_tokens_other_values", "six tokens of three features, other values")(
            6, 3, clause=default, changed_argument=ChangedArgument("decoder_state", reversed=True), revision=2
        ),
        context("more_features", "three tokens of five features")(3, 5, clause=default),
        context("square", "four tokens of four features")(4, 4, clause=default),
        context("one_feature", "three tokens of one feature")(3, 1, clause=default),
        context("one_token", "one token: its state comes out")(1, 3, clause=default),
        context("scale", "a stated scale")(
            6, 3, clause=explicit, scale=0.25, changed_argument=ChangedArgument("scale", 2.0), revision=2
        ),
        context("scale_zero", "the scale zero: the mean of the states")(6, 3, clause=explicit, scale=0.0),
        context("scale_negative", "a negative scale")(6, 3, clause=explicit, scale=-0.5),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of softmax and of the context vector."""
    return (
        *(*softmax_cases(), *of_length_one(), *first_at_minus_infinity(), *nearly_largest(), *sum_cases()),
        *context_cases(),
    )

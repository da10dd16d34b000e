"""RMS norm: means of squares, epsilons, weights, numbers beyond half precision, memory layouts, and refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.authoring import (
    EVERY_DTYPE,
    SINGLE_AND_DOUBLE,
    WITHOUT_FLOAT16,
    AuthoredCase,
    Rejects,
    Source,
    headed,
    reported,
)
from attnspec_authoring.recipes.generator import decimals, grid, require_exact

if TYPE_CHECKING:
    from numpy.typing import NDArray

PROFILE = "norms"
MADE = Source(section="made for the profile norms")
TINY = 2.0**-19
"""Makes the smallest numbers of float16 of drawn ones: one over their root is beyond its largest."""
STRICT = ("input_checks", "strict")
LAYOUTS = {
    "fortran": "with the first axis first in memory",
    "reversed": "backwards in memory",
    "gapped": "with gaps in memory",
    "inside": "inside of larger arrays",
    "prefix": "at the beginning of longer arrays",
    "readonly": "where nobody may write",
}

EPSILON = 2.0**-10
"""A power of two, which every dtype holds; large enough to show beside squares of about 1."""

OUTSIDE = "EleutherAI/gpt-neox/pull/1342"
UNUSED = "keras-team/keras-hub/pull/1472"
FIXED = "apache/tvm/pull/15856"
GEMMA = "linkedin/Liger-Kernel/issues/74"
TWICE = "kekzl/imp/pull/459"
OVERFLOW = "microsoft/onnxruntime/pull/29043"
HALF_SUM = "nntrainer/nntrainer/issues/3935"
SMALL = "pytorch/pytorch/issues/189581"


@headed
def rms_norm(
    name: str,
    title: str,
    shape: tuple[int, ...] = (2, 3, 4),
    clauses: tuple[str, ...] = ("mean_square", "weight"),
    *,
    epsilon: float = EPSILON,
    offset: str | None = None,
    x: NDArray[np.float64] | None = None,
    weight: NDArray[np.float64] | None = None,
    times: float = 1.0,
    dtypes: tuple[str, ...] = EVERY_DTYPE,
    report: str | None = None,
    **more: Any,
) -> AuthoredCase:
    """Make a case of RMS norm; what is not given is drawn, and a clause is named without the operation."""
    case_id = f"{PROFILE}/rms_{name}"
    inputs = {
        "x": (grid(f"{case_id}/x", shape) if x is None else x) * times,
        "weight": grid(f"{case_id}/weight", shape[-1:]) if weight is None else weight,
    }
    stated = {} if offset is None else {"weight_offset": offset}
    of_offset = {None: "weight_offset.default", "one": "weight_offset.one"}.get(offset)
    return AuthoredCase(
        id=case_id,
        title=f"RMS norm: {title}",
        operation="rms_norm",
        clauses=tuple(f"rms_norm.{clause}" for clause in (*clauses, *([of_offset] if of_offset else []), "shape")),
        source=MADE if report is None else reported(report),
        inputs={key: require_exact(array, dtypes, named=case_id) for key, array in inputs.items()},
        attributes={"epsilon": epsilon, **stated},
        dtypes=dtypes,
        **more,
    )


def signs(name: str, width: int) -> NDArray[np.float64]:
    """Draw a token of ones and minus ones."""
    return np.where(grid(f"{PROFILE}/{name}", (1, 1, width)) > 0, 1.0, -1.0)


def behind_large(name: str, width: int) -> NDArray[np.float64]:
    """Draw a token of ones and minus ones behind a feature whose square is 256: bfloat16 holds no 257."""
    return np.concatenate([np.full((1, 1, 1), 16.0), signs(name, width)], axis=-1)


def lost_in_turn(name: str) -> NDArray[np.float64]:
    """Draw two entries of two tokens: two squares are lost one by one beside a large one, in float32 or in float64.

    Added to each other first they are not, wherever the large one stands: the order of a sum shows in its last bits.
    """
    features = np.where(grid(f"{PROFILE}/{name}", (2, 2, 3)) > 0, 1.25, -1.25)
    features[0, 0, 0] = features[1, 1, 2] = 6144.0
    features[0, 1, 2] = features[1, 0, 0] = 2.0**27
    return features


def shapes() -> tuple[AuthoredCase, ...]:
    """Hold any number of axes, and widths beside those of tiles."""
    return (
        rms_norm("plain", "two entries of three tokens")(),
        rms_norm("one_token", "a token without any other axis")((5,)),
        rms_norm("two_axes", "three tokens without a batch")((3, 5), ("mean_square", "last_axis")),
        rms_norm("four_axes", "heads below tokens")((2, 1, 2, 3), ("mean_square", "last_axis")),
        rms_norm("one_feature", "tokens of one feature")((2, 2, 1)),
        rms_norm("two_features", "as many tokens as features")((1, 2, 2), ("mean_square", "last_axis")),
        *(rms_norm(f"width_{width}", f"{width} features")((1, 2, width)) for width in (3, 6, 7, 9, 17, 33)),
        rms_norm("unlike_tokens", "tokens of very different sizes")(
            x=grid("norms/unlike", (2, 3, 4)) * np.array([[[1.0], [32.0], [4.0]], [[0.125], [1.0], [64.0]]]),
            clauses=("mean_square", "last_axis"),
        ),
    )


def means_and_epsilons() -> tuple[AuthoredCase, ...]:
    """Hold features with a mean, features alike, features of 0, and epsilons beside small and ordinary squares."""
    alike = np.array([[[3.0] * 4, [-0.5] * 4, [1.5, 1.5, 1.5, -1.5]]])
    some = np.array([[[0.0] * 4, [1.0, -2.0, 0.0, 0.5], [0.0] * 4]])
    epsilon = ("mean_square", "epsilon")
    return (
        rms_norm("alike", "features that are all alike: nothing is left of them without their mean")(
            x=alike, shape=(1, 3, 4)
        ),
        rms_norm("shifted", "features with a mean of 8")(
            (1, 2, 5), x=np.round(grid("norms/shifted", (1, 2, 5)) * 8) / 16 + 8
        ),
        rms_norm("zeros", "tokens of zeros stay zeros")(x=some, shape=(1, 3, 4), epsilon=0.5, clauses=epsilon),
        rms_norm("roots_of_fractions", "squares whose means have whole roots")(
            x=np.array([[1.0, 7.0], [7.0, -17.0], [0.5, -3.5]]), shape=(3, 2), epsilon=0.0, clauses=epsilon
        ),
        rms_norm("epsilon_0", "an epsilon of 0")(epsilon=0.0, clauses=epsilon, report=UNUSED),
        rms_norm("epsilon_1e_6", "the epsilon of Llama")(
            times=2.0**-7, epsilon=1e-6, clauses=epsilon, dtypes=SINGLE_AND_DOUBLE
        ),
        rms_norm("epsilon_one", "an epsilon of 1")((1, 3, 5), epsilon, epsilon=1.0, report=OUTSIDE),
        rms_norm("epsilon_quarter", "an epsilon of 0.25")((2, 2, 3), epsilon, epsilon=0.25, report=UNUSED),
        rms_norm("epsilon_four", "an epsilon of 4 beside squares of about 1")((1, 2, 4), epsilon, epsilon=4.0),
        rms_norm("epsilon_1e_5_small", "small features beside the epsilon of Llama 2")(
            (1, 3, 4), epsilon, epsilon=1e-5, times=2.0**-8, dtypes=SINGLE_AND_DOUBLE, report=FIXED
        ),
        rms_norm("epsilon_small", "small features beside an epsilon of 2 to the power of -10")(
            (2, 2, 4), epsilon, times=2.0**-6, report=SMALL
        ),
        rms_norm("epsilon_wide", "an epsilon of 0.5 beside thirty features")((1, 1, 30), epsilon, epsilon=0.5),
        rms_norm("epsilon_of_one", "weights less 1, and an epsilon of 0.0625")(
            (1, 2, 6), epsilon, epsilon=0.0625, offset="one"
        ),
    )


def weights() -> tuple[AuthoredCase, ...]:
    """Hold weights less 1, near to 0 and to -1, and weights of 0."""
    return (
        rms_norm("offset_plain", "weights less 1")(offset="one", report=GEMMA),
        rms_norm("offset_small", "weights less 1 that are near to 0, as they are before training")(
            weight=grid("norms/small", (4,)) / 32, offset="one", report=GEMMA
        ),
        rms_norm("offset_cancelling", "weights less 1 that are near to -1")(
            weight=grid("norms/near", (4,)) / 64 - 1.0, offset="one", dtypes=SINGLE_AND_DOUBLE
        ),
        rms_norm("offset_zeros", "weights less 1 that are all 0: the normalized features")(
            weight=np.zeros(4), offset="one", report=TWICE
        ),
        rms_norm("offset_two_axes", "weights less 1, without a batch")((3, 5), offset="one", report=TWICE),
        rms_norm("offset_wide", "forty weights less 1")((1, 1, 40), offset="one"),
        rms_norm("offset_four_axes", "weights less 1 of heads")((1, 2, 2, 3), offset="one"),
        rms_norm("offset_small_wide", "sixteen weights less 1 near to 0")(
            (1, 2, 16), weight=grid("norms/small_wide", (16,)) / 32, offset="one"
        ),
        rms_norm("offset_large", "large weights less 1")(weight=grid("norms/large", (4,)) * 16, offset="one"),
        rms_norm("offset_stated_zero", "weights as they are, by a stated offset")(offset="zero"),
        rms_norm("weight_ones", "weights of 1")(weight=np.ones(4)),
        rms_norm("weight_zeros", "weights of which some are 0")(weight=np.array([0.0, 1.5, 0.0, -2.0])),
        rms_norm("weight_twos", "weights that are powers of two")(
            (1, 2, 6), weight=2.0 ** np.array([3.0, -2.0, 0.0, 5.0, -4.0, 1.0])
        ),
    )


def numbers() -> tuple[AuthoredCase, ...]:
    """Hold squares and sums beyond half precision, numbers beyond float16, many digits, NaN and infinity."""
    precise, kept = ("mean_square", "precision"), ("nonfinite", "last_axis")
    return (
        rms_norm("squares_beyond_float16", "features whose squares float16 does not hold")(
            (1, 3, 4), precise, times=256.0, report=OVERFLOW
        ),
        rms_norm("squares_beyond_float16_wide", "features around 8000 beside small ones")(
            (1, 2, 9), precise, x=grid("norms/outlier", (1, 2, 9)) * np.where(np.arange(9) == 4, 4096.0, 1.0)
        ),
        rms_norm("sum_beyond_float16", "twenty squares whose sum float16 does not hold")(
            (1, 1, 20), precise, x=signs("beyond", 20) * 64, report=HALF_SUM
        ),
        *(
            rms_norm(
                f"small_behind_large_{width}", f"{width} small squares behind a large one, of which bfloat16 adds none"
            )((1, 1, width + 1), precise, x=behind_large(f"behind_{width}", width), report=HALF_SUM)
            for width in (30, 40)
        ),
        rms_norm("lost_in_turn", "squares that are lost one by one beside a large one")(
            (2, 2, 3), precise, x=lost_in_turn("lost"), dtypes=SINGLE_AND_DOUBLE
        ),
        rms_norm("small_squares", "features whose squares float16 does not hold, at the small end")(
            (1, 2, 5), precise, times=2.0**-10, epsilon=0.0, report=SMALL
        ),
        rms_norm("tiny_in_float16", "features of which one over the root is beyond float16")(
            (1, 1, 2), precise, times=TINY, epsilon=0.0, report=SMALL
        ),
        rms_norm("tiny_in_float16_epsilon", "tiny features beside an epsilon that float16 takes for 0")(
            (2, 2), ("mean_square", "epsilon", "precision"), times=TINY, epsilon=2.0**-40, report=SMALL
        ),
        rms_norm("large", "features around a million")((1, 2, 5), precise, times=2.0**20, dtypes=WITHOUT_FLOAT16),
        rms_norm("large_two_axes", "features around a hundred thousand")(
            (3, 4), precise, times=2.0**17, dtypes=WITHOUT_FLOAT16
        ),
        rms_norm("tiny", "features around a billionth, and an epsilon of 0")(
            (1, 2, 5), precise, times=2.0**-30, epsilon=0.0, dtypes=WITHOUT_FLOAT16
        ),
        rms_norm("decimals", "features and weights of which no dtype holds any")(
            (1, 3, 4), x=decimals("norms/decimals", (1, 3, 4)), weight=decimals("norms/w", (4,)), dtypes=("float64",)
        ),
        *(
            rms_norm(name, f"{what} in one feature of one token")(
                (1, 3, 4), kept, x=holding(name, (1, 3, 4), ((0, 1, 2), number))
            )
            for name, what, number in (
                ("nan", "NaN", np.nan),
                ("infinity", "infinity", np.inf),
                ("minus_infinity", "minus infinity", -np.inf),
            )
        ),
        rms_norm("nan_and_infinity", "NaN and infinity in tokens of their own, and in one")(
            (2, 2, 3),
            kept,
            x=holding(
                "both", (2, 2, 3), ((0, 0, 0), np.nan), ((0, 1, 2), np.inf), ((1, 1, 0), np.inf), ((1, 1, 1), np.nan)
            ),
            offset="one",
        ),
    )


def holding(name: str, shape: tuple[int, ...], *placed: tuple[tuple[int, ...], float]) -> NDArray[np.float64]:
    """Draw features, and put numbers at indices of them."""
    features = grid(f"{PROFILE}/{name}", shape)
    for index, number in placed:
        features[index] = number
    return features


def calls() -> tuple[AuthoredCase, ...]:
    """Hold every memory layout, and one argument that is changed alone in a second call."""
    return (
        *(
            rms_norm(f"{layout}_{name}", f"{name} {how}")((2, 3, 4), memory_order={name: layout})
            for layout, how in LAYOUTS.items()
            for name in ("x", "weight")
            if name == "x" or layout in ("reversed", "gapped", "readonly")
        ),
        rms_norm("fortran_wide_x", "more features, of which the first axis lies first in memory")(
            (2, 2, 7), memory_order={"x": "fortran"}
        ),
        rms_norm("gapped_weight_one", "weights less 1 with gaps in memory")(
            (1, 2, 6), offset="one", memory_order={"weight": "gapped"}
        ),
        rms_norm("readonly_both_one", "weights less 1 where nobody may write")(
            offset="one", memory_order={"x": "readonly", "weight": "readonly"}
        ),
        *(
            rms_norm(f"other_{name}", f"{name} is changed alone in a second call")(
                (1, 2, 7), changed_argument=ChangedArgument(name, reversed=True)
            )
            for name in ("x", "weight")
        ),
        rms_norm("other_weight_of_one", "weights less 1 are changed alone in a second call")(
            (2, 1, 3), offset="one", changed_argument=ChangedArgument("weight", reversed=True)
        ),
        rms_norm("other_epsilon", "epsilon is changed alone in a second call")(
            epsilon=0.5, changed_argument=ChangedArgument("epsilon", 4.0)
        ),
        rms_norm("other_epsilon_smaller", "epsilon is smaller in a second call")(
            (1, 2, 6), epsilon=1.0, changed_argument=ChangedArgument("epsilon", 0.125)
        ),
        rms_norm("other_offset", "the offset is changed alone in a second call")(
            (1, 3, 4), offset="one", changed_argument=ChangedArgument("weight_offset", "zero")
        ),
    )


def refused() -> tuple[AuthoredCase, ...]:
    """Hold weights of other shapes, and unknown offsets, each beside what is right."""
    plain = {"x": grid("norms/rms_plain/x", (2, 3, 4)), "weight": grid("norms/rms_plain/weight", (4,))}
    weight = plain["weight"]

    def refusal(name: str, clause: str, reason: str, convention: Any, **changed: Any) -> AuthoredCase:
        return AuthoredCase(
            id=f"{PROFILE}/rms_rejects_{name}",
            title=f"RMS norm: refused, {reason[0].lower()}{reason[1:-1]}",
            operation="rms_norm",
            clauses=(f"rms_norm.{clause}",),
            source=MADE,
            inputs={**plain, **changed.get("inputs", {})},
            attributes={"epsilon": EPSILON, **changed.get("attributes", {})},
            dtypes=EVERY_DTYPE,
            rejects=Rejects(reason, f"{PROFILE}/rms_plain", convention),
        )

    return (
        *(
            refusal(name, "rejects.weight", reason, STRICT, inputs={"weight": given})
            for name, reason, given in (
                ("one_weight", "The weight has one element for four features.", weight[:1]),
                ("two_weights", "The weight has two elements for four features.", weight[:2]),
                ("eight_weights", "The weight has eight elements for four features.", np.tile(weight, 2)),
                ("table_of_weights", "The weight has two axes.", np.tile(weight, (3, 1))),
            )
        ),
        *(
            refusal(
                f"offset_{name}",
                "rejects.weight_offset",
                f"There is no offset {word!r}.",
                None,
                attributes={"weight_offset": word},
            )
            for name, word in (("two", "two"), ("empty", ""), ("capital", "One"))
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of RMS norm."""
    return (*shapes(), *means_and_epsilons(), *weights(), *numbers(), *calls(), *refused())

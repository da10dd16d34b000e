"""Scales, sinks, logits and masks that lie far from ordinary ones: the largest and the lowest that a dtype holds.

Under a negative scale the largest product has the smallest score: a maximum that is taken before the scale is then the
minimum, and exponentials overflow. Under the scale zero every product counts alike, however large.

The largest number of a row is looked for among logits and sink. Who begins at zero finds none below it, and who leaves
the sink out finds one too small.

Who excludes by that number, instead of minus infinity, excludes nothing then.

Libraries write it where they mean minus infinity. Here each query has one key that is not excluded, and that key has
the lowest number; so its value comes out, whatever else the row holds. Two such keys would share, which a computation
through the logarithm of the denominator no longer gives (decision 6). Values of the other keys lie far away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, HIDDEN, TOP_LEFT, Sizes, attention
from attnspec_authoring.recipes.attention.layout.projections import multi_head, single_head
from attnspec_authoring.recipes.attention.layout.softmax import context
from attnspec_authoring.recipes.attention.stress.magnitudes import SMALL, STEPS, query_of, row, shared, with_scores
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, SINGLE_AND_DOUBLE
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

PROFILE = "stress"
SCALES = (("minus_one", "minus one", -1.0), ("minus_a_quarter", "minus a quarter", -0.25), ("zero", "zero", 0.0))
PRODUCTS = np.array([512.0, -1536.0, 0.0, 1536.0, 508.0, -1528.0, -1536.0])
"""Further apart than the exponential reaches in float64, also after a quarter, with two that share the lowest score."""


def of_steps(name: str, title: str, scale: float) -> tuple[AuthoredCase, ...]:
    """Make a context vector, and attention behind projections, of one scale."""
    states = np.stack([PRODUCTS / 64.0, np.arange(7.0) - 3.0], axis=-1)
    tokens = np.stack([PRODUCTS[:5] / 64.0, np.arange(5.0) - 2.0], axis=-1)
    left, right, second = np.diag([64.0, 0.0]), np.diag([1.0, 0.0]), np.diag([0.0, 1.0])
    querying = np.array([[1.0, 0.0], [-1.0, 2.0], [0.5, 1.0]])
    weights: dict[str, Any] = {"w_query": left, "w_key": right, "w_value": second}
    return (
        context(f"far_scale_{name}", f"scores far apart and the scale {title}")(
            7,
            2,
            clause="context_vector.scale.explicit",
            profile=PROFILE,
            replaced={"encoder_states": states, "decoder_state": np.array([64.0, 0.0])},
            scale=scale,
        ),
        single_head(f"far_scale_{name}", f"scores far apart and the scale {title}")(
            5, (2, 2, 2, None), profile=PROFILE, replaced={"x": tokens, **weights}, scale=scale
        ),
        multi_head(f"far_scale_{name}", f"scores far apart and the scale {title}")(
            (1, 3, 5),
            width=2,
            num_heads=1,
            profile=PROFILE,
            replaced={
                "query": querying[np.newaxis],
                **dict.fromkeys(("key", "value"), tokens[np.newaxis]),
                **weights,
                "w_output": np.eye(2),
            },
            scale=scale,
        ),
    )


def of_attention() -> tuple[AuthoredCase, ...]:
    """Make attention of a negative scale beside every feature, and of more keys than a tile holds."""
    features: dict[str, tuple[str, dict[str, Any]]] = {
        "plain": ("nothing else", {}),
        "causal": ("causality", {"is_causal": True, "causal_alignment": BOTTOM_RIGHT}),
        "window": ("a window", {"window": [1, 1], "causal_alignment": BOTTOM_RIGHT}),
        "boolean_mask": ("a Boolean mask", {"mask": (np.arange(7) % 3 != 1)[np.newaxis]}),
        "float_mask": ("a float mask", {"mask": np.array([[0.0, 1.0, -1.0, 0.5, 2.0, 0.0, 1.5]])}),
        "key_lengths": ("lengths", {"key_lengths": [5]}),
        "alibi": ("distances", {"alibi_slopes": [0.5, 0.25], "causal_alignment": BOTTOM_RIGHT}),
        "sinks": ("sinks", {"sinks": [1536.0, -1536.0]}),
        "softcap": ("a softcap", {"softcap": 128.0}),
    }
    far: dict[str, Any] = {"query": query_of(1.0, -1.0, 0.5), "key": row(PRODUCTS)}
    return (
        *(
            attention(f"stress/far_scale_{name}", f"A negative scale and products far apart, beside {title}")(
                shared(7), clauses="softmax.stability", scale=-1.0, **far, **arguments
            )
            for name, (title, arguments) in features.items()
        ),
        attention("stress/far_scale_67_keys", "A negative scale and products that rise from tile to tile")(
            shared(67),
            clauses="softmax.stability",
            query=query_of(1.0, -1.0, 0.5),
            key=row((np.arange(67.0) - 33.0) * 32.0),
            value=row(np.round(grid("stress/far_scale_67_keys/value", (67,)))),
            scale=-1.0,
        ),
    )


HEIGHTS = {"minus_120": -120.0, "plus_120": 120.0, "minus_800": -800.0, "minus_1500": -1500.0, "plus_1500": 1500.0}
"""Beyond where exponentials of float32, and of float64, vanish or overflow."""
BESIDE = np.array(
    [[0.0, 1.0, -2.0, -1.0, 0.5, -3.0], [-1.0, 2.0, 0.0, -2.0, 1.0, 0.0], [3.0, 0.0, 1.0, -1.0, 0.0, 2.0]]
)


def far_sinks_cases() -> Iterator[AuthoredCase]:
    """Return rows of each height, with sinks of the same height, of none, and of the opposite one."""
    for name, height in HEIGHTS.items():
        dtypes = EVERY_DTYPE if abs(height) < 500.0 else SINGLE_AND_DOUBLE
        for where, of_sinks in (("near", height), ("opposite", -height)):
            yield attention(
                f"stress/sinks_{where}_scores_around_{name}", f"Scores around {height:g}, and sinks around {of_sinks:g}"
            )(
                SMALL,
                clauses="softmax.stability sinks.denominator",
                dtypes=dtypes,
                outputs=STEPS,
                sinks=[of_sinks + 1.0, of_sinks - 2.0],
                **with_scores((height + BESIDE).tolist()),
            )


LOWEST = -65504.0
"""The most negative number of float16."""


def lowest_logits_cases() -> tuple[AuthoredCase, ...]:
    """Exclude keys by each feature that can."""
    ways: Mapping[str, dict[str, Any]] = {
        "boolean_mask": {"mask": np.array([True, False, True, False, True])[np.newaxis]},
        "float_mask": {"mask": np.array([0.0, -np.inf, 0.0, -np.inf, 0.0])[np.newaxis]},
        "causal": {"is_causal": True, "causal_alignment": TOP_LEFT},
        "window": {"window": [1, 0], "causal_alignment": TOP_LEFT},
        "key_lengths": {"key_lengths": [2]},
    }
    return tuple(
        attention(
            f"stress/lowest_logits_of_float16_{way}",
            f"Every score is {LOWEST:g}, and some keys are excluded: {way.replace('_', ' ')}",
        )(
            shared(5),
            clauses="softmax.stability",
            dtypes=("float64", "float32", "float16"),
            query=query_of(-1.0, -1.0, -1.0),
            key=row(np.full(5, -LOWEST)),
            value=row(np.array([1.0, -64.0, 2.0, 96.0, 5.0])),
            scale=1.0,
            **arguments,
        )
        for way, arguments in ways.items()
    )


SIZES = Sizes(1, 2, 1, 3, 5, 1)
AFTER_A_PAST = Sizes(1, 2, 1, 3, 3, 1, past=2)
LOWEST_OF_DTYPES = {
    "float32": -(2.0 - 2.0**-22) * 2.0**126,
    "float16": -(2.0 - 2.0**-10) * 2.0**14,
    "bfloat16": -(2.0 - 2.0**-6) * 2.0**126,
}
"""Half of the most negative number of a dtype, or a little less: those who fold the logarithm of 2 into the exponent
multiply logits by 1.44, for which the clause leaves room."""
OFFERED = {
    "float32": ("float64", "float32"),
    "float16": ("float64", "float32", "float16"),
    "bfloat16": ("float64", "float32", "bfloat16"),
}
"""A dtype to those that hold its lowest number. That of float64 is left out: who carries float64 in float32, as the
convention `accumulation` allows, has no such number."""
VALUES = np.array([3.0, -64.0, 5.0, 96.0, -32.0])


def one_key_each(lowest: float) -> NDArray[np.float64]:
    """Leave the first two queries one key each, at the lowest number, and the third every key, one of them as it is."""
    mask = np.full((3, 5), HIDDEN)
    mask[0, 0] = mask[1, 2] = lowest
    mask[2] = [lowest, lowest, 0.0, lowest, lowest]
    return mask


def still(sizes: Sizes) -> dict[str, Any]:
    """Return keys that score alike, with values that distinguish them."""
    made: dict[str, Any] = {name: np.zeros(shape) for name, shape in sizes.shapes().items()}
    values = VALUES.reshape(1, 1, 5, 1)
    made["value"] = values[:, :, sizes.past :]
    if sizes.past:
        made["past_value"] = values[:, :, : sizes.past]
    return made


def from_the_second_on(lowest: float) -> NDArray[np.float64]:
    """Hold the lowest number everywhere but at the own positions of the second query and the third."""
    mask = np.full((3, 5), lowest)
    mask[1, 1] = mask[2, 2] = 0.0
    return mask


def of_one_dtype(dtype: str) -> tuple[AuthoredCase, ...]:
    """Exclude the other keys by each feature that can, and set others beside; half precision has some of them."""
    lowest = LOWEST_OF_DTYPES[dtype]
    rows, everywhere = one_key_each(lowest), np.full((3, 5), lowest)
    placed: dict[str, Any] = {"causal_alignment": TOP_LEFT}
    features: tuple[tuple[str, str, Sizes, NDArray[np.float64], dict[str, Any]], ...] = (
        ("weights", "minus infinity at the others", SIZES, rows, {"outputs": ("output", "weights")}),
        ("past", "minus infinity at the others, a past", AFTER_A_PAST, rows, {}),
        ("softcap", "minus infinity at the others, a softcap", SIZES, rows, {"softcap": 2.0}),
        ("alibi", "minus infinity at the others, distances", SIZES, rows, {"alibi_slopes": [0.5, 0.25], **placed}),
        ("causal", "causality", SIZES, from_the_second_on(lowest), {"is_causal": True, **placed}),
        ("window", "a window of the own position", SIZES, everywhere, {"window": [0, 0], **placed}),
        ("key_lengths", "a length of one key", SIZES, everywhere[:1], {"key_lengths": [1]}),
    )
    of_attention = (
        attention(
            f"stress/lowest_mask_{name}_{dtype}",
            f"A number as low as {dtype} holds at the only key that is left: {how}",
        )(
            sizes,
            clauses="mask.additive softmax.stability",
            dtypes=OFFERED[dtype],
            mask=mask,
            **(still(sizes) | arguments),
        )
        for name, how, sizes, mask, arguments in features
        if dtype == "float32" or name in ("weights", "causal", "key_lengths")
    )
    nothing, same = np.zeros((1, 1)), np.eye(1)
    values = VALUES.reshape(1, 5, 1)
    return (
        *of_attention,
        multi_head(f"lowest_mask_{dtype}", f"a number as low as {dtype} holds at the only key that is left")(
            (1, 3, 5),
            width=1,
            num_heads=1,
            profile="stress",
            mask=rows,
            replaced={
                "key": values,
                "value": values,
                "w_query": nothing,
                "w_key": nothing,
                "w_value": same,
                "w_output": same,
            },
            dtypes=OFFERED[dtype],
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        # Return the cases of scales far from one.
        *(case for scale in SCALES for case in of_steps(*scale)),
        *of_attention(),
        *far_sinks_cases(),
        *lowest_logits_cases(),
        # Return the masks of every dtype.
        *(case for dtype in OFFERED for case in of_one_dtype(dtype)),
    )

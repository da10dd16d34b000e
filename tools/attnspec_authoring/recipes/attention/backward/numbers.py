"""Numbers of many digits, of many sizes, and sums of many of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import TOP, Sizes
from attnspec_authoring.recipes.attention.backward.gradients import GROUPED, PLAIN, STEPS, STORED, drawn, gradients
from attnspec_authoring.recipes.authoring import SINGLE_AND_DOUBLE, AuthoredCase, table

_STABLE = ("softmax.stability",)


def scaled(name: str, sizes: Sizes, **factors: float) -> dict[str, Any]:
    """Draw tensors and multiply some by a power of two."""
    tensors = drawn(f"backward/{name}", sizes)
    return {tensor: factors.get(tensor, 1.0) * array for tensor, array in tensors.items()}


def peaked_cases() -> tuple[AuthoredCase, ...]:
    """Weights near one and near zero, and logits that overflow where no maximum is subtracted."""
    case = table(gradients, clauses=_STABLE)
    peaked = ("peaked", "Weights near one", PLAIN, scaled("peaked", PLAIN, query=8.0))
    one_hot = ("one_hot", "One key takes everything", PLAIN, scaled("one_hot", PLAIN, query=64.0))
    large = (
        "scores_beyond_an_exponential",
        "Scores of hundreds, of either sign",
        PLAIN,
        scaled("beyond", PLAIN, query=64.0, key=4.0),
    )
    return (
        *(case(name, title)(sizes, **tensors) for name, title, sizes, tensors in (peaked, one_hot, large)),
        case("logits_far_above", "All logits lie far above zero")(
            PLAIN, outputs=STEPS, mask=np.full((1, 5), 4096.0), dtypes=SINGLE_AND_DOUBLE
        ),
        case("logits_far_below", "All logits lie far below zero")(
            PLAIN, outputs=STEPS, mask=np.full((1, 5), -4096.0), dtypes=SINGLE_AND_DOUBLE
        ),
        case("logits_below_float16", "All logits lie below what an exponential in half precision can tell from zero")(
            PLAIN, mask=np.full((1, 5), -64.0)
        ),
        case("rising_rows", "The greatest logit comes last, seventeen above the one before")(
            Sizes(1, 1, 1, 2, 17, 1, 1), mask=np.arange(17.0).reshape(1, 17) * 17.0 - 160.0
        ),
    )


def tied_cases() -> tuple[AuthoredCase, ...]:
    """Equal scores, and gradients that cancel."""
    case = table(gradients, sizes=PLAIN)
    zeros = np.zeros((1, 2, 4, 2))
    apart = drawn("backward/cancelling", PLAIN)
    value = apart["value"]
    return (
        case("ties", "All scores are equal")(outputs=STEPS, query=zeros),
        case("ties_stored", "All scores are equal, and output and logsumexp are given")(derived=STORED, query=zeros),
        case("equal_keys", "All keys are equal")(key=np.broadcast_to(np.array([0.5, -1.0]), (1, 2, 5, 2)).copy()),
        case("equal_values", "All values are equal: delta takes everything away")(
            outputs=STEPS, value=np.broadcast_to(np.array([1.5, -0.25]), (1, 2, 5, 2)).copy()
        ),
        case(
            "values_far_from_zero",
            "Values that differ by little and lie far from zero: gradients of weights less delta",
        )(value=64.0 + np.sign(value) * 0.5),
        gradients("heads_that_cancel", "What two heads give to a shared key has opposite signs")(
            Sizes(1, 2, 1, 4, 5, 3, 2),
            query=np.repeat(drawn("backward/heads_that_cancel", Sizes(1, 1, 1, 4, 5, 3, 2))["query"], 2, axis=1),
            grad_output=drawn("backward/heads_that_cancel", Sizes(1, 1, 1, 4, 5, 3, 2))["grad_output"]
            * np.array([1.0, -1.0]).reshape(1, 2, 1, 1),
            clauses="heads.grouped",
        ),
    )


def magnitude_cases() -> tuple[AuthoredCase, ...]:
    """Gradients and values that are large or small."""
    rows: tuple[tuple[str, str, Sizes, dict[str, float]], ...] = (
        ("large_gradients", "Large gradients of the output", PLAIN, {"grad_output": 256.0}),
        ("small_gradients", "Small gradients of the output", PLAIN, {"grad_output": 2.0**-9}),
        ("large_values", "Large values", GROUPED, {"value": 64.0}),
        ("small_keys", "Small keys: almost equal weights", PLAIN, {"key": 2.0**-7}),
        ("small_queries", "Small queries", PLAIN, {"query": 2.0**-7}),
    )
    return tuple(
        gradients(name, title)(sizes, clauses="precision.accumulation", **scaled(name, sizes, **factors))
        for name, title, sizes, factors in rows
    )


def half_cases() -> tuple[AuthoredCase, ...]:
    """Sum many, in sums that stop growing in half precision."""
    tokens = 260
    # What is added is less than half of the distance between neighbours of the first one in half precision.
    large_first = np.where(np.arange(tokens) == 0, 256.0, 7 / 64).reshape(1, 1, tokens, 1)
    of_two_keys: dict[str, Any] = {"key": np.zeros((1, 1, 2, 1)), "value": np.array([1.0, -1.0]).reshape(1, 1, 2, 1)}
    return (
        gradients("sum_behind_a_large_gradient", "The gradient of a value sums one large number and many small ones")(
            Sizes(1, 1, 1, tokens, 1, 1, 1),
            clauses="precision.accumulation precision.dtype grad_value",
            query=np.zeros((1, 1, tokens, 1)),
            grad_output=large_first,
        ),
        gradients("sum_behind_a_large_query", "The gradient of a key sums one large number and many small ones")(
            Sizes(1, 1, 1, tokens, 2, 1, 1),
            clauses="precision.accumulation precision.dtype grad_key",
            query=large_first,
            grad_output=np.ones((1, 1, tokens, 1)),
            **of_two_keys,
        ),
        gradients("products_beyond_float16", "Products of queries and keys lie beyond half precision, scores do not")(
            PLAIN,
            clauses="precision.accumulation",
            scale=2.0**-10,
            **scaled("products_beyond_float16", PLAIN, query=128.0, key=128.0),
        ),
    )


_WIDE = ("precision.accumulation",)
TOKENS = (100, 130)
"""So many small numbers that what half precision loses of them is more than its tolerance."""


def far_cases() -> tuple[AuthoredCase, ...]:
    """Logits that lie too far apart for an exponential, by what comes before and after the largest is found."""
    case = table(gradients, clauses=_STABLE)
    features: dict[str, tuple[str, dict[str, Any]]] = {
        "scale_negative": ("a scale below 0", {"scale": -1.0}),
        "scale_negative_stored": ("a scale below 0, and output and logsumexp are given", {"scale": -1.0}),
        "scale_negative_biased": (
            "a scale below 0, sinks and a float mask",
            {"scale": -1.0, "sinks": [4.0, -4.0], "mask": np.zeros((1, 5))},
        ),
        "softcap": ("a softcap that brings them near", {"softcap": 4.0}),
        "small_softcap": ("a softcap thousands of times smaller", {"softcap": 0.125}),
    }
    return (
        *(
            case(f"far_{name}", f"Dot products of thousands, of either sign, and {title}")(
                PLAIN,
                derived=STORED if name.endswith("stored") else (),
                **feature,
                **scaled(f"far_{name}", PLAIN, query=64.0, key=16.0),
            )
            for name, (title, feature) in features.items()
        ),
        case("far_alibi", "Queries far behind all keys, whose biases lie far from zero on either side")(
            Sizes(1, 2, 2, 24, 3, 1, 1), alibi_slopes=[48.0, -48.0], **TOP
        ),
        case("far_mask", "A float mask sinks the greatest scores below the others")(
            PLAIN, mask=np.array([[-1536.0, 0.0, -1536.0, -1024.0, 0.0]]), **scaled("far_mask", PLAIN, query=64.0)
        ),
    )


def size_cases() -> tuple[AuthoredCase, ...]:
    """Products and sums beyond half precision whose gradients are not, and gradients near the ends of float32."""
    sizes = Sizes(1, 1, 1, 3, 4, 1, 2)
    signs = np.array([1.0, -1.0, -0.5, 0.5]).reshape(1, 1, 4, 1)
    large: dict[str, Any] = {
        "grad_output": np.array([512.0, -384.0, 448.0]).reshape(1, 1, 3, 1) * np.ones((1, 1, 3, 2)),
        "value": 160.0 * signs * np.ones((1, 1, 4, 2)),
    }
    small: dict[str, Any] = scaled("weights_beyond_float16", sizes, query=2.0**-6, key=2.0**-6)
    small |= large
    about_128 = 128.0 + np.array([0.0, 8.0, -8.0, 4.0]).reshape(1, 1, 4, 1) * np.ones((1, 1, 4, 2))
    around: dict[str, Any] = {**small, "value": about_128}
    in_turn = np.where(np.arange(24) % 2 == 0, 1.0, -1.0).reshape(1, 1, 24, 1)
    return (
        gradients("weights_beyond_float16", "Gradients of weights lie beyond half precision, all others do not")(
            sizes, clauses=(*_WIDE, "grad_weights"), **small
        ),
        gradients("delta_beyond_float16", "Gradients of weights lie far beyond half precision, and all about delta")(
            sizes, clauses=(*_WIDE, "delta"), dtypes=("float64", "float32", "float16"), **around
        ),
        gradients("sums_beyond_float16", "Sums over queries and keys lie beyond half precision until they are scaled")(
            Sizes(1, 1, 1, 24, 24, 1, 1),
            clauses=(*_WIDE, "grad_query", "grad_key"),
            scale=2.0**-12,
            query=64.0 * in_turn,
            key=64.0 * in_turn,
            grad_output=256.0 * in_turn,
            value=128.0 * in_turn,
        ),
        gradients(
            "sums_beyond_float16_of_30", "Sums over thirty queries lie beyond half precision until they are scaled"
        )(
            Sizes(1, 1, 1, 30, 24, 1, 1),
            clauses=(*_WIDE, "grad_key"),
            scale=2.0**-12,
            query=64.0 * np.where(np.arange(30) % 2 == 0, 1.0, -1.0).reshape(1, 1, 30, 1),
            key=64.0 * in_turn,
            grad_output=256.0 * np.where(np.arange(30) % 2 == 0, 1.0, -1.0).reshape(1, 1, 30, 1),
            value=128.0 * in_turn,
        ),
        *(
            gradients(name, title)(
                PLAIN, clauses=_WIDE, dtypes=SINGLE_AND_DOUBLE, **scaled(name, PLAIN, grad_output=2.0**exponent)
            )
            for name, title, exponent in (
                ("huge_gradients", "Gradients of the output near the largest numbers of float32", 96),
                ("tiny_gradients", "Gradients of the output near the smallest numbers of float32", -96),
            )
        ),
    )


def _sums_of(tokens: int, suffix: str) -> tuple[AuthoredCase, ...]:
    # What is added is less than half of the distance between neighbours of the first one in half precision.
    first = np.where(np.arange(tokens) == 0, 256.0, 7 / 64).reshape(1, 1, tokens, 1)
    keys = np.arange(tokens).reshape(1, 1, tokens, 1)
    return (
        gradients(
            f"sum_of_keys_behind_a_large_one{suffix}",
            f"The gradient of a query sums one large key and {tokens - 1} small ones",
        )(
            Sizes(1, 1, 1, 1, tokens, 1, 1),
            clauses=(*_WIDE, "grad_query"),
            query=np.zeros((1, 1, 1, 1)),
            key=np.where(keys % 3 == 2, 0.0, first),
            value=np.where(keys % 3 == 2, -64.0, 32.0),
            # With it, the gradients of the scores are a little more than 1.
            grad_output=np.full((1, 1, 1, 1), 3.25),
        ),
        gradients(
            f"sum_of_sinks_behind_a_large_one{suffix}",
            f"The gradients of a sink and of the row of a mask sum one large number and {tokens - 1} small ones",
        )(
            Sizes(1, 1, 1, tokens, 2, 1, 1),
            clauses=(*_WIDE, "grad_sinks", "grad_mask.broadcast"),
            query=np.zeros((1, 1, tokens, 1)),
            sinks=[0.0],
            mask=np.zeros((1, 2)),
            value=np.array([2.0, 1.0]).reshape(1, 1, 2, 1),
            grad_output=first,
        ),
        gradients(
            f"softmax_behind_a_large_weight{suffix}", f"The softmax sums one large weight and {tokens - 1} small ones"
        )(
            Sizes(1, 1, 1, 1, tokens, 1, 1),
            clauses=(*_WIDE, "grad_value"),
            query=np.ones((1, 1, 1, 1)),
            key=np.where(keys == 0, 0.0, -7.75),
            scale=1.0,
            value=np.where(keys == 0, 1.0, 2.0),
            grad_output=np.full((1, 1, 1, 1), 4.0),
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        *peaked_cases(),
        *tied_cases(),
        *magnitude_cases(),
        *half_cases(),
        *far_cases(),
        *size_cases(),
        # Sum many in the gradients of queries, masks and sinks and in the softmax: half precision stops growing.
        *(case for tokens in TOKENS for case in _sums_of(tokens, "" if tokens == TOKENS[0] else f"_{tokens}")),
    )

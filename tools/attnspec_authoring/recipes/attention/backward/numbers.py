"""Peaked, tied, cancelling, large and small numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes
from attnspec_authoring.recipes.attention.backward.gradients import GROUPED, PLAIN, STEPS, STORED, drawn, gradients
from attnspec_authoring.recipes.authoring import SINGLE_AND_DOUBLE

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

_STABLE = ("softmax.stability",)


def scaled(name: str, sizes: Sizes, **factors: float) -> dict[str, Any]:
    """Draw tensors and multiply some by a power of two."""
    tensors = drawn(f"backward/{name}", sizes)
    return {tensor: factors.get(tensor, 1.0) * array for tensor, array in tensors.items()}


def peaked_cases() -> tuple[AuthoredCase, ...]:
    """Weights near one and near zero, and logits that overflow where no maximum is subtracted."""
    peaked = ("peaked", "Weights near one", PLAIN, scaled("peaked", PLAIN, query=8.0))
    one_hot = ("one_hot", "One key takes everything", PLAIN, scaled("one_hot", PLAIN, query=64.0))
    large = (
        "scores_beyond_an_exponential",
        "Scores of hundreds, of either sign",
        PLAIN,
        scaled("beyond", PLAIN, query=64.0, key=4.0),
    )
    return (
        *(
            gradients(name, title)(sizes, clauses=_STABLE, **tensors)
            for name, title, sizes, tensors in (peaked, one_hot, large)
        ),
        gradients("logits_far_above", "All logits lie far above zero")(
            PLAIN, clauses=_STABLE, outputs=STEPS, mask=np.full((1, 5), 4096.0), dtypes=SINGLE_AND_DOUBLE
        ),
        gradients("logits_far_below", "All logits lie far below zero")(
            PLAIN, clauses=_STABLE, outputs=STEPS, mask=np.full((1, 5), -4096.0), dtypes=SINGLE_AND_DOUBLE
        ),
        gradients(
            "logits_below_float16", "All logits lie below what an exponential in half precision can tell from zero"
        )(PLAIN, clauses=_STABLE, mask=np.full((1, 5), -64.0)),
        gradients("rising_rows", "The greatest logit comes last, seventeen above the one before")(
            Sizes(1, 1, 1, 2, 17, 1, 1), clauses=_STABLE, mask=np.arange(17.0).reshape(1, 17) * 17.0 - 160.0
        ),
    )


def tied_cases() -> tuple[AuthoredCase, ...]:
    """Equal scores, and gradients that cancel."""
    zeros = np.zeros((1, 2, 4, 2))
    apart = drawn("backward/cancelling", PLAIN)
    value = apart["value"]
    return (
        gradients("ties", "All scores are equal")(PLAIN, outputs=STEPS, query=zeros),
        gradients("ties_stored", "All scores are equal, and output and logsumexp are given")(
            PLAIN, derived=STORED, query=zeros
        ),
        gradients("equal_keys", "All keys are equal")(
            PLAIN, key=np.broadcast_to(np.array([0.5, -1.0]), (1, 2, 5, 2)).copy()
        ),
        gradients("equal_values", "All values are equal: delta takes everything away")(
            PLAIN, outputs=STEPS, value=np.broadcast_to(np.array([1.5, -0.25]), (1, 2, 5, 2)).copy()
        ),
        gradients(
            "values_far_from_zero",
            "Values that differ by little and lie far from zero: gradients of weights less delta",
        )(PLAIN, value=64.0 + np.sign(value) * 0.5),
        gradients("heads_that_cancel", "What two heads give to a shared key has opposite signs")(
            Sizes(1, 2, 1, 4, 5, 3, 2),
            query=np.repeat(drawn("backward/heads_that_cancel", Sizes(1, 1, 1, 4, 5, 3, 2))["query"], 2, axis=1),
            grad_output=drawn("backward/heads_that_cancel", Sizes(1, 1, 1, 4, 5, 3, 2))["grad_output"]
            * np.array([1.0, -1.0]).reshape(1, 2, 1, 1),
            clauses=("heads.grouped",),
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
        gradients(name, title)(sizes, clauses=("precision.accumulation",), **scaled(name, sizes, **factors))
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
            clauses=("precision.accumulation", "precision.dtype", "grad_value"),
            query=np.zeros((1, 1, tokens, 1)),
            grad_output=large_first,
        ),
        gradients("sum_behind_a_large_query", "The gradient of a key sums one large number and many small ones")(
            Sizes(1, 1, 1, tokens, 2, 1, 1),
            clauses=("precision.accumulation", "precision.dtype", "grad_key"),
            query=large_first,
            grad_output=np.ones((1, 1, tokens, 1)),
            **of_two_keys,
        ),
        gradients("products_beyond_float16", "Products of queries and keys lie beyond half precision, scores do not")(
            PLAIN,
            clauses=("precision.accumulation",),
            scale=2.0**-10,
            **scaled("products_beyond_float16", PLAIN, query=128.0, key=128.0),
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of particular numbers."""
    return (*peaked_cases(), *tied_cases(), *magnitude_cases(), *half_cases())

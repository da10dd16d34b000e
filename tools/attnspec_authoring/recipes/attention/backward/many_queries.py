"""More queries than are worked on at a time: what is counted from the first query of a chunk shows in the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, TOP_LEFT, Sizes, boolean_mask, float_mask
from attnspec_authoring.recipes.attention.backward.gradients import STORED, gradients

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

COUNTS = (37, 69, 133)
"""Queries: one chunk of 32, 64 or 128 and some of the next."""


def many_queries(queries: int) -> tuple[AuthoredCase, ...]:
    """Make a case with so many queries for everything that has a place for each of them."""
    name = f"backward/queries_{queries}"
    few = Sizes(1, 1, 1, queries, 4, 1, 1)
    after = queries - 3
    features: tuple[tuple[str, str, Sizes, dict[str, Any]], ...] = (
        ("alibi", "biases by distance", few, {"alibi_slopes": [0.03125], "causal_alignment": TOP_LEFT}),
        (
            "alibi_bottom_right",
            "biases by distance, bottom-right",
            few,
            {"alibi_slopes": [0.03125], "causal_alignment": BOTTOM_RIGHT},
        ),
        ("causal", "causality, bottom-right", few, {"is_causal": True, "causal_alignment": BOTTOM_RIGHT}),
        ("window", "a window", few, {"window": [after, 0], "causal_alignment": TOP_LEFT}),
        (
            "window_bottom_right",
            "a window, bottom-right",
            few,
            {"window": [1, after], "causal_alignment": BOTTOM_RIGHT},
        ),
        ("boolean", "a Boolean mask", few, {"mask": boolean_mask(f"{name}_boolean", (queries, 4))}),
        ("float", "a float mask", few, {"mask": float_mask(f"{name}_float", (queries, 4), hides=False)}),
        ("lengths", "a query length", few, {"query_lengths": [after]}),
        ("stored", "a gradient of the logsumexp, output and logsumexp given", few, {"derived": STORED}),
        ("sinks", "a sink", few, {"sinks": [0.5]}),
    )
    return tuple(
        gradients(f"queries_{queries}_{feature}", f"{queries} queries: {what}")(
            sizes, with_grad_logsumexp=feature in ("stored", "alibi"), **arguments
        )
        for feature, what, sizes, arguments in features
    )


def groups() -> tuple[AuthoredCase, ...]:
    """Many queries beside as many keys, in several batch entries, and in heads that share a key head."""
    sizes = Sizes(2, 2, 1, 37, 3, 1, 1)
    return (
        gradients("queries_37_square", "37 queries and as many keys: a window and biases by distance")(
            Sizes(1, 1, 1, 37, 37, 1, 1), window=[2, 0], alibi_slopes=[0.125]
        ),
        gradients(
            "queries_37_lengths_of_entries", "37 queries: lengths of two batch entries, and causality, bottom-right"
        )(sizes, is_causal=True, causal_alignment=BOTTOM_RIGHT, key_lengths=[3, 2], query_lengths=[36, 5]),
        gradients(
            "queries_37_alibi_of_heads", "37 queries: biases by distance of two heads, and a mask that all heads share"
        )(
            sizes,
            alibi_slopes=[0.0625, 0.015625],
            causal_alignment=TOP_LEFT,
            mask=np.arange(37 * 3).reshape(37, 3) % 5 != 2,
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases with many queries."""
    return (*(case for queries in COUNTS for case in many_queries(queries)), *groups())

"""Layers at the ends of what they may be: one token, one query, matrices of zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnspec_authoring.recipes.attention.attention import boolean_mask, float_mask
from attnspec_authoring.recipes.attention.layout.projections import multi_head, single_head
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

WITH_WEIGHTS = ("output", "weights")


def single_head_cases() -> tuple[AuthoredCase, ...]:
    """Hold output matrices that do nothing, and such as overflow half precision once they meet that of the values."""
    large = "layout/single_head_large_matrices_small_tokens"
    return (
        single_head("one_token_output", "one token, with an output matrix that widens", 1, (5, 3, 2, 4)),
        single_head("one_token_output_square", "one token and an output matrix, all widths equal", 1, (3, 3, 3, 3)),
        single_head(
            "output_of_zeros",
            "an output matrix of zeros: there is one, and nothing comes out",
            4,
            (5, 3, 2, 2),
            replaced={"w_output": np.zeros((2, 2))},
        ),
        single_head(
            "output_of_zeros_square",
            "an output matrix of zeros, all widths equal",
            3,
            (4, 4, 4, 4),
            replaced={"w_output": np.zeros((4, 4))},
        ),
        single_head("values_of_zeros", "values of zeros", 4, (5, 3, 2, 2), replaced={"w_value": np.zeros((5, 2))}),
        single_head(
            "large_matrices_small_tokens",
            "matrices of values and output whose product float16 does not hold; values and output it does",
            4,
            (4, 3, 3, 2),
            replaced={
                "x": grid(f"{large}/x", (4, 4)) * 2.0**-8,
                "w_value": (np.abs(grid(f"{large}/w_value", (4, 3))) + 1) * 2.0**8,
                "w_output": (np.abs(grid(f"{large}/w_output", (3, 2))) + 1) * 2.0**9,
            },
        ),
    )


def multi_head_cases() -> tuple[AuthoredCase, ...]:
    """Hold shapes in which one axis could be taken for another, and a single query."""
    made: list[AuthoredCase] = []
    for kind, mask_of in (("boolean", boolean_mask), ("float", float_mask)):
        name = f"as_many_entries_as_queries_{kind}"
        made.append(
            multi_head(
                name,
                f"as many batch entries as queries, and a {kind} mask of shape (4, 5), which is of queries",
                (4, 4, 5),
                mask=mask_of(f"layout/multi_head_{name}", (4, 5)),
                outputs=WITH_WEIGHTS,
            )
        )
    return (
        *made,
        multi_head("causal_one_query", "causal with one query: the first key alone", (2, 1, 5), is_causal=True),
        multi_head(
            "causal_one_query_of_several_entries",
            "causal with one query, biases and weights",
            (3, 1, 4),
            is_causal=True,
            biases=("b_value",),
            outputs=WITH_WEIGHTS,
        ),
        multi_head(
            "causal_fewer_queries",
            "causal with two queries and five keys",
            (1, 2, 5),
            is_causal=True,
            outputs=WITH_WEIGHTS,
        ),
        multi_head(
            "output_of_zeros",
            "an output matrix of zeros and a bias",
            biases=("b_output",),
            replaced={"w_output": np.zeros((6, 6))},
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (*single_head_cases(), *multi_head_cases())

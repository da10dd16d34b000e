"""Layers at the ends of what they may be: one token, one query, one key, matrices of zeros, masks of one number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.contract import OPERATIONS
from attnspec.dtypes import rounded_to
from attnspec_authoring.recipes.attention.attention import boolean_mask, float_mask
from attnspec_authoring.recipes.attention.layout.projections import multi_head, single_head
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from attnspec_authoring.recipes.authoring import AuthoredCase

WITH_WEIGHTS = ("output", "weights")
STEPS_OF_ONE = OPERATIONS["single_head_attention"].outputs
STEPS = OPERATIONS["multi_head_attention"].outputs
MATRICES = ("w_query", "w_key", "w_value")
BIASES = ("b_query", "b_key", "b_value", "b_output")


def single_head_cases() -> tuple[AuthoredCase, ...]:
    """Hold output matrices that do nothing, and such as overflow half precision once they meet that of the values."""
    large = "layout/single_head_large_matrices_small_tokens"
    return (
        single_head("one_token_output", "one token, with an output matrix that widens")(1, (5, 3, 2, 4)),
        single_head("one_token_output_square", "one token and an output matrix, all widths equal")(1, (3, 3, 3, 3)),
        single_head("output_of_zeros", "an output matrix of zeros: there is one, and nothing comes out")(
            4, (5, 3, 2, 2), replaced={"w_output": np.zeros((2, 2))}
        ),
        single_head("output_of_zeros_square", "an output matrix of zeros, all widths equal")(
            3, (4, 4, 4, 4), replaced={"w_output": np.zeros((4, 4))}
        ),
        *(
            single_head(f"steps_{name}", f"every step of {what}")(tokens, widths, outputs=STEPS_OF_ONE)
            for name, what, tokens, widths in (
                ("one_token", "one token", 1, (5, 3, 2, None)),
                ("one_token_output", "one token, with an output matrix", 1, (5, 3, 2, 4)),
                ("one_feature", "tokens of one feature", 4, (1, 1, 1, 1)),
                ("narrow_output", "an output narrower than the values", 4, (5, 3, 4, 2)),
                ("wide_output", "an output wider than the values", 3, (5, 2, 2, 6)),
                ("square_output", "an output as wide as the values", 4, (5, 2, 3, 3)),
                ("eighteen", "eighteen tokens", 18, (3, 2, 2, None)),
            )
        ),
        *(
            single_head(f"{name}_{kind}", f"a matrix {name} {what}")(4, (3, 3, 3, 3), replaced={name: matrix})
            for name in (*MATRICES, "w_output")
            for kind, what, matrix in (
                ("of_zeros", "of zeros", np.zeros((3, 3))),
                ("identity", "that leaves what it gets", np.eye(3)),
                ("of_one_number", "of one number", np.full((3, 3), 0.375)),
            )
        ),
        single_head("values_of_zeros", "values of zeros")(4, (5, 3, 2, 2), replaced={"w_value": np.zeros((5, 2))}),
        single_head(
            "large_matrices_small_tokens",
            "matrices of values and output whose product float16 does not hold; values and output it does",
        )(
            4,
            (4, 3, 3, 2),
            replaced={
                "x": grid(f"{large}/x", (4, 4)) * 2.0**-8,
                "w_value": (np.abs(grid(f"{large}/w_value", (4, 3))) + 1) * 2.0**8,
                "w_output": (np.abs(grid(f"{large}/w_output", (3, 2))) + 1) * 2.0**9,
            },
        ),
    )


def alike() -> Iterator[AuthoredCase]:
    """Give layers with a matrix or a bias of one number, and with a mask that excludes nothing, or looks like truth."""
    for name in (*MATRICES, "w_output"):
        for kind, what, matrix in (
            ("of_zeros", "of zeros", np.zeros((6, 6))),
            ("identity", "that leaves what it gets", np.eye(6)),
            ("of_one_number", "of one number", np.full((6, 6), 0.1875)),
        ):
            yield multi_head(f"{name}_{kind}", f"a matrix {name} {what}, and biases")(
                (2, 4, 5), biases=BIASES, replaced={name: matrix}, outputs=WITH_WEIGHTS
            )
    for name in BIASES:
        for kind, number in (("of_zeros", 0.0), ("of_one_number", 0.75)):
            yield multi_head(f"{name}_{kind}", f"a bias {name} {kind.replace('_', ' ')} beside others")(
                (2, 4, 5), biases=BIASES, replaced={name: np.full(6, number)}
            )
    truth = np.array([[0.0, 1.0, 1.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0, 1.0], [0.0] * 5, [1.0] * 5])
    masks: Mapping[str, Any] = {
        "boolean_that_leaves_all": np.ones((4, 5), np.bool_),
        "boolean_that_leaves_all_of_heads": np.ones((2, 3, 4, 5), np.bool_),
        "float_of_zeros": np.zeros((4, 5)),
        "float_of_zeros_and_ones": truth,
        "float_of_ones": np.ones((2, 1, 4, 5)),
    }
    for name, mask in masks.items():
        for is_causal in (False, True):
            yield multi_head(
                f"mask_{name}{'_causal' if is_causal else ''}",
                f"a mask {name.replace('_', ' ')}{', causal' if is_causal else ''}",
            )((2, 4, 5), mask=mask, outputs=WITH_WEIGHTS, is_causal=is_causal)


def many_keys() -> Iterator[AuthoredCase]:
    """Give layers of more keys than a tile has, whose scores rise from tile to tile."""
    for queries, keys, biases in ((3, 35, ()), (5, 67, BIASES), (1, 130, ())):
        name = f"layout/multi_head_rising_over_{keys}_keys"
        rising = grid(f"{name}/key", (1, keys, 4)) / 4.0 + (np.arange(keys) // 8 / 4.0)[:, np.newaxis]
        rising = rounded_to(rising, "bfloat16")
        yield multi_head(f"rising_over_{keys}_keys", f"{keys} keys whose scores rise, with the weights")(
            (1, queries, keys),
            width=4,
            num_heads=2,
            biases=biases,
            replaced={"key": rising, "w_key": np.eye(4), "w_query": np.abs(grid(f"{name}/w_query", (4, 4)))},
            outputs=WITH_WEIGHTS,
        )


def steps() -> Iterator[AuthoredCase]:
    """Give every step of layers at the ends of what they may be."""
    for name, lengths, width, heads in (
        ("one_query", (2, 1, 5), 6, 3),
        ("one_key", (2, 3, 1), 6, 3),
        ("one_head", (2, 3, 4), 5, 1),
        ("heads_of_one", (2, 3, 4), 5, 5),
    ):
        yield multi_head(f"steps_{name}", f"every step, {name.replace('_', ' ')}")(
            lengths, width=width, num_heads=heads, biases=BIASES, outputs=STEPS
        )


def one_key() -> Iterator[AuthoredCase]:
    """Give layers with a single key that some query may not attend."""
    for kind, mask in (
        ("boolean", np.array([[True], [False], [True]])),
        ("float", np.array([[0.5], [-np.inf], [0.0]])),
    ):
        yield multi_head(f"one_key_{kind}_mask", f"one key, which a {kind} mask takes from one query")(
            (2, 3, 1), mask=mask, outputs=WITH_WEIGHTS, conventions=("fully_masked_row",)
        )


def multi_head_cases() -> tuple[AuthoredCase, ...]:
    """Hold shapes in which one axis could be taken for another, and a single query."""
    made: list[AuthoredCase] = []
    for kind, mask_of in (("boolean", boolean_mask), ("float", float_mask)):
        name = f"as_many_entries_as_queries_{kind}"
        made.append(
            multi_head(
                name, f"as many batch entries as queries, and a {kind} mask of shape (4, 5), which is of queries"
            )((4, 4, 5), mask=mask_of(f"layout/multi_head_{name}", (4, 5)), outputs=WITH_WEIGHTS)
        )
    return (
        *made,
        multi_head("causal_one_query", "causal with one query: the first key alone")((2, 1, 5), is_causal=True),
        multi_head("causal_one_query_of_several_entries", "causal with one query, biases and weights")(
            (3, 1, 4), is_causal=True, biases=("b_value",), outputs=WITH_WEIGHTS
        ),
        multi_head("causal_fewer_queries", "causal with two queries and five keys")(
            (1, 2, 5), is_causal=True, outputs=WITH_WEIGHTS
        ),
        multi_head("output_of_zeros", "an output matrix of zeros and a bias")(
            biases=("b_output",), replaced={"w_output": np.zeros((6, 6))}
        ),
        *alike(),
        *one_key(),
        *many_keys(),
        *steps(),
    )


def masks_of_equal_lengths() -> Iterator[AuthoredCase]:
    """Give masks of four axes, some of length 1, where another axis is as long: none stands in the place of another."""
    for name, what, lengths, heads, shape in (
        ("entries_and_queries", "as many entries as queries", (3, 3, 5), 2, (3, 1, 1, 5)),
        ("entries_and_heads", "as many entries as heads", (3, 2, 5), 3, (3, 1, 1, 5)),
        ("heads_and_queries", "as many heads as queries", (2, 3, 5), 3, (1, 3, 1, 5)),
    ):
        for kind, mask_of in (("boolean", boolean_mask), ("float", float_mask)):
            case_name = f"mask_of_{name}_{kind}"
            yield multi_head(case_name, f"{what}, and a {kind} mask of shape {shape}")(
                lengths, num_heads=heads, mask=mask_of(f"layout/multi_head_{case_name}", shape), outputs=WITH_WEIGHTS
            )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (*single_head_cases(), *multi_head_cases(), *masks_of_equal_lengths())

"""Layers at the ends of what they may be: one token or none, matrices of zeros, fully masked rows.

Such a row is zero in each head, so that its values' bias is not added, and the output's bias alone is left.

Other profiles hold attention without queries, keys, heads or batch entries; here it has none of them beside other
features, and values without features. Softmax over no numbers is left out: there are no shares to give.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import rounded_to
from attnspec_authoring.recipes.attention.attention import HIDDEN, boolean_mask, float_mask
from attnspec_authoring.recipes.attention.layout.heads import layout
from attnspec_authoring.recipes.attention.layout.projections import BIASES, multi_head, single_head
from attnspec_authoring.recipes.attention.layout.softmax import AXIS, softmax
from attnspec_authoring.recipes.authoring import table
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

WITH_WEIGHTS = ("output", "weights")
STEPS_OF_ONE = OPERATIONS["single_head_attention"].outputs
STEPS = OPERATIONS["multi_head_attention"].outputs
MATRICES = ("w_query", "w_key", "w_value")
BOTH_KINDS_OF_BIASES = ("b_query", "b_key", "b_value", "b_output")


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
                (2, 4, 5), biases=BOTH_KINDS_OF_BIASES, replaced={name: matrix}, outputs=WITH_WEIGHTS
            )
    for name in BOTH_KINDS_OF_BIASES:
        for kind, number in (("of_zeros", 0.0), ("of_one_number", 0.75)):
            yield multi_head(f"{name}_{kind}", f"a bias {name} {kind.replace('_', ' ')} beside others")(
                (2, 4, 5), biases=BOTH_KINDS_OF_BIASES, replaced={name: np.full(6, number)}
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
    for queries, keys, biases in ((3, 35, ()), (5, 67, BOTH_KINDS_OF_BIASES), (1, 130, ())):
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
            lengths, width=width, num_heads=heads, biases=BOTH_KINDS_OF_BIASES, outputs=STEPS
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


def multi_head_cases() -> Iterator[AuthoredCase]:
    """Hold shapes in which one axis could be taken for another, and a single query."""
    for kind, mask_of in (("boolean", boolean_mask), ("float", float_mask)):
        name = f"as_many_entries_as_queries_{kind}"
        yield multi_head(
            name, f"as many batch entries as queries, and a {kind} mask of shape (4, 5), which is of queries"
        )((4, 4, 5), mask=mask_of(f"layout/multi_head_{name}", (4, 5)), outputs=WITH_WEIGHTS)
    yield from (
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
    """Give masks of four axes, some of length 1, where another axis is as long: none stands for another."""
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


LENGTHS = (2, 3, 5)
HEADS = 2
WIDTH = 4


def without_row(mask: NDArray[Any], *rows: tuple[int | slice, ...]) -> NDArray[Any]:
    """Exclude every key from some rows of a mask."""
    made = mask.copy()
    for row in rows:
        made[row] = False if mask.dtype == np.bool_ else HIDDEN
    return made


def masks() -> dict[str, tuple[str, NDArray[Any]]]:
    """Return masks that leave a row of all heads, or of one, without keys."""
    whole = (2, HEADS, 3, 5)

    def boolean(name: str, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        return boolean_mask(f"layout/fully_masked_{name}", shape)

    return {
        "boolean": ("one query, by a Boolean mask", without_row(boolean("boolean", (3, 5)), (1,))),
        "float": ("one query, by a float mask", without_row(float_mask("layout/fully_masked_float", (3, 5)), (2,))),
        "one_head": ("one query of one head", without_row(boolean("one_head", (HEADS, 3, 5)), (1, 0))),
        "one_entry": (
            "all queries of one batch entry",
            without_row(boolean("one_entry", (2, 1, 1, 5)), (1, slice(None), slice(None))),
        ),
        "several": (
            "queries of several heads and entries, by a float mask",
            without_row(float_mask("layout/fully_masked_several", whole), (0, 1, 2), (1, 0, 0), (1, 1, 0)),
        ),
    }


def fully_masked_cases() -> tuple[AuthoredCase, ...]:
    """Return the cases with fully masked rows, for each bias alone, for all and for none."""
    case = table(multi_head, width=WIDTH, num_heads=HEADS)
    given: dict[str, tuple[str, ...]] = {
        "no_bias": (),
        **{f"only_{bias}": (bias,) for bias in BIASES if bias != "b_key"},
        "all_biases": BIASES,
    }
    diagonal = np.triu(np.ones((3, 5), dtype=np.bool_))
    # The first query may attend to itself by position, and to later keys by the mask: to none.
    diagonal[0, 0] = False
    return (
        *(
            case(f"fully_masked_{kind}_{name}", f"{what} may attend to no key; {name.replace('_', ' ')}")(
                LENGTHS,
                biases=biases,
                mask=mask,
                outputs=("output", "weights") if name == "all_biases" else ("output",),
                conventions=("fully_masked_row",),
            )
            for kind, (what, mask) in masks().items()
            for name, biases in given.items()
        ),
        case("fully_masked_causal", "the first query may attend to no key, by causality and a mask, with biases")(
            LENGTHS,
            biases=BIASES,
            mask=diagonal,
            is_causal=True,
            outputs=("output", "weights"),
            conventions=("fully_masked_row",),
        ),
        case("fully_masked_only_query", "the only query of each batch entry may attend to no key, with biases")(
            (2, 1, 3),
            biases=BIASES,
            mask=np.zeros((1, 3), dtype=np.bool_),
            outputs=("output", "weights"),
            conventions=("fully_masked_row",),
        ),
    )


WITHOUT_KEYS: tuple[tuple[str, str, tuple[str, ...], dict[str, Any]], ...] = (
    ("plain", "no bias", (), {}),
    ("biases", "every bias", BIASES, {}),
    ("output_bias", "a bias of the output alone", ("b_output",), {}),
    ("causal", "causality beside biases", BIASES, {"is_causal": True}),
)
"""What layers without keys have beside: the rest of the name, of the title, biases and attributes."""


def of_projections() -> tuple[AuthoredCase, ...]:
    """Attend without queries and without batch entries, behind projections."""
    case = table(multi_head, num_heads=2)
    beside = tuple(
        case(f"{name}_{kind}", f"{what}, beside {kind.replace('_', ' ')}")(
            lengths, width=4, biases=BIASES, outputs=("output", "weights"), mask=mask
        )
        for name, what, lengths in (
            ("no_batch_entries", "no batch entry", (0, 3, 5)),
            ("no_queries", "no query", (1, 0, 5)),
        )
        for kind, mask in (
            ("boolean_mask_of_all", boolean_mask("layout/no_entries", (lengths[1], 5))),
            ("float_mask_of_entries", np.zeros((lengths[0], 1, lengths[1], 5))),
        )
    )
    return (
        *beside,
        *(
            case(f"no_keys_{name}", f"no key at all, and {what}")(
                (2, 3, 0), width=4, biases=biases, outputs=("output", "weights"), conventions=("no_keys",), **attributes
            )
            for name, what, biases, attributes in WITHOUT_KEYS
        ),
        case("no_queries", "no query at all")((2, 0, 3), width=2),
        multi_head("no_queries_biases", "no query at all, with biases")((1, 0, 2), width=2, num_heads=1, biases=BIASES),
        case("no_batch_entries", "no batch entry at all")((0, 3, 4), width=2),
        multi_head("no_batch_entries_causal", "no batch entry at all, causal")(
            (0, 3, 3), width=2, num_heads=1, is_causal=True
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        *single_head_cases(),
        *multi_head_cases(),
        *masks_of_equal_lengths(),
        *fully_masked_cases(),
        # Split and join heads of each axis without elements.
        layout("no_tokens", "no token of eight features in two heads")((2, 0, 8), num_heads=2),
        layout("no_batch_entries", "no batch entry of three tokens in two heads")((0, 3, 8), num_heads=2),
        layout("no_features", "three tokens of no feature in two heads")((1, 3, 0), num_heads=2),
        layout("no_tokens", "two heads of no token, joined")((3, 2, 0, 4)),
        layout("no_batch_entries", "no batch entry of two heads, joined")((0, 2, 3, 4)),
        layout("no_features", "two heads of no feature, joined")((1, 2, 3, 0)),
        # Take the softmax of no rows, along either axis.
        softmax("no_rows", "no row of four numbers")((0, 4)),
        softmax("no_columns", "no column of three numbers")((3, 0), clauses=AXIS, axis=0),
        softmax("no_rows_rank_3", "two tables without rows")((2, 0, 3)),
        *of_projections(),
    )

"""Extents from one to many: entries, heads, queries, keys and widths, and lengths of many entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import (
    BOTTOM_CAUSAL,
    BOTTOM_RIGHT,
    TOP,
    TOP_LEFT,
    Sizes,
    boolean_mask,
    float_mask,
    floats,
)
from attnspec_authoring.recipes.attention.backward.gradients import STORED, drawn, gradients
from attnspec_authoring.recipes.authoring import row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec_authoring.recipes.authoring import AuthoredCase

TILES = (16, 17, 33, 64, 65, 129)
"""Numbers of tokens at and behind the borders of the tiles that kernels have."""


def tile_cases() -> tuple[AuthoredCase, ...]:
    """Few queries over many keys, many queries over few keys, and as many of each."""
    report = "pytorch/pytorch/issues/153799"
    long: dict[str, Any] = {"clauses": ("grad_query", "grad_key", "grad_value")}
    return (
        *(
            gradients(f"keys_{keys}", f"Three queries over {keys} keys")(Sizes(1, 1, 1, 3, keys, 1, 1), **long)
            for keys in TILES
        ),
        *(
            gradients(f"queries_{queries}", f"{queries} queries over three keys")(
                Sizes(1, 1, 1, queries, 3, 1, 1), **long
            )
            for queries in TILES
        ),
        *(
            gradients(f"causal_{tokens}", f"Causality over {tokens} tokens")(
                Sizes(1, 1, 1, tokens, tokens, 1, 1),
                is_causal=True,
                report=report if tokens == 33 else None,
                derived=STORED if tokens == 33 else (),
            )
            for tokens in (16, 17, 33)
        ),
        gradients("grouped_34", "Six query heads over 34 keys")(Sizes(1, 6, 2, 5, 34, 1, 1), **long),
        gradients("causal_bottom_17_over_65", "Causality, 17 queries over 65 keys, bottom-right")(
            Sizes(1, 1, 1, 17, 65, 1, 1), **BOTTOM_CAUSAL
        ),
        gradients("window_of_33", "A window over 33 tokens")(Sizes(1, 1, 1, 33, 33, 1, 1), window=[5, 3]),
        gradients("key_lengths_of_33", "Lengths within and behind the first tile of 33 keys")(
            Sizes(2, 1, 1, 3, 33, 1, 1), key_lengths=[33, 32]
        ),
        gradients("query_lengths_of_33", "Lengths within and behind the first tile of 33 queries")(
            Sizes(3, 1, 1, 33, 2, 1, 1), query_lengths=[33, 32, 7]
        ),
    )


def width_cases() -> tuple[AuthoredCase, ...]:
    """Widths of queries and keys, and of values."""
    widths = ((1, 1), (1, 4), (2, 2), (4, 1), (5, 7), (8, 16), (17, 3), (65, 1), (1, 33))
    return tuple(
        gradients(f"width_{width}_{of_values}", f"Queries and keys of {width} features, values of {of_values}")(
            Sizes(1, 2, 1, 3, 4, width, of_values)
            if width * of_values < 100
            else Sizes(1, 1, 1, 2, 3, width, of_values),
            clauses="scale.default grad_weights grad_query grad_key grad_value",
        )
        for width, of_values in widths
    )


SQUARE_ENTRIES = Sizes(4, 1, 1, 5, 5, 1, 1)
UNEQUAL: dict[str, Any] = {"key_lengths": [5, 4, 3, 5], "query_lengths": [3, 4, 5, 1]}
"""Entries with more keys than queries, as many, and fewer."""


def entry_cases() -> tuple[AuthoredCase, ...]:
    """Nine, seventeen and thirty-three batch entries."""
    hidden_of_nine = (np.arange(4) == 0) | (np.arange(4) != np.arange(9).reshape(9, 1, 1, 1) % 3 + 1)
    keys_of_nine = [1, 2, 1, 3, 2, 1, 2, 3, 4]
    keys = [1 + (7 * entry) % 3 for entry in range(16)] + [3]
    queries = [1 + (5 * entry) % 2 for entry in range(16)] + [2]
    return (
        gradients(
            "nine_entries", "Key lengths of nine batch entries, the last the longest, and a Boolean mask for each"
        )(Sizes(9, 1, 1, 3, 4, 1, 1), mask=hidden_of_nine, key_lengths=keys_of_nine),
        gradients("seventeen_entries", "Lengths of seventeen batch entries, and causality, bottom-right")(
            Sizes(17, 1, 1, 2, 3, 1, 1), key_lengths=keys, query_lengths=queries, **BOTTOM_CAUSAL
        ),
        gradients(
            "thirty_five_entries",
            "Lengths of thirty-five batch entries, the last ones the longest, a sink and a float mask for all",
        )(
            Sizes(35, 1, 1, 2, 3, 1, 1),
            sinks=[0.75],
            mask=np.array([[0.25, -0.5, 0.0]]),
            key_lengths=[*(1 + (5 * entry) % 2 for entry in range(33)), 3, 3],
            query_lengths=[*([1] * 33), 2, 2],
        ),
        gradients("thirty_three_entries", "A sink and a float mask that thirty-three batch entries share")(
            Sizes(33, 1, 1, 1, 1, 1, 1), sinks=[0.5], mask=np.array([[0.25]])
        ),
    )


def group_cases() -> Iterator[AuthoredCase]:
    """Share key heads among groups of five, six, seven, seventeen and nineteen query heads."""
    for group, key_heads in ((5, 2), (6, 1), (7, 2), (17, 1), (19, 1)):
        name, heads = f"groups_of_{group}", group * key_heads
        yield gradients(
            name, f"{heads} query heads over {key_heads}, a sink for each, and a float mask that they share"
        )(
            Sizes(1, heads, key_heads, 3, 4, 1, 1),
            sinks=drawn(f"backward/{name}/sinks", Sizes(1, heads, 1, 1, 1, 1, 1))["query"].reshape(heads),
            mask=floats(3, 4, hides=False),
        )
    slopes = np.arange(1.0, 15.0) / 8
    yield gradients("groups_of_7_alibi", "Fourteen query heads over two, each with a slope and a mask of its own")(
        Sizes(1, 14, 2, 3, 3, 1, 1), alibi_slopes=slopes, mask=floats(14, 1, 3, hides=False), clauses="heads.grouped"
    )


def square_cases() -> tuple[AuthoredCase, ...]:
    """As many queries as keys are given, but not as many of each count."""
    features: dict[str, dict[str, Any]] = {
        "causal": {"is_causal": True},
        "window": {"window": [1, 0]},
        "alibi": {"alibi_slopes": [0.75]},
    }
    return (
        *(
            gradients(
                f"square_lengths_{name}_{alignment}", f"Other lengths in each entry of a square, {name}, {alignment}"
            )(SQUARE_ENTRIES, causal_alignment=alignment, **feature, **UNEQUAL)
            for name, feature in features.items()
            for alignment in (TOP_LEFT, BOTTOM_RIGHT)
        ),
    )


COUNTS = (37, 69, 133)
"""Queries: one chunk of 32, 64 or 128 and some of the next."""


def many_queries(queries: int) -> tuple[AuthoredCase, ...]:
    """Make a case with so many queries for everything that has an entry for each of them."""
    name = f"backward/queries_{queries}"
    few = Sizes(1, 1, 1, queries, 4, 1, 1)
    after = queries - 3
    features = (
        row("alibi", "biases by distance")(few, {"alibi_slopes": [0.03125], "causal_alignment": TOP_LEFT}),
        row("alibi_bottom_right", "biases by distance, bottom-right")(
            few, {"alibi_slopes": [0.03125], "causal_alignment": BOTTOM_RIGHT}
        ),
        row("causal", "causality, bottom-right")(few, {"is_causal": True, "causal_alignment": BOTTOM_RIGHT}),
        row("window", "a window")(few, {"window": [after, 0], "causal_alignment": TOP_LEFT}),
        row("window_bottom_right", "a window, bottom-right")(
            few, {"window": [1, after], "causal_alignment": BOTTOM_RIGHT}
        ),
        row("boolean", "a Boolean mask")(few, {"mask": boolean_mask(f"{name}_boolean", (queries, 4))}),
        row("float", "a float mask")(few, {"mask": float_mask(f"{name}_float", (queries, 4), hides=False)}),
        row("lengths", "a query length")(few, {"query_lengths": [after]}),
        row("stored", "a gradient of the logsumexp, output and logsumexp given")(few, {"derived": STORED}),
        row("sinks", "a sink")(few, {"sinks": [0.5]}),
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
        )(sizes, **BOTTOM_CAUSAL, key_lengths=[3, 2], query_lengths=[36, 5]),
        gradients(
            "queries_37_alibi_of_heads", "37 queries: biases by distance of two heads, and a mask that all heads share"
        )(sizes, alibi_slopes=[0.0625, 0.015625], **TOP, mask=np.arange(37 * 3).reshape(37, 3) % 5 != 2),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        *tile_cases(),
        # One query, one key.
        gradients("one_query", "One query over several keys")(Sizes(3, 2, 2, 1, 5, 2, 1)),
        gradients("one_query_40_keys", "One query over forty keys")(Sizes(1, 6, 2, 1, 40, 1, 1), derived=STORED),
        gradients("one_query_causal_top", "One query, causality, top-left")(
            Sizes(3, 2, 2, 1, 5, 2, 1), is_causal=True, causal_alignment="top_left"
        ),
        gradients("one_key", "One key: its score has no gradient")(Sizes(3, 2, 2, 4, 1, 3, 2)),
        gradients("one_key_stored", "One key, and output and logsumexp are given")(
            Sizes(3, 2, 2, 4, 1, 3, 2), derived=STORED
        ),
        gradients("one_key_grad_logsumexp", "One key, and the logsumexp has a gradient")(
            Sizes(3, 2, 2, 4, 1, 3, 2), with_grad_logsumexp=True
        ),
        gradients("one_of_each", "One query and one key")(Sizes(2, 3, 3, 1, 1, 4, 5), clauses="grad_query grad_value"),
        *width_cases(),
        *entry_cases(),
        *group_cases(),
        *square_cases(),
        # Return the cases with many queries.
        *(case for queries in COUNTS for case in many_queries(queries)),
        *groups(),
    )

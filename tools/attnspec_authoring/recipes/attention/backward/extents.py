"""Lengths that are and are not multiples of tiles, one query, one key, and widths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, Sizes
from attnspec_authoring.recipes.attention.backward.gradients import STORED, gradients

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

TILES = (16, 17, 33, 64, 65, 129)
"""Numbers of tokens at and behind the borders of the tiles that kernels have."""


def tile_cases() -> tuple[AuthoredCase, ...]:
    """Few queries over many keys, many queries over few keys, and as many of each."""
    report = "https://github.com/pytorch/pytorch/issues/153799"
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
                url=report if tokens == 33 else None,
                derived=STORED if tokens == 33 else (),
            )
            for tokens in (16, 17, 33)
        ),
        gradients("grouped_34", "Six query heads over 34 keys")(Sizes(1, 6, 2, 5, 34, 1, 1), **long),
        gradients("causal_bottom_17_over_65", "Causality, 17 queries over 65 keys, bottom-right")(
            Sizes(1, 1, 1, 17, 65, 1, 1), is_causal=True, causal_alignment=BOTTOM_RIGHT
        ),
        gradients("window_of_33", "A window over 33 tokens")(Sizes(1, 1, 1, 33, 33, 1, 1), window=[5, 3]),
        gradients("key_lengths_of_33", "Lengths within and behind the first tile of 33 keys")(
            Sizes(2, 1, 1, 3, 33, 1, 1), key_lengths=[33, 32]
        ),
        gradients("query_lengths_of_33", "Lengths within and behind the first tile of 33 queries")(
            Sizes(3, 1, 1, 33, 2, 1, 1), query_lengths=[33, 32, 7]
        ),
    )


def single_cases() -> tuple[AuthoredCase, ...]:
    """One query, one key."""
    return (
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
        gradients("one_of_each", "One query and one key")(
            Sizes(2, 3, 3, 1, 1, 4, 5), clauses=("grad_query", "grad_value")
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
            clauses=("scale.default", "grad_weights", "grad_query", "grad_key", "grad_value"),
        )
        for width, of_values in widths
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of particular extents."""
    return (*tile_cases(), *single_cases(), *width_cases())

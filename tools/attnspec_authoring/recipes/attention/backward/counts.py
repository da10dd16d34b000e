"""More batch entries and larger groups of heads than come first to mind, and lengths where a square is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, TOP_LEFT, Sizes, float_mask
from attnspec_authoring.recipes.attention.backward.gradients import drawn, gradients

if TYPE_CHECKING:
    from attnspec_authoring.recipes.authoring import AuthoredCase

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
            Sizes(17, 1, 1, 2, 3, 1, 1),
            key_lengths=keys,
            query_lengths=queries,
            is_causal=True,
            causal_alignment=BOTTOM_RIGHT,
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


def group_cases() -> tuple[AuthoredCase, ...]:
    """Share key heads among groups of five, six, seven, seventeen and nineteen query heads."""
    made: list[AuthoredCase] = []
    for group, key_heads in ((5, 2), (6, 1), (7, 2), (17, 1), (19, 1)):
        name, heads = f"groups_of_{group}", group * key_heads
        made.append(
            gradients(name, f"{heads} query heads over {key_heads}, a sink for each, and a float mask that they share")(
                Sizes(1, heads, key_heads, 3, 4, 1, 1),
                sinks=drawn(f"backward/{name}/sinks", Sizes(1, heads, 1, 1, 1, 1, 1))["query"].reshape(heads),
                mask=float_mask(f"backward/{name}", (3, 4), hides=False),
            )
        )
    slopes = np.arange(1.0, 15.0) / 8
    return (
        *made,
        gradients("groups_of_7_alibi", "Fourteen query heads over two, each with a slope and a mask of its own")(
            Sizes(1, 14, 2, 3, 3, 1, 1),
            alibi_slopes=slopes,
            mask=float_mask("backward/groups_of_7_alibi", (14, 1, 3), hides=False),
            clauses=("heads.grouped",),
        ),
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


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of particular numbers of batch entries and heads, and of square lengths."""
    return (*entry_cases(), *group_cases(), *square_cases())
